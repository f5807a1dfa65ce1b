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
export const hostOf = (address: string): string => prefixOf(address, 4)

/** One name for all hosts of a site: who rents one machine can have a whole /48 of IPv6. */
export const siteOf = (address: string): string => prefixOf(address, 3)

/** @param groups - Of sixteen bits, of an address of IPv6. */
function prefixOf(given: string, length: number): string {
  const address = plainAddress(given)
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const rest = tail === '' ? [] : tail.split(':')
    while (groups.length + rest.length < 8) groups.push('0')
    groups.push(...rest)
  }
  return `${groups.slice(0, length).join(':')}::/${16 * length}`
}
