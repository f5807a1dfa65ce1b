/** What a proof does about books that disagree: the coin pays nothing out until the operator has looked. */
import { raiseAlert } from '../alerts/alerts.sql.ts'
import type { ChainName } from '../core/assets.ts'
import { formatCoins } from '../core/money.ts'
import type { Database } from '../db/database.ts'
import type { Gateway } from '../flows/gateway.ts'
import { freeze, listFreezes } from '../ledger/freezes.sql.ts'
import { inSnapshot } from './at-block.ts'
import type { Difference } from './compare-chain.ts'
import { findUnlikeRows } from './reconcile.sql.ts'

export async function areFrozen(
  db: Database,
  chain: ChainName,
  differences: readonly Difference[],
): Promise<boolean> {
  const frozen = await listFreezes(db)
  return differences.every(({ asset }) => frozen.some((each) => each.chain === chain && each.asset === asset))
}

/** Freezes what differs, each coin with its first reasons. Where only a sum differs, its rows are looked for first. */
export async function freezeUnlike(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  chain: ChainName,
  seen: readonly Difference[],
): Promise<'unlike'> {
  const rows = seen.every(({ subject }) => subject !== null) ? [] : await nameRows({ db, log }, chain, seen)
  const unlike = [...rows, ...seen]
  for (const asset of new Set(unlike.map((difference) => difference.asset))) {
    const lines = unlike.filter((difference) => difference.asset === asset)
    const reason = lines.slice(0, 3).map(sayDifference).join('; ').slice(0, 1_000)
    if (!(await freeze(db, chain, asset, reason))) continue
    await raiseAlert(db, {
      kind: 'books_disagree',
      accountId: null,
      subject: `${chain}:${asset}:${lines[0]?.foundAtoms}`,
      message: `withdrawals of ${asset} on ${chain} are frozen: ${reason}; see \`npx beck reconcile\``,
    })
    log.error(
      { chain, asset, differences: lines.length, reason },
      'the books disagree: withdrawals of this coin are frozen until `npx beck reconcile --unfreeze`',
    )
  }
  return 'unlike'
}

/** The rows behind a sum that differs. That they can not be read holds up no freeze. */
async function nameRows(
  { db, log }: Pick<Gateway, 'db' | 'log'>,
  chain: ChainName,
  seen: readonly Difference[],
): Promise<Difference[]> {
  try {
    const { differences } = await inSnapshot(db, findUnlikeRows)
    return differences.filter((row) => row.chain === chain && seen.some(({ asset }) => asset === row.asset))
  } catch (error) {
    log.error({ chain, err: error }, 'the rows of books that disagree could not be read')
    return []
  }
}

const sayDifference = ({ proof, subject, asset, expectedAtoms, foundAtoms }: Difference): string =>
  `${subject ?? 'all together'} (${proof}): expected ${formatCoins(expectedAtoms, asset)}, found ${formatCoins(foundAtoms, asset)}`
