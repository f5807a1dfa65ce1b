/**
 * What one address may ask for before anything of its requests is read. A request with a good key gives its token back,
 * for keys have buckets of their own: any number of merchants may share an address. Who goes on when his bucket is
 * empty is not listened to any more for a while; and who knocks all the same finds little in his bucket after it.
 */
import type { IncomingMessage } from 'node:http'
import type { Log } from '../core/log.ts'
import { isThisMachine, type Networks, networksAround } from '../core/networks.ts'
import { MINUTE_MS } from '../core/time.ts'
import { type BucketSize, type LocalBuckets, openLevels } from './rate-limit.ts'

export interface AddressLimit {
  /** Seconds to wait; 0 when the request may be served. */
  take(address: string): number
  /** The same for what the connection's other end sent, and is no request; of none, as many as come. */
  takeOf(networks: readonly string[]): number
  /** For a request that turned out to be a key's. */
  giveBack(address: string): void
  /** A connection of the host was cut off for a flood. @param networks - The host and those around it. */
  cutOff(networks: readonly string[]): void
  /** Of the host and those around it, the widest that is not listened to; null when all are. */
  shutAmong(networks: readonly string[]): string | null
  /** Whether a connection of the host is refused: it, or a network around it, is not listened to. Each costs that one a token. */
  turnAway(networks: readonly string[]): boolean
}

export const ADDRESS_RATE_LIMIT: BucketSize = { perSecond: 100, burst: 400 }

/** Refused requests, of a burst of its own, after which a host, or a network, is not listened to: one in so many. */
const SHUT_AFTER_SHARE = 2
/** Connections cut off for a flood, after which the same holds: each costs what hundreds of refusals do. */
const SHUT_AFTER_CUTS = 4
const SHUT_MS = 10_000
/**
 * Of a burst, what is left to who knocks until he is heard again, and what may be refused of him then: a browser's files at
 * once, but not the hundreds of answers that a flood would be worth going on for.
 */
const AGAIN_SHARE = 8
const NETWORKS_MAX = 100_000

/** What was refused of hosts and networks, and who of them is not listened to. */
function openRefusals(levels: readonly LocalBuckets[], size: BucketSize, log: Log, now: () => number) {
  const refused = new Map<string, { minute: number; count: number; left: number; shutUntil: number }>()
  return {
    isShut: (network: string): boolean => (refused.get(network)?.shutUntil ?? 0) > now(),
    /** @param weight - How many refused requests it counts as. */
    refuse(networks: readonly string[], weight: number): void {
      const at = now()
      // The same for all of them, so that what one adds to the next is bounded by the minute too.
      const minute = Math.floor(at / MINUTE_MS)
      let added = weight
      for (const [level, network] of networks.entries()) {
        const { burst } = levels[level]?.size ?? size
        const shutAfter = burst / SHUT_AFTER_SHARE
        let entry = refused.get(network)
        if (entry?.minute !== minute) {
          if (refused.size >= NETWORKS_MAX) refused.clear()
          // Of the widest alone: a network of countless hosts does not write a line for each.
          if (level === networks.length - 1)
            log.warn(
              { address: networks[0] },
              'an address sends more requests than one may; it is refused for now',
            )
          entry = { minute, count: 0, left: shutAfter, shutUntil: entry?.shutUntil ?? 0 }
          refused.set(network, entry)
        }
        // No more than what shuts the network itself counts against those around it: one host does not shut out its neighbours.
        const handedOn = Math.min(added, shutAfter - entry.count)
        entry.count += added
        // What is refused meanwhile, on connections that were open, does not make it longer.
        if (entry.shutUntil <= at) entry.left -= added
        if (entry.left <= 0) {
          entry.shutUntil = at + SHUT_MS
          entry.left = burst / AGAIN_SHARE
        }
        if (handedOn <= 0) return
        added = handedOn
      }
    },
  }
}

export function openAddressLimit(
  size: BucketSize,
  log: Log,
  now: () => number = () => performance.now(),
): AddressLimit {
  const levels = openLevels(size, now)
  const { isShut, refuse } = openRefusals(levels, size, log, now)
  const giveBack = (networks: readonly string[], from = 0) => {
    for (let level = from; level < networks.length; level++) levels[level]?.giveBack(networks[level] ?? '')
  }

  const takeOf = (networks: readonly string[]): number => {
    // The widest first: a network of countless hosts does not make an entry for each.
    for (let level = networks.length - 1; level >= 0; level--) {
      const taken = levels[level]?.take(networks[level] ?? '')
      if (!taken || taken.allowed) continue
      giveBack(networks, level + 1)
      refuse(networks, 1)
      return taken.retryAfterSeconds
    }
    return 0
  }

  return {
    take: (address) => (isThisMachine(address) ? 0 : takeOf(networksAround(address))),
    takeOf,
    giveBack(address) {
      if (!isThisMachine(address)) giveBack(networksAround(address))
    },
    cutOff: (networks) => refuse(networks, Math.ceil(size.burst / SHUT_AFTER_SHARE / SHUT_AFTER_CUTS)),
    shutAmong: (networks) => networks.findLast(isShut) ?? null,
    turnAway(networks) {
      let isAnyShut = false
      for (const [level, network] of networks.entries()) {
        if (!isShut(network)) continue
        isAnyShut = true
        levels[level]?.takeBeyond(network, (levels[level]?.size.burst ?? size.burst) / AGAIN_SHARE)
      }
      return isAnyShut
    },
  }
}

/**
 * Whose request it is: the connection's other end, or whom the trusted proxies name, read from the last one backwards.
 * What anybody else puts into the header means nothing.
 */
export function clientAddress(request: IncomingMessage, proxies: Networks | null): string {
  const peer = request.socket.remoteAddress ?? ''
  if (!proxies?.has(peer)) return peer
  const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
  let address = peer
  for (let named = forwarded.pop()?.trim(); named; named = forwarded.pop()?.trim()) {
    address = named
    if (!proxies.has(named)) break
  }
  return address
}
