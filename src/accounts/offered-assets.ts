/** Which coins buyers may pick. */
import { ASSETS, type Asset } from '../core/assets.ts'
import { invalidField } from '../core/errors.ts'

/**
 * Names of coins, in the order of `ASSETS` whatever order they are given in.
 *
 * @throws {Refusal} `invalid`, `invalid_coins`, for another name and for none at all.
 */
export function readOfferedAssets(names: readonly string[]): Asset[] {
  const asked = names.map((name) => name.trim().toUpperCase())
  const unknown = asked.find((name) => !ASSETS.some((asset) => asset === name))
  if (unknown === undefined && asked.length > 0) return ASSETS.filter((asset) => asked.includes(asset))
  throw invalidField(
    'coins',
    'invalid_coins',
    `coins are one or more of ${ASSETS.join(', ')}; got "${names.join(',').slice(0, 100)}"`,
  )
}

/** Those that both offer, where null offers all. */
export const offeredBy = (...offers: readonly (readonly Asset[] | null)[]): Asset[] =>
  ASSETS.filter((asset) => offers.every((offered) => offered === null || offered.includes(asset)))
