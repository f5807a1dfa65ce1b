import type * as real from '../../../src/chains/chain-progress.sql.ts'
import { OutsideFailure } from '../../../src/core/errors.ts'
import { type ChainRow, existing, run, type Tables } from './tables.ts'

const LEASE_MS = 6_000

export class StaleLease extends OutsideFailure {
  override readonly name = 'StaleLease'
  constructor(lease: real.Lease) {
    super(`the lease on ${lease.chain} with epoch ${lease.epoch} is over`, { retryable: false })
  }
}

const patch = (tables: Tables, chain: string, change: Partial<ChainRow>): ChainRow => {
  const row = { ...existing(tables.chains, chain), ...change }
  tables.chains.set(chain, row)
  return row
}

const progressOf = (tables: Tables, row: ChainRow): real.ChainProgress => ({
  ...row,
  pollAgeMs: row.polledAt && Math.max(0, tables.nowMs() - row.polledAt.getTime()),
})

export const findChainProgress: typeof real.findChainProgress = (db, chain) =>
  run(db, (tables) => {
    const row = tables.chains.get(chain)
    return row ? progressOf(tables, row) : null
  })

export const openChain: typeof real.openChain = (tx, chain, first, below) =>
  run(tx, (tables) => {
    if (!tables.chains.has(chain))
      tables.chains.set(chain, {
        chain,
        identity: first.identity,
        tipHeight: first.height,
        tipHash: first.hash,
        tipTime: first.time,
        polledAt: null,
        haltedReason: null,
        capitalHeight: -1,
        epoch: 0n,
        leaseUntil: null,
      })
    for (const block of [first, ...below])
      if (!tables.blocks.has(String(block.height))) tables.blocks.set(String(block.height), block.hash)
  })

export const takeLease: typeof real.takeLease = (db, chain) =>
  run(db, (tables) => {
    const { leaseUntil, epoch } = existing(tables.chains, chain)
    const now = tables.now()
    if (leaseUntil && leaseUntil >= now) return null
    patch(tables, chain, { epoch: epoch + 1n, leaseUntil: new Date(now.getTime() + LEASE_MS) })
    return { chain, epoch: epoch + 1n, since: epoch + 1n }
  })

/** A turn of a simulated process takes no time. */
export const renewLease: typeof real.renewLease = async () => {}

export const releaseLease: typeof real.releaseLease = (db, lease) =>
  run(db, (tables) => {
    if (existing(tables.chains, lease.chain).epoch === lease.epoch)
      patch(tables, lease.chain, { leaseUntil: null })
  })

export const fence: typeof real.fence = (tx, lease) =>
  run(tx, (tables) => {
    if (existing(tables.chains, lease.chain).epoch !== lease.epoch) throw new StaleLease(lease)
    return progressOf(tables, patch(tables, lease.chain, { leaseUntil: new Date(tables.nowMs() + LEASE_MS) }))
  })

export const advanceTip: typeof real.advanceTip = (tx, chain, block) =>
  run(tx, (tables) => {
    tables.blocks.set(String(block.height), block.hash)
    patch(tables, chain, { tipHeight: block.height, tipHash: block.hash, tipTime: block.time })
  })

export const findBlockHash: typeof real.findBlockHash = (db, _chain, height) =>
  run(db, (tables) => tables.blocks.get(String(height)) ?? null)

export const markPolled: typeof real.markPolled = (tx, chain, since) =>
  run(tx, (tables) => {
    const { polledAt } = existing(tables.chains, chain)
    patch(tables, chain, { polledAt: polledAt && polledAt > since ? polledAt : since })
  })

export const haltChain: typeof real.haltChain = (tx, chain, reason) =>
  run(tx, (tables) => {
    patch(tables, chain, { haltedReason: reason })
  })
