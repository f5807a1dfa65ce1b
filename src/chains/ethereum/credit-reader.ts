/**
 * What contracts sent watched accounts in a block, from what these held before and after it. Accounts are read in pages, in
 * the order given: the first page belongs to the block, and a node that is too slow for the others leaves them out of it,
 * to be compared later by what they hold then. So any number of accounts never keeps a block from being read.
 */
import { OutsideFailure } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { SECOND_MS } from '../../core/time.ts'
import type { Rpc, RpcAnswer } from '../json-rpc.ts'
import { askBalances, readBalances } from './balances.ts'
import { type ContractCredit, creditFromContracts } from './contract-ether.ts'
import { isStateGone } from './state-gone.ts'
import type { ExecutedTransaction } from './transactions.ts'
import type { Hex, WireBlock } from './wire.ts'

/** Four calls before the block and four after it: what a node answers well within one deadline. */
const ACCOUNTS_PER_PAGE = 3_000
/** No page begins later than this after the first: a block comes every 12 s, and the chain has to stay in sight. */
const PAGES_MS_MAX = 4 * SECOND_MS

interface Balances {
  readonly blockHash: string
  readonly before: Map<Hex, bigint>
  readonly after: Map<Hex, bigint>
}

export interface CreditsRead {
  readonly credits: readonly ContractCredit[]
  /** Accounts of which nothing is known in this block. */
  readonly missed: readonly Hex[]
}

export type CreditReader = (
  block: WireBlock,
  executed: readonly ExecutedTransaction[],
  accounts: readonly Hex[],
) => Promise<CreditsRead>

export function createCreditReader(rpc: Rpc, log: Log): CreditReader {
  // What accounts held after the block read last is what they hold before the next one; and what was read of a block is
  // not asked for again when its reading failed in the middle.
  let held: Balances = { blockHash: '', before: new Map(), after: new Map() }

  return async (block, executed, accounts) => {
    if (held.blockHash !== block.hash) {
      const before = held.blockHash === block.parentHash ? held.after : new Map<Hex, bigint>()
      held = { blockHash: block.hash, before, after: new Map() }
    }
    const { before, after } = held
    const deadlineMs = performance.now() + PAGES_MS_MAX
    for (let start = 0; start < accounts.length; start += ACCOUNTS_PER_PAGE) {
      const page = accounts.slice(start, start + ACCOUNTS_PER_PAGE)
      const trouble =
        start > 0 && performance.now() > deadlineMs ? 'is slow' : await readPage(block, page, start > 0)
      if (trouble === null) continue
      log.warn(
        { chain: 'ethereum', height: block.height, accounts: accounts.length - start },
        `the node ${trouble}: ether that contracts sent in this block shows only in later balances`,
      )
      break
    }
    const isRead = (account: Hex) => before.has(account) && after.has(account)
    return {
      credits: accounts.filter(isRead).flatMap((account): ContractCredit[] => {
        const atoms = creditFromContracts(
          account,
          before.get(account) ?? 0n,
          after.get(account) ?? 0n,
          executed,
        )
        return atoms > 0n ? [{ account, atoms }] : []
      }),
      missed: accounts.filter((account) => !isRead(account)),
    }
  }

  /** Null when the page was read; else what the node's trouble is. Only what may be missed fails silently. */
  async function readPage(block: WireBlock, page: readonly Hex[], mayMiss: boolean): Promise<string | null> {
    const unread = page.filter((account) => !held.after.has(account))
    const unknown = unread.filter((account) => !held.before.has(account))
    try {
      const [before = [], after = []] = await askBalances(
        rpc,
        [],
        [
          { accounts: unknown, at: { blockHash: block.parentHash } },
          { accounts: unread, at: { blockHash: block.hash } },
        ],
      )
      const failed = [...before, ...after].find(({ error }) => error)?.error
      if (
        failed &&
        (await isStateGone(rpc, block.height, failed, {
          method: 'eth_getBalance',
          params: [page[0], 'latest'],
        }))
      )
        return 'has the state of a block no longer'
      pairUp(unknown, before, held.before)
      pairUp(unread, after, held.after)
      return null
    } catch (error) {
      if (mayMiss && error instanceof OutsideFailure) return 'can not tell of all addresses'
      throw error
    }
  }
}

function pairUp(accounts: readonly Hex[], answers: readonly RpcAnswer[], into: Map<Hex, bigint>): void {
  const balances = readBalances(answers, accounts.length, 0)
  for (const [position, account] of accounts.entries()) into.set(account, balances[position]?.[0] ?? 0n)
}
