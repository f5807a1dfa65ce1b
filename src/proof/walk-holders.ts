/**
 * Every holder of a chain, page by page, each page at a block of its own: a walk may be broken off and taken up again, and
 * goes on while blocks come.
 */
import type { ChainPort } from '../chains/chain.ts'
import type { Database, Tx } from '../db/database.ts'
import { atOneBlock, readsPastBlocks } from './at-block.ts'
import type { Stray } from './compare-chain.ts'
import { findPageStrays, type Locator, readPage, type Slice } from './holders.ts'
import { listFundedAddresses } from './holdings.sql.ts'

export interface StrayOnPage extends Stray {
  readonly slice: Slice
}

export interface Walk {
  readonly strays: readonly StrayOnPage[]
  /** Where the next walk begins; null at the end. */
  readonly next: string | null
  /** Why a page was not compared: the next walk begins with it. */
  readonly reason: string | null
}

/** While one page waits for its node, others are read. */
const PAGES_AT_ONCE = 8

/**
 * @param of.after - Where to begin; empty for the beginning.
 * @param of.goesOn - Asked before each page, with how many were begun and the tip that the newest one was compared at.
 */
export async function walkHolders(
  db: Database | Tx,
  port: ChainPort,
  locator: Locator,
  of: {
    readonly after: string
    readonly pageLimit: number
    goesOn(pages: number, tipHash: string | null): boolean
  },
): Promise<Walk> {
  const strays: StrayOnPage[] = []
  const failed: { after: string; reason: string }[] = []
  let cursor: string | null = of.after
  let begun = 0
  let tipHash: string | null = null
  const mayBegin = () => cursor !== null && failed.length === 0 && of.goesOn(begun++, tipHash)

  async function compare(slice: Slice): Promise<string | null> {
    const page = await findSliceStrays(db, port, slice, locator)
    if ('reason' in page) {
      failed.push({ after: slice.after, reason: page.reason })
      return null
    }
    strays.push(...page.strays.map((stray) => ({ ...stray, slice })))
    tipHash = page.tipHash
    return page.next
  }
  /** Where pages do not wait for a tip that holds still, each is bounded first and compared beside others. */
  let turn: Promise<unknown> = Promise.resolve()
  const nextSlice = (): Promise<Slice | null> => {
    const taken = turn.then(async () => {
      if (!mayBegin() || cursor === null) return null
      const slice = { aboveHeight: -1, after: cursor, limit: of.pageLimit }
      const addresses = await listFundedAddresses(db, port.chain, slice)
      const upTo = addresses.at(-1)
      cursor = addresses.length === of.pageLimit ? (upTo ?? null) : null
      return upTo === undefined ? null : { ...slice, upTo }
    })
    turn = taken.catch(() => {})
    return taken
  }

  if (readsPastBlocks(port)) {
    const workers = 'inTransaction' in db ? 1 : PAGES_AT_ONCE
    const work = async () => {
      for (let slice = await nextSlice(); slice; slice = await nextSlice()) await compare(slice)
    }
    await Promise.all(Array.from({ length: workers }, work))
  } else
    while (cursor !== null && mayBegin())
      cursor = await compare({ aboveHeight: -1, after: cursor, limit: of.pageLimit })

  const [first] = failed.toSorted((a, b) => (a.after < b.after ? -1 : 1))
  return { strays, next: first?.after ?? cursor, reason: first?.reason ?? null }
}

/** One page, at one block. */
export async function findSliceStrays(
  db: Database | Tx,
  port: ChainPort,
  slice: Slice,
  locator: Locator,
): Promise<
  | { readonly strays: readonly Stray[]; readonly next: string | null; readonly tipHash: string }
  | { readonly reason: string }
> {
  const compared = await atOneBlock(db, port, {
    read: (tx) => readPage(tx, port.chain, slice),
    ask: async (page, progress) => ({
      strays: await findPageStrays(port, page, progress, locator),
      next: page.next,
      tipHash: progress.tipHash,
    }),
  })
  return 'reason' in compared ? compared : compared.result
}
