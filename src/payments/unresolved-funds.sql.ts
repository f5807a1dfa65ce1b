/** What is held for each payment until it settles or support decides; the CHECK on the row forbids giving it out twice. */
import type { Asset } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { type AccountId, type PaymentId, showId } from '../core/ids.ts'
import { formatCoins } from '../core/money.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf, overRows } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { doFirst, doLast, runRows } from '../db/together.ts'

export interface UnresolvedKey {
  readonly accountId: AccountId
  readonly paymentId: PaymentId
  readonly asset: Asset
}

/** Holds so much more. Among stories that run together it is written when the last has ended, in sum with what is taken of the same. */
export async function addUnresolved(tx: Tx, key: UnresolvedKey, atoms: bigint): Promise<void> {
  invariant(
    atoms >= 0n,
    () => `${formatCoins(atoms, key.asset)} can not be held for payment ${showId('pay', key.paymentId)}`,
  )
  await doLast(tx, changeUnresolved, { ...key, atoms })
}

/**
 * Holds so much less. Of stories that run together the transaction is what fails, at the latest when the last of them has ended.
 *
 * @throws PostgreSQL's check violation (23514) when less is held than is taken.
 * @throws {InvariantBroken} when nothing ever was.
 */
export async function takeUnresolved(tx: Tx, key: UnresolvedKey, atoms: bigint): Promise<void> {
  invariant(
    atoms >= 0n,
    () => `${formatCoins(atoms, key.asset)} can not be taken from payment ${showId('pay', key.paymentId)}`,
  )
  await doLast(tx, changeUnresolved, { ...key, atoms: -atoms })
}

type UnresolvedChange = UnresolvedKey & { readonly atoms: bigint }

/**
 * One change of each row. What a transaction adds and takes again, as where a deposit settles its payment, is held for nobody, and
 * there is no row that says so. Rows are locked in no order: whoever changes one has its payment locked.
 */
async function changeUnresolved(tx: Tx, changes: readonly UnresolvedChange[]): Promise<void> {
  const sums = new Map<string, UnresolvedChange>()
  for (const change of changes) {
    const key = `${change.accountId} ${change.paymentId} ${change.asset}`
    sums.set(key, { ...change, atoms: change.atoms + (sums.get(key)?.atoms ?? 0n) })
  }
  const added = [...sums.values()].filter(({ atoms }) => atoms > 0n)
  const taken = [...sums.values()].filter(({ atoms }) => atoms < 0n)
  await runRows(tx, ADD, added.map(rowOf))
  const found = await runRows<{ place: bigint }>(
    tx,
    TAKE,
    taken.map((change) => rowOf({ ...change, atoms: -change.atoms })),
  )
  const places = new Set(found.map(({ place }) => Number(place)))
  for (const [index, { asset, paymentId }] of taken.entries())
    invariant(
      places.has(index + 1),
      () => `nothing of ${asset} is held for payment ${showId('pay', paymentId)}`,
    )
}

const KEYED_ATOMS = { account_id: 'uuid', payment_id: 'uuid', asset: 'text', atoms: 'numeric' } as const
const rowOf = ({ accountId, paymentId, asset, atoms }: UnresolvedChange) => ({
  account_id: accountId,
  payment_id: paymentId,
  asset,
  atoms,
})

/** Given each row once: it could not change one twice. */
const ADD = overRows(
  KEYED_ATOMS,
  (rows) => `insert into unresolved_funds as u (account_id, payment_id, asset, atoms)
    select account_id, payment_id, asset, atoms from ${rows}
    on conflict (account_id, payment_id, asset) do update set atoms = u.atoms + excluded.atoms`,
)

const TAKE = overRows(
  KEYED_ATOMS,
  (rows) => `update unresolved_funds u set atoms = u.atoms - r.atoms from ${rows}
    where u.account_id = r.account_id and u.payment_id = r.payment_id and u.asset = r.asset returning place`,
)

export interface HeldFunds {
  readonly asset: Asset
  readonly atoms: bigint
}

/** What is held for each of these payments, by asset; one of which nothing is held is not among them. */
export async function listUnresolved(
  db: Queryable,
  payments: readonly { readonly accountId: AccountId; readonly id: PaymentId }[],
): Promise<Map<PaymentId, HeldFunds[]>> {
  if (payments.length === 0) return new Map()
  await doFirst(db, changeUnresolved)
  const { rows } = await db.query<HeldFunds & { id: PaymentId }>(
    `select u.payment_id as id, u.asset, u.atoms from unnest($1::uuid[], $2::uuid[]) as p (account_id, id)
       join unresolved_funds u on u.account_id = p.account_id and u.payment_id = p.id and u.atoms > 0
     order by u.payment_id, u.asset`,
    arraysOf(payments, 'accountId', 'id'),
  )
  return Map.groupBy(rows, ({ id }) => id)
}

/** All that is held for a payment now, by asset, locked until the transaction ends. */
export async function lockUnresolved(
  tx: Tx,
  accountId: AccountId,
  paymentId: PaymentId,
): Promise<{ asset: Asset; atoms: bigint }[]> {
  await doFirst(tx, changeUnresolved)
  return allRows(
    tx,
    `select asset, atoms from unresolved_funds
     where account_id = $1 and payment_id = $2 and atoms > 0 order by asset for update`,
    [accountId, paymentId],
  )
}
