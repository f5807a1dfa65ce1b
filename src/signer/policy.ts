/**
 * How much may leave, whatever the database says: per withdrawal, hour and day for each asset; and, when the operator
 * keeps one, an allowlist whose entries count only after a waiting time.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { foldedAddress } from '../core/address.ts'
import { type Asset, type Network, networkOf } from '../core/assets.ts'
import { ifThere } from '../core/files.ts'
import { formatCoins } from '../core/money.ts'
import { LIMIT_SPANS, type Limits } from '../withdrawals/limits.ts'
import type { FailureReason, WaitingFor } from '../withdrawals/withdrawal.ts'
import { changeAlone, writeWhole } from './folder.ts'

/** `wait`: not now, but perhaps later. `refuse`: never. */
export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'wait'; readonly for: WaitingFor; readonly reason: string }
  | { readonly kind: 'refuse'; readonly reason: FailureReason }

/** What binds a fee: the limit per withdrawal does not, for one transaction pays thousands of them. */
export const FEE_SPANS = ['hour', 'day'] as const

/**
 * @param atoms - What would leave: the withdrawal's net, or a fee.
 * @param leftWithin - Atoms of the asset that left within the last hour, or day.
 * @param spans - The limits it comes under; for a fee {@link FEE_SPANS}.
 */
export function judgeAmount(
  limits: Limits,
  asset: Asset,
  atoms: bigint,
  leftWithin: (span: 'hour' | 'day') => bigint,
  spans: readonly (typeof LIMIT_SPANS)[number][] = LIMIT_SPANS,
): Verdict {
  const ofAsset = limits[asset]
  if (!ofAsset) return { kind: 'allow' }
  for (const span of spans) {
    const limit = ofAsset[span]
    if (limit === undefined) continue
    if (atoms > limit) return { kind: 'refuse', reason: `limit_per_${span}` }
    if (span === 'tx') continue
    const left = leftWithin(span)
    if (left + atoms > limit)
      return {
        kind: 'wait',
        for: 'limit',
        reason: `${formatCoins(left, asset)} left within the ${span}, and the limit is ${formatCoins(limit, asset)}`,
      }
  }
  return { kind: 'allow' }
}

/** The span whose limit atoms and a fee in the same asset can never fit into, however long they wait; null for none. */
export function spanTooShort(limits: Limits, asset: Asset, atoms: bigint): 'hour' | 'day' | null {
  const { hour, day } = limits[asset] ?? {}
  if (hour !== undefined && atoms > hour) return 'hour'
  return day !== undefined && atoms > day ? 'day' : null
}

interface AllowedAddress {
  readonly network: Network
  readonly address: string
  readonly added_at: string
}

const FILE = 'allowlist.json'

/** Whichever way it is written. */
const isEntry = (entry: AllowedAddress, network: Network, address: string): boolean =>
  entry.network === network && foldedAddress(network, entry.address) === foldedAddress(network, address)

/** Addresses on the allowlist of this directory; empty when there is none. */
export async function readAllowlist(folder: string): Promise<readonly AllowedAddress[]> {
  const text = await ifThere(readFile(join(folder, FILE), 'utf8'))
  return text === null ? [] : JSON.parse(text)
}

/** Adds an address; its waiting time begins now. Adding it again changes nothing. */
export const allowAddress = (folder: string, network: Network, address: string): Promise<void> =>
  changeAlone(folder, FILE, async () => {
    const known = await readAllowlist(folder)
    if (known.some((entry) => isEntry(entry, network, address))) return
    await writeAllowlist(folder, [...known, { network, address, added_at: new Date().toISOString() }])
  })

/** @returns Whether it was there. */
export const disallowAddress = (folder: string, network: Network, address: string): Promise<boolean> =>
  changeAlone(folder, FILE, async () => {
    const known = await readAllowlist(folder)
    const kept = known.filter((entry) => !isEntry(entry, network, address))
    if (kept.length === known.length) return false
    await writeAllowlist(folder, kept)
    return true
  })

const writeAllowlist = (folder: string, entries: readonly AllowedAddress[]): Promise<void> =>
  writeWhole(folder, FILE, JSON.stringify(entries, null, 2))

export function judgeDestination(
  allowlist: readonly AllowedAddress[],
  waitMs: number,
  asset: Asset,
  destination: string,
  now: number,
): Verdict {
  const entry = allowlist.find((each) => isEntry(each, networkOf(asset), destination))
  if (!entry) return { kind: 'refuse', reason: 'not_on_allowlist' }
  // A time that can not be read is no time that is over.
  if (!(Date.parse(entry.added_at) + waitMs <= now))
    return {
      kind: 'wait',
      for: 'allowlist',
      reason: 'its address is on the allowlist but its waiting time is not over',
    }
  return { kind: 'allow' }
}
