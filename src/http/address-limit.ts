/**
 * What one address may ask for before anything of its requests is read. A request with a good key gives its token back,
 * for keys have buckets of their own: any number of merchants may share an address. Who goes on when his bucket is
 * empty is not listened to any more for a while.
 */
import type { IncomingMessage } from 'node:http'
import type { Log } from '../core/log.ts'
import { hostOf, isThisMachine, type Networks, siteOf } from '../core/networks.ts'
import { MINUTE_MS } from '../core/time.ts'
import { type BucketSize, openLocalBuckets } from './rate-limit.ts'

export interface AddressLimit {
  /** Seconds to wait; 0 when the request may be served. */
  take(address: string): number
  /** For a request that turned out to be a key's. */
  giveBack(address: string): void
  /** A connection of the host was cut off for a flood. */
  cutOff(host: string): void
  /** Whether connections of the host are refused. */
  isShut(host: string): boolean
}

export const ADDRESS_RATE_LIMIT: BucketSize = { perSecond: 100, burst: 400 }

/** Hosts of one site (a /48 of IPv6), together. */
const SITE_SHARE = 4
/** Refused requests, in bursts, after which a host is not listened to. */
const SHUT_AFTER_BURSTS = 1
/** Connections cut off for a flood, after which the same holds: each costs what hundreds of refusals do. */
const SHUT_AFTER_CUTS = 4
const SHUT_MS = 10_000
const HOSTS_MAX = 100_000

export function openAddressLimit(size: BucketSize, log: Log, now: () => number = Date.now): AddressLimit {
  const hosts = openLocalBuckets(size, now)
  const sites = openLocalBuckets(
    { perSecond: size.perSecond * SITE_SHARE, burst: size.burst * SITE_SHARE },
    now,
  )
  const refused = new Map<string, { since: number; count: number; shutUntil: number }>()

  const refuse = (address: string, host: string, weight = 1) => {
    const at = now()
    let entry = refused.get(host)
    if (!entry || at - entry.since > MINUTE_MS) {
      if (refused.size >= HOSTS_MAX) refused.clear()
      log.warn({ address }, 'an address sends more requests than one may; it is refused for now')
      entry = { since: at, count: 0, shutUntil: 0 }
      refused.set(host, entry)
    }
    entry.count += weight
    if (entry.count >= size.burst * SHUT_AFTER_BURSTS) entry.shutUntil = at + SHUT_MS
  }

  return {
    take(address) {
      if (isThisMachine(address)) return 0
      const [host, site] = [hostOf(address), siteOf(address)]
      // The site first: a network of countless hosts does not make an entry for each.
      const first = sites.take(site)
      const { allowed, retryAfterSeconds } = first.allowed ? hosts.take(host) : first
      if (allowed) return 0
      if (first.allowed) sites.giveBack(site)
      refuse(address, host)
      return retryAfterSeconds
    },
    giveBack(address) {
      if (isThisMachine(address)) return
      hosts.giveBack(hostOf(address))
      sites.giveBack(siteOf(address))
    },
    cutOff: (host) => refuse(host, host, Math.ceil(size.burst / SHUT_AFTER_CUTS)),
    isShut: (host) => (refused.get(host)?.shutUntil ?? 0) > now(),
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
