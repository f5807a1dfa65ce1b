/** Windows that are over, as far as their chain was seen: what ends a payment, or leaves it to support. */
import { CHAINS, hasAccounts, isSimulated } from '../../core/assets.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { overRows } from '../../db/row-statements.ts'
import { countRows } from '../../db/rows.ts'
import { runRows } from '../../db/together.ts'
import { inTimeSql, paysForSql } from '../../deposits/received.ts'
import type { Payment } from '../../payments/payment.ts'
import { REFUNDED_ATOMS } from '../../withdrawals/refunds.sql.ts'

/** Of the simulated ones every coin has a transaction. */
const WITH_ETHER_UNSEEN = CHAINS.filter((chain) => hasAccounts(chain) && !isSimulated(chain))

/**
 * SQL of an alias of `chains` and a payment's times: blocks were read without what contracts did in them, or taken away, and the
 * comparison of all addresses, from the newest to the oldest, has not come to this payment's since. What it finds counts from the tip
 * block: once that is past the window's end it is late in any case, and no window waits for it.
 */
const mayBeUnseenSql = (chain: string, madeAt: string, endsAt: string): string =>
  `${chain}.chain in (${WITH_ETHER_UNSEEN.map((name) => `'${name}'`).join(', ')}) and ${chain}.tip_time <= ${endsAt}
     and ${chain}.ether_asked_at >= coalesce(${chain}.ether_checked_at, '-infinity')
     and case when ${chain}.ether_begun_at > ${chain}.ether_asked_at
       then coalesce(${chain}.ether_after_issued_at, 'infinity') else 'infinity' end >= ${madeAt}`

/** Whether contracts may have paid this payment in time and nobody has looked yet: as if its chain were out of sight. */
export async function mayHaveEtherUnseen(
  db: Queryable,
  { chain, asset, createdAt, expiresAt }: Pick<Payment, 'chain' | 'asset' | 'createdAt' | 'expiresAt'>,
): Promise<boolean> {
  if (asset !== 'ETH' || !WITH_ETHER_UNSEEN.includes(chain)) return false
  const row = { chain, made_at: createdAt, ends_at: expiresAt }
  return (await runRows(db, MAY_BE_UNSEEN, [row])).length > 0
}

const MAY_BE_UNSEEN = overRows(
  { chain: 'text', made_at: 'timestamptz', ends_at: 'timestamptz' },
  (rows) =>
    `select place from ${rows} join chains c on c.chain = r.chain where ${mayBeUnseenSql('c', 'r.made_at', 'r.ends_at')}`,
)

/**
 * Queues payments whose window is over on a chain that was seen past their end: pending ones to expire, detected ones that lost every
 * deposit, and those whose confirmed coins support may decide about, for what still waits cannot make them whole: as `decide` says.
 *
 * @returns How many.
 */
export const markWindowsOver = (tx: Tx, limit: number): Promise<number> =>
  countRows(
    tx,
    `update payments p set decision_due = true
     from (select p.account_id, p.id from payments p join chains c on c.chain = p.chain
       cross join lateral (select
           coalesce(sum(d.amount_atoms) filter (where ${inTimeSql('d', 'p')}), 0) as in_time,
           coalesce(bool_or(d.status = 'confirmed'), false) as has_confirmed
         from deposits d where d.account_id = p.account_id and d.payment_id = p.id and ${paysForSql('d', 'p')} offset 0) came
       where p.status in ('pending', 'detected') and not p.decision_due and p.expires_at < now() and c.polled_at > p.expires_at
         and (p.asset = 'ETH' and ${mayBeUnseenSql('c', 'p.created_at', 'p.expires_at')}) is not true
         and (p.status = 'pending' or came.in_time = 0
           or p.settlements = 0 and came.has_confirmed and came.in_time < p.due_atoms - p.tolerated_atoms
             + coalesce((select ${REFUNDED_ATOMS} from withdrawals w
               where w.account_id = p.account_id and w.payment_id = p.id and w.asset = p.asset), 0))
       order by p.account_id, p.id limit $1 for update of p skip locked) over
     where p.account_id = over.account_id and p.id = over.id`,
    [limit],
  )
