/** Charts as SVG from the server: drawn at once, told by a table behind them, read without colour. */
import { type Html, html } from '../hosted/html.ts'

const WIDTH = 600
const HEIGHT = 140
const PAD = 6

export interface Chart {
  readonly title: string
  readonly points: readonly (readonly [label: string, value: number])[]
  show(value: number): string
  readonly isBars?: boolean
}

export function lineChart({ title, points, show, isBars }: Chart): Html {
  const top = Math.max(...points.map(([, value]) => value), 0)
  const step = points.length > 1 ? (WIDTH - 2 * PAD) / (isBars ? points.length : points.length - 1) : 0
  const y = (value: number) => HEIGHT - PAD - (top === 0 ? 0 : (value / top) * (HEIGHT - 2 * PAD - 10))
  const round = (value: number) => Math.round(value * 10) / 10
  const shape = isBars
    ? points.map(([label, value], i) => {
        const height = round(HEIGHT - PAD - y(value))
        return html`<rect x="${round(PAD + i * step + step * 0.12)}" y="${round(y(value))}" width="${round(step * 0.76)}" height="${Math.max(height, value > 0 ? 2 : 0)}" rx="2"><title>${label}: ${show(value)}</title></rect>`
      })
    : (() => {
        const path = points
          .map(([, value], i) => `${i === 0 ? 'M' : 'L'}${round(PAD + i * step)} ${round(y(value))}`)
          .join('')
        const end = round(PAD + (points.length - 1) * step)
        return html`<path class="area" d="${path}L${end} ${HEIGHT - PAD}L${PAD} ${HEIGHT - PAD}Z"/><path class="line" d="${path}"/>`
      })()
  const [first] = points
  const last = points.at(-1)
  return html`<figure class="chart"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}" preserveAspectRatio="none"><line x1="${PAD}" x2="${WIDTH - PAD}" y1="${HEIGHT - PAD}" y2="${HEIGHT - PAD}"/>${shape}</svg><figcaption><span>${first?.[0]}</span><span>most ${show(top)}</span><span>${last?.[0]}</span></figcaption><details><summary>As a table</summary><table><caption class="hidden">${title}</caption><thead><tr><th scope="col">Day</th><th scope="col" class="figure">Value</th></tr></thead><tbody>${points.map(([label, value]) => html`<tr><td>${label}</td><td class="figure">${show(value)}</td></tr>`)}</tbody></table></details></figure>`
}
