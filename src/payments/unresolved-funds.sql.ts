/** What is held for each payment until it settles or support decides; the CHECK on the row forbids giving it out twice. */
import type { Asset } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'

export interface UnresolvedKey {
  readonly accountId: AccountId
  readonly paymentId: PaymentId
  readonly asset: Asset
}

export async function addUnresolved(tx: Tx, key: UnresolvedKey, atoms: bigint): Promise<void> {
  await tx.query(
    `insert into unresolved_funds as u (account_id, payment_id, asset, atoms) values ($1, $2, $3, $4)
     on conflict (account_id, payment_id, asset) do update set atoms = u.atoms + excluded.atoms`,
    [key.accountId, key.paymentId, key.asset, atoms],
  )
}

/** @throws PostgreSQL's check violation (23514) when less is held than is taken. */
export async function takeUnresolved(tx: Tx, key: UnresolvedKey, atoms: bigint): Promise<void> {
  if (atoms === 0n) return
  const { rowCount } = await tx.query(
    'update unresolved_funds set atoms = atoms - $4 where account_id = $1 and payment_id = $2 and asset = $3',
    [key.accountId, key.paymentId, key.asset, atoms],
  )
  invariant(rowCount === 1, `nothing of ${key.asset} is held for payment ${key.paymentId}`)
}

/** All that is held for a payment now, by asset, locked until the transaction ends. */
export async function lockUnresolved(
  tx: Tx,
  accountId: AccountId,
  paymentId: PaymentId,
): Promise<{ asset: Asset; atoms: bigint }[]> {
  const { rows } = await tx.query<{ asset: Asset; atoms: bigint }>(
    `select asset, atoms from unresolved_funds
     where account_id = $1 and payment_id = $2 and atoms > 0 order by asset for update`,
    [accountId, paymentId],
  )
  return rows
}
