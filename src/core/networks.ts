/** Sets of addresses: what a proxy may be, where a key may come from. */
import { BlockList, isIP } from 'node:net'

export interface Networks {
  has(address: string): boolean
}

/** Names that stand for networks. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/** IPv4 in the clothes of IPv6, as sockets that listen to both show it. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address

/** Not to be counted by address: a proxy that nobody told Beck to trust would be everybody at once. */
export const isThisMachine = (address: string): boolean =>
  ['127.0.0.1', '::1'].includes(plainAddress(address))

/** @param texts - Addresses, networks such as `10.0.0.0/8`, or names of {@link NAMED}. @returns Null when one is none. */
export function readNetworks(texts: readonly string[]): Networks | null {
  const list = new BlockList()
  for (const text of texts.flatMap((text) => NAMED[text] ?? [text])) {
    const [address = '', prefix, ...rest] = text.split('/')
    const family = isIP(address)
    const bits = prefix === undefined ? 8 * (family === 4 ? 4 : 16) : Number(prefix)
    const isNetwork = family > 0 && rest.length === 0 && /^\d{1,3}$/.test(prefix ?? '0')
    if (!isNetwork || bits > (family === 4 ? 32 : 128)) return null
    list.addSubnet(address, bits, family === 4 ? 'ipv4' : 'ipv6')
  }
  return {
    has(given) {
      const address = plainAddress(given)
      const family = isIP(address)
      return family > 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6')
    },
  }
}

/** One name for all addresses of a host: an IPv6 host has a whole /64. */
export const hostOf = (address: string): string => networksAround(address)[0] ?? address

/** One name for all hosts of a site: who rents one machine can have a whole /48 of IPv6. */
export const siteOf = (address: string): string => networksAround(address).at(-1) ?? address

/** How much more than a host each of {@link networksAround} may have, in their order. */
const SHARES = [1, 2, 4] as const

/** @returns So much of each network around an address, for so much of a host. */
export const sharesOf = (ofHost: number): readonly number[] => SHARES.map((share) => share * ofHost)

/**
 * The networks that somebody may have who has the address, from the smallest: an address of IPv4 alone; of IPv6 its /64, which
 * is a host, and the /56 and the /48 that are given to those who rent one.
 */
export function networksAround(given: string): readonly string[] {
  const address = plainAddress(given)
  if (!address.includes(':')) return [address]
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  const site = groups.slice(0, 3).join(':')
  const group = groups[3] ?? '0'
  const upper = (Number.parseInt(group, 16) & 0xff00).toString(16)
  return [`${site}:${group}::/64`, `${site}:${upper}::/56`, `${site}::/48`]
}
