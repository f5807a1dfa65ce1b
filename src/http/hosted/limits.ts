/**
 * What one address may do to pages that anybody can open. This machine's own may look as often as it likes: a proxy that
 * nobody told Beck to trust would be all buyers at once. What takes a deposit address is limited for everybody.
 */

import type { AccountId, PaymentLinkId, PointOfSaleId, SessionId } from '../../core/ids.ts'
import { isThisMachine, networksAround, sharesOf } from '../../core/networks.ts'
import { RateLimited } from '../errors.ts'
import { type BucketSize, openLevels, openLocalBuckets, type RateLimiter } from '../rate-limit.ts'

export interface HostedLimits {
  /** Pages and forms. */
  readonly pages: BucketSize
  /** Payments: each takes a fresh deposit address. */
  readonly payments: BucketSize
  /** Visits of payment links: each leaves a row for a week at most. */
  readonly visits: BucketSize
  /** Visits of one link, and payments of one account, whoever makes them. */
  readonly link: BucketSize
  readonly account: BucketSize
  /** Prices asked for at one point of sale, whoever asks. */
  readonly sales: BucketSize
  /** Pages of a host kept live at once; of the networks around it some times that. */
  readonly streams: number
}

const DEFAULT_LIMITS: HostedLimits = {
  pages: { perSecond: 20, burst: 300 },
  payments: { perSecond: 1, burst: 60 },
  visits: { perSecond: 10, burst: 1_000 },
  link: { perSecond: 20, burst: 2_000 },
  account: { perSecond: 10, burst: 1_000 },
  sales: { perSecond: 0.5, burst: 60 },
  // Many people may share an address.
  streams: 500,
}

/** Coins that one session may be changed between: twenty at once, then one a minute. */
const SESSION_PAYMENTS: BucketSize = { perSecond: 1 / 60, burst: 20 }

export interface Limits {
  /** Each throws {@link RateLimited} when it was one too many. */
  countPage(address: string): Promise<void>
  countLinkVisit(address: string, link: PaymentLinkId): Promise<void>
  countPayment(
    address: string,
    session: { readonly id: SessionId; readonly accountId: AccountId },
  ): Promise<void>
  countSale(address: string, point: PointOfSaleId): Promise<void>
  enterStream(address: string): void
  leaveStream(address: string): void
}

export function openLimits(sizes: Partial<HostedLimits> = {}): Limits {
  const { pages, payments, visits, link: linkSize, account, sales, streams } = { ...DEFAULT_LIMITS, ...sizes }
  const takePage = takeByAddress(pages)
  const takePayment = takeByAddress(payments)
  const takeVisit = takeByAddress(visits)
  const byLink = openLocalBuckets(linkSize)
  const byAccount = openLocalBuckets(account)
  const byPoint = openLocalBuckets(sales)
  const bySession = openLocalBuckets(SESSION_PAYMENTS)
  const openStreams = new Map<string, number>()
  const streamsMax = sharesOf(streams)
  return {
    async countPage(address) {
      if (!isThisMachine(address)) await takePage(address)
    },
    async countLinkVisit(address, link) {
      await takeVisit(address)
      await take(byLink, link)
    },
    async countPayment(address, { id, accountId }) {
      await take(bySession, id)
      await takePayment(address)
      await take(byAccount, accountId)
    },
    async countSale(address, point) {
      await takeVisit(address)
      await take(byPoint, point)
    },
    enterStream(address) {
      if (isThisMachine(address)) return
      const networks = networksAround(address)
      if (networks.some((network, level) => (openStreams.get(network) ?? 0) >= (streamsMax[level] ?? 0)))
        throw new RateLimited(`${streams} pages of this address are kept live already`, 30)
      for (const network of networks) openStreams.set(network, (openStreams.get(network) ?? 0) + 1)
    },
    leaveStream(address) {
      for (const network of networksAround(address)) {
        const open = openStreams.get(network) ?? 0
        if (open > 1) openStreams.set(network, open - 1)
        else openStreams.delete(network)
      }
    },
  }
}

/** So much by host, and some times that by each network around it. */
function takeByAddress(size: BucketSize): (address: string) => Promise<void> {
  const levels = openLevels(size)
  return async (address) => {
    for (const [level, network] of networksAround(address).entries()) {
      const buckets = levels[level]
      if (buckets) await take(buckets, network)
    }
  }
}

async function take(limiter: RateLimiter, name: string): Promise<void> {
  const { allowed, retryAfterSeconds } = await limiter.take(name)
  if (!allowed)
    throw new RateLimited('too many requests to hosted pages from this address', retryAfterSeconds)
}
