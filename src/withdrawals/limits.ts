/** How much may leave: what the operator writes in BECK_SIGNER_LIMITS. The signer alone counts and judges by it. */
import { ASSET_FACTS, type Asset, isAsset } from '../core/assets.ts'
import { invalid, type Refusal } from '../core/errors.ts'
import { parseDecimal } from '../core/money.ts'

export const LIMIT_SPANS = ['tx', 'hour', 'day'] as const
type Span = (typeof LIMIT_SPANS)[number]

/** Atoms; what is missing is unlimited. */
export type Limits = Partial<Record<Asset, Partial<Record<Span, bigint>>>>

/**
 * Reads BECK_SIGNER_LIMITS: `BTC=tx:1,hour:5,day:20;ETH=day:100`, in whole coins.
 *
 * @throws {Refusal} naming the part that is wrong: a limit that cannot be read must not be no limit.
 */
export function readLimits(text: string): Limits {
  const limits: Limits = {}
  for (const part of text.split(';').map((each) => each.trim())) {
    if (part === '') continue
    const [asset = '', spans = '', ...others] = part.split('=')
    if (!isAsset(asset) || spans === '' || others.length > 0 || limits[asset]) throw unreadable(part)
    const ofAsset: Partial<Record<Span, bigint>> = {}
    for (const each of spans.split(',')) {
      const [span = '', amount = '', ...more] = each.trim().split(':')
      const known = LIMIT_SPANS.find((name) => name === span)
      const atoms = parseDecimal(amount, ASSET_FACTS[asset].decimals)
      if (!known || atoms === null || more.length > 0 || ofAsset[known] !== undefined) throw unreadable(each)
      ofAsset[known] = atoms
    }
    limits[asset] = ofAsset
  }
  return limits
}

const unreadable = (part: string): Refusal =>
  invalid(
    'unusable_setting',
    `BECK_SIGNER_LIMITS has "${part}", expected for example BTC=tx:1,hour:5,day:20;ETH=tx:10`,
  )
