/**
 * What a buyer's phone loads for the checkout page: all its script, the merchant's frame included, and its style, as they are
 * sent. `node bench/checkout-page.ts`. Bar: design, section 11.
 */
import { loadWebFiles, type WebFileName } from '../src/http/hosted/web-files.ts'

const SCRIPT_BYTES_MAX = 15_000
const STYLE_BYTES_MAX = 10_000

const { kept, paths, embed } = loadWebFiles()
const bytes = (name: WebFileName) => kept.get(paths[name])?.gzip.length ?? Number.NaN
const script = bytes('checkout.js') + bytes('retry.js') + embed.gzip.length
const style = bytes('checkout.css')
const good = script <= SCRIPT_BYTES_MAX && style <= STYLE_BYTES_MAX
process.stdout.write(
  `checkout page: ${script} bytes of script (bar: at most ${SCRIPT_BYTES_MAX}), ` +
    `${style} of style (at most ${STYLE_BYTES_MAX}), gzipped: ${good ? 'met' : 'MISSED'}\n`,
)
process.exitCode = good ? 0 : 1
