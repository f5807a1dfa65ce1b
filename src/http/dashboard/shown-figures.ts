/** What a confirmation said would arrive is carried with it: what is done after it may not be worse. */
import type { Asset } from '../../core/assets.ts'
import { conflict } from '../../core/errors.ts'
import { divideDown } from '../../core/money.ts'
import type { Form } from './form.ts'

export interface Figures {
  readonly asset: Asset
  readonly netAtoms: bigint
  readonly networkFeeAtoms: bigint
}

export const SHOWN_FIELD = 'shown'
export const FIGURES_CHANGED = 'figures_changed'

/**
 * So much of the network's fee that was shown may go off what arrives: Ethereum's rises by an eighth in a block, and whoever
 * confirms with a code has no other one before the next block.
 */
const FEE_SLACK = 4n

/** `LTC 123 45`, coin by coin: what arrives, and the network's fee. */
export const writeFigures = (figures: readonly Figures[]): string =>
  [...sumsOf(figures)].map(([asset, { net, fee }]) => `${asset} ${net} ${fee}`).join(',')

/** @throws {Refusal} `figures_changed`, for less than was shown; the confirmation is asked for again then. */
export function requireAsShown({ form }: { readonly form: Form }, figures: readonly Figures[]): void {
  if (!form.has(SHOWN_FIELD)) return
  const shown = new Map(form.get(SHOWN_FIELD).split(',').map(readFigure))
  for (const [asset, { net }] of sumsOf(figures))
    if (net < (shown.get(asset) ?? net + 1n))
      throw conflict(
        FIGURES_CHANGED,
        'less would arrive now than you were shown, because fees rose; look at it again, and confirm it anew',
      )
}

/** The least that may arrive; undefined for what no page of ours wrote. */
function readFigure(text: string): [string, bigint | undefined] {
  const [, asset = '', net = '', fee = ''] = /^(\w+) (\d{1,60}) (\d{1,60})$/.exec(text) ?? []
  return [asset, asset === '' ? undefined : BigInt(net) - divideDown(BigInt(fee), FEE_SLACK)]
}

function sumsOf(figures: readonly Figures[]): ReadonlyMap<string, { net: bigint; fee: bigint }> {
  const sums = new Map<string, { net: bigint; fee: bigint }>()
  for (const { asset, netAtoms, networkFeeAtoms } of figures) {
    const { net, fee } = sums.get(asset) ?? { net: 0n, fee: 0n }
    sums.set(asset, { net: net + netAtoms, fee: fee + networkFeeAtoms })
  }
  return sums
}
