/** Marks of the coins, drawn here: strokes on a disc whose colour the style gives. */
import type { Asset } from '../../../core/assets.ts'
import { type Html, trusted } from '../html.ts'

const STROKES: Readonly<Record<Asset, string>> = {
  BTC: 'M13 11h8a3.5 3.5 0 0 1 0 7h-6h7a3.75 3.75 0 0 1 0 7.5h-9M15 11v14.5M17 8v3M21 8v3M17 25.5v3M21 25.5v3',
  LTC: 'M18.5 9L14 26h11M11.5 20.5L22 16',
  ETH: 'M18 7l6.5 11L18 22l-6.5-4zM11.5 21.5L18 29l6.5-7.5L18 25.5z',
  USDC: 'M14 8.5a10.2 10.2 0 0 0 0 19M22 8.5a10.2 10.2 0 0 1 0 19M21.5 15.4c-.4-1.6-1.8-2.4-3.5-2.4-2 0-3.5 1-3.5 2.5 0 3.8 7 1.4 7 5.1 0 1.5-1.5 2.4-3.5 2.4-1.8 0-3.2-.8-3.6-2.4M18 10.5V13M18 23v2.5',
  USDT: 'M11 10.5h14M18 10.5V27M10 17.5c0-1.7 3.6-2.8 8-2.8s8 1.1 8 2.8-3.6 2.8-8 2.8-8-1.1-8-2.8z',
}

export const drawMark = (asset: Asset): Html =>
  trusted(
    `<svg class="mark mark-${asset}" viewBox="0 0 36 36" aria-hidden="true"><path d="${STROKES[asset]}"/></svg>`,
  )
