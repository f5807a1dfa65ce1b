/**
 * The pages' scripts and styles as `npm run web` built them, read once. Each lies in a folder named by the hash of all of
 * them, so it may be kept for ever.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { onFirstUse } from '../../core/on-first-use.ts'

/** Files that are kept for ever, under their names in web/built. */
const KEPT = ['checkout.js', 'pos.js', 'retry.js', 'dashboard.js', 'dashboard.css'] as const
/** Styles that travel inside of their page: on a phone's network asking for them would double the time to the first paint. */
const INLINED = ['checkout.css', 'pos.css'] as const

const BUILT = new URL('../../../web/built/', import.meta.url)

export type WebFile = Readonly<ReturnType<typeof webFile>>

const webFile = (path: string, text: string) => ({
  path,
  type: path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
  text,
  gzip: gzipSync(text, { level: 9 }),
  etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
})

const byName = <Name extends string>(names: readonly Name[], of: (name: Name) => string) =>
  Object.fromEntries(names.map((name) => [name, of(name)])) as Readonly<Record<Name, string>>

export const loadWebFiles = onFirstUse(() => {
  const read = (name: string) => readFileSync(new URL(name, BUILT), 'utf8')
  const texts = KEPT.map((name) => [name, read(name)] as const)
  const hash = createHash('sha256').update(JSON.stringify(texts)).digest('base64url').slice(0, 16)
  const pathOf = (name: string) => `/checkout-assets/${hash}/${name}`
  return {
    /** All that are kept for ever, by path. */
    kept: new Map(texts.map(([name, text]) => [pathOf(name), webFile(pathOf(name), text)])),
    paths: byName(KEPT, pathOf),
    inlined: byName(INLINED, read),
    /** Merchants' pages load it by a name that stays, so it is asked for again. */
    embed: webFile('/checkout.js', read('embed.js')),
  }
})
