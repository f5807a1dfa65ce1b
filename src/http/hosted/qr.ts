/** QR codes as SVG, drawn on the server: one path, dark on white in every theme, with the quiet zone scanners need. */
import { encode } from 'uqr'
import { type Html, html } from './html.ts'

const QUIET_MODULES = 4
/**
 * The pattern over the data. Scanners read any; which is the easiest is told by a score (ISO/IEC 18004, 7.8.3), and working it out
 * for all eight takes ten times as long as the code itself. Of links that wallets read, of authenticators and of pages this one
 * scores within 4 % of the best of each, the others up to half as much again.
 */
const PATTERN = 2

export function drawQr(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_MODULES, maskPattern: PATTERN })
  let path = ''
  for (const [y, row] of data.entries()) {
    for (let x = 0; x < size; x++) {
      if (!row[x] || row[x - 1]) continue
      let end = x + 1
      while (row[end]) end++
      path += `M${x} ${y}h${end - x}v1h-${end - x}z`
    }
  }
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path fill="#000" d="${path}"/></svg>`
}
