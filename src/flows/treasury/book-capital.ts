/** Coins that the operator sent to the hot wallet from outside: wallet to capital, once they are deep enough. */
import { type ChainName, nativeAsset } from '../../core/assets.ts'
import { GATEWAY } from '../../core/gateway-account.ts'
import { post } from '../../ledger/post.sql.ts'
import {
  endCapitalSearch,
  findCapitalSearch,
  listUnbookedCapital,
} from '../../treasury/unexpected-deposits.sql.ts'
import { confirmationsOf, type Gateway } from '../gateway.ts'

const ENTRIES_PER_POLL = 100

/**
 * Searches the blocks that became deep enough since the last time. A crash in the middle searches them once more; what is
 * booked is booked once.
 *
 * @returns How many receipts were booked.
 */
export async function bookCapital(gateway: Gateway, chain: ChainName): Promise<number> {
  const native = nativeAsset(chain)
  const asset = native === 'ETH' ? null : native
  const depth = confirmationsOf(gateway.settings, native)
  const search = await findCapitalSearch(gateway.db, chain, depth)
  if (!search) return 0
  const unbooked = await listUnbookedCapital(gateway.db, asset, search, ENTRIES_PER_POLL)
  for (const { txKey, index, asset, atoms } of unbooked) {
    await gateway.db.transaction((tx) =>
      post(tx, {
        accountId: GATEWAY,
        chain,
        cause: { kind: 'capital', subjectId: txKey, number: index },
        transfers: [{ asset, debit: 'wallet', credit: 'capital', atoms }],
      }),
    )
    gateway.log.info({ chain, asset, atoms: String(atoms) }, 'capital of the operator is booked')
  }
  if (unbooked.length < ENTRIES_PER_POLL) await endCapitalSearch(gateway.db, search)
  return unbooked.length
}
