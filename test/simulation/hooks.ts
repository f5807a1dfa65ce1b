/**
 * Puts the tables in memory behind the house: whoever imports `src/<room>/<name>.sql.ts` gets `rows/<name>.sql.ts` where
 * there is one. A query that no story has needed so far fails when it is called, by its name. To be given to Node as
 * `--import`, before anything of the house is read.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const SOURCES = new URL('../../src/', import.meta.url).href
const ROWS = new URL('./rows/', import.meta.url)
/** What each stands in for. */
const originals = new Map<string, string>()

const exportsOf = (url: string): string[] =>
  readFileSync(fileURLToPath(url), 'utf8')
    .matchAll(/^export (?:async function|function|const|class) (\w+)/gm)
    .map(([, name]) => name ?? '')
    .toArray()

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (!found.url.startsWith(SOURCES) || !found.url.endsWith('.sql.ts')) return found
    const twin = new URL(found.url.slice(found.url.lastIndexOf('/') + 1), ROWS)
    if (!existsSync(twin)) return found
    originals.set(twin.href, found.url)
    return { ...found, url: twin.href }
  },
  load(url, context, next) {
    const loaded = next(url, context)
    const original = originals.get(url)
    if (original === undefined) return loaded
    const there = new Set(exportsOf(url))
    const missing = exportsOf(original)
      .filter((name) => !there.has(name))
      .map(
        (name) =>
          `export const ${name} = () => { throw new TypeError('no table stands in for ${name} of ${original}') }`,
      )
    return { ...loaded, source: [String(loaded.source), ...missing].join('\n') }
  },
})

// A hook that is registered later is asked first, and may ask no further.
process.on('exit', (code) => {
  if (code === 0) assert.ok(originals.size > 0, 'no table in memory stood in for any')
})
