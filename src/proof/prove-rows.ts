/**
 * The rows of the books against each other, whole tables at a time: what no block shows, such as a balance that nobody was
 * credited with. `prove-block.ts` has the ledger against the blocks, and the blocks against the chain.
 */
import { raiseAlert } from '../alerts/alerts.sql.ts'
import { withoutCredentials } from '../core/errors.ts'
import { HOUR_MS } from '../core/time.ts'
import type { Gateway } from '../flows/gateway.ts'
import type { Difference } from './compare-chain.ts'
import { freezeUnlike } from './freeze-unlike.ts'
import { findRowsProofAge, markRowsProven } from './prove-rows.sql.ts'
import { type Prove, ROW_PROOFS, type UnlikeRows } from './reconcile.sql.ts'

/**
 * Freezes each coin whose rows disagree, and disagree still at another moment: what was there in one of the two looks alone
 * was on its way. One proof that fails holds up no other.
 *
 * @param wait - Resolves when the second look is due; with false when there is to be none.
 * @returns Whether all agree.
 * @throws What the first proof threw that could not be made, once the others have been.
 */
export async function proveRows(
  gateway: Pick<Gateway, 'db' | 'log'>,
  wait: () => Promise<boolean>,
): Promise<boolean> {
  const failures: unknown[] = []
  const look = async (prove: Prove): Promise<UnlikeRows> => {
    try {
      return await prove(gateway.db)
    } catch (error) {
      failures.push(error)
      return { differences: [], more: [] }
    }
  }
  const seen: { readonly prove: Prove; readonly first: UnlikeRows }[] = []
  for (const prove of ROW_PROOFS) {
    const first = await look(prove)
    if (first.differences.length > 0) seen.push({ prove, first })
  }
  if (seen.length > 0 && !(await wait())) return false
  let agree = true
  for (const { prove, first } of seen) {
    const unlike = unlikeStill(first, await look(prove))
    for (const chain of new Set(unlike.map((difference) => difference.chain)))
      await freezeUnlike(
        gateway,
        chain,
        unlike.filter((difference) => difference.chain === chain),
      )
    if (unlike.length > 0) agree = false
  }
  if (failures.length > 0) throw failures[0]
  if (agree) await markRowsProven(gateway.db)
  return agree
}

/** Rows that nothing proved for so long are something to look at: one failure is the database's restart. */
const OVERDUE_MS = 2 * HOUR_MS

/** A proof that could not be made is an alert once that lasts. @param triedForMs - What counts before the first that could. */
export async function noteRowsUnproven(
  { db }: Pick<Gateway, 'db'>,
  error: unknown,
  triedForMs: number,
): Promise<void> {
  if (((await findRowsProofAge(db)) ?? triedForMs) < OVERDUE_MS) return
  const reason = withoutCredentials(error instanceof Error ? error.message : String(error))
  await raiseAlert(db, {
    kind: 'proof_overdue',
    accountId: null,
    subject: 'rows',
    message: `the rows of the books were not proven against each other for ${OVERDUE_MS / HOUR_MS} hours or more: ${reason}`,
  })
}

/**
 * What the second look shows of the rows of the first. Where one of the two named only some rows of a coin, a row that the
 * other shows may have been among the rest.
 */
function unlikeStill(first: UnlikeRows, second: UnlikeRows): Difference[] {
  const rows = new Set(first.differences.map(rowOf))
  const coins = new Set(first.differences.map(coinOf))
  const cut = new Set([...first.more, ...second.more].map(coinOf))
  return second.differences.filter((difference) => {
    const coin = coinOf(difference)
    return rows.has(rowOf(difference)) || (coins.has(coin) && cut.has(coin))
  })
}

type Coin = Pick<Difference, 'chain' | 'asset'>
const coinOf = ({ chain, asset }: Coin): string => `${chain} ${asset}`
const rowOf = (difference: Difference): string => `${coinOf(difference)} ${difference.subject}`
