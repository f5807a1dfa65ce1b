/** What is held for each payment until it settles or support decides; the CHECK on the row forbids giving it out twice. */
import type { Asset } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { arraysOf, overRows } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { runRows } from '../db/together.ts'

export interface UnresolvedKey {
  readonly accountId: AccountId
  readonly paymentId: PaymentId
  readonly asset: Asset
}

export async function addUnresolved(tx: Tx, key: UnresolvedKey, atoms: bigint): Promise<void> {
  await runRows(tx, ADD, [rowOf(key, atoms)])
}

const KEYED_ATOMS = { account_id: 'uuid', payment_id: 'uuid', asset: 'text', atoms: 'numeric' } as const
const rowOf = ({ accountId, paymentId, asset }: UnresolvedKey, atoms: bigint) => ({
  account_id: accountId,
  payment_id: paymentId,
  asset,
  atoms,
})

const ADD = overRows(
  KEYED_ATOMS,
  (rows) => `insert into unresolved_funds as u (account_id, payment_id, asset, atoms)
    select account_id, payment_id, asset, sum(atoms) from ${rows} group by 1, 2, 3
    on conflict (account_id, payment_id, asset) do update set atoms = u.atoms + excluded.atoms`,
)

/** @throws PostgreSQL's check violation (23514) when less is held than is taken. */
export async function takeUnresolved(tx: Tx, key: UnresolvedKey, atoms: bigint): Promise<void> {
  if (atoms === 0n) return
  const taken = await runRows(tx, TAKE, [rowOf(key, atoms)])
  invariant(taken.length === 1, `nothing of ${key.asset} is held for payment ${key.paymentId}`)
}

/** Under the payment's lock: of a payment's asset one is taken at a time. */
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
  const { rows } = await db.query<HeldFunds & { id: PaymentId }>(
    `select u.payment_id as id, u.asset, u.atoms from unnest($1::uuid[], $2::uuid[]) as p (account_id, id)
       join unresolved_funds u on u.account_id = p.account_id and u.payment_id = p.id and u.atoms > 0
     order by u.payment_id, u.asset`,
    arraysOf(payments, 'accountId', 'id'),
  )
  return Map.groupBy(rows, ({ id }) => id)
}

/** All that is held for a payment now, by asset, locked until the transaction ends. */
export const lockUnresolved = (
  tx: Tx,
  accountId: AccountId,
  paymentId: PaymentId,
): Promise<{ asset: Asset; atoms: bigint }[]> =>
  allRows(
    tx,
    `select asset, atoms from unresolved_funds
     where account_id = $1 and payment_id = $2 and atoms > 0 order by asset for update`,
    [accountId, paymentId],
  )
