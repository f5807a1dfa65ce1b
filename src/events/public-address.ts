/**
 * Which IP addresses belong to the public internet. Webhooks go nowhere else, so that a merchant cannot make the
 * gateway speak to its operator's network (server-side request forgery).
 *
 * IPv4: everything but the special-purpose blocks of the IANA registry. IPv6: only 2000::/3, the one block handed
 * out as global unicast, less what inside it is special or carries an IPv4 address (6to4, Teredo). Everything
 * outside of it (loopback, v4-mapped, v4-compatible, NAT64, unique local, link local, multicast) is refused
 * without having to be named.
 *
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
import { BlockList, isIP } from 'node:net'

const NOT_PUBLIC_IPV4: readonly [network: string, prefix: number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // The platform services of Azure answer here from inside any of its networks.
  ['168.63.129.16', 32],
]

const NOT_PUBLIC_IPV6: readonly [network: string, prefix: number][] = [
  // IETF protocol assignments: Teredo, benchmarking, ORCHID and so on.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3ffe::', 16],
  ['3fff::', 20],
]

const notPublic = new BlockList()
for (const [network, prefix] of NOT_PUBLIC_IPV4) notPublic.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of NOT_PUBLIC_IPV6) notPublic.addSubnet(network, prefix, 'ipv6')
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/** @param address - An IPv4 or IPv6 address as text; anything else is not public. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic.check(address, 'ipv4')
    case 6:
      // A zone (`fe80::1%eth0`) exists on one machine's links only.
      return (
        !address.includes('%') && globalUnicast.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
      )
    default:
      return false
  }
}
