/**
 * The pages' scripts and style, read once. Scripts are modules without a bundler: types are stripped, comments and
 * indentation left behind. They lie in a folder named by the hash of all of them, so each may be kept for ever.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

export interface WebFile {
  readonly path: string
  readonly type: string
  readonly text: string
  readonly gzip: Buffer
  readonly etag: string
}

export interface WebFiles {
  /** All that are kept for ever, by path. */
  readonly kept: ReadonlyMap<string, WebFile>
  /** Paths of the checkout's own: modules begin with the one that starts the others. */
  readonly modules: readonly [string, ...string[]]
  readonly style: string
  /** Path of the script of pages that try again by themselves. */
  readonly retry: string
  /** Merchants' pages load it by a name that stays, so it is asked for again. */
  readonly embed: WebFile
}

const WEB = new URL('../../../web/', import.meta.url)
const STRIP_TYPES = fileURLToPath(new URL('./strip-types.ts', import.meta.url))
/** A tenth of a second is what it takes where nothing else runs. */
const STRIP_LIMIT_MS = 30_000
const FIRST_MODULE = 'checkout.ts'
const RETRY = 'retry.ts'
const STYLE = 'checkout.css'
/** Of `web/style/`, in the order in which they overrule each other. */
const STYLES = ['ground', 'signs', 'forms', 'pay', 'notices', 'media']
const EMBED = 'embed.ts'

/** What runs this program's own sources. By name it warns that it is experimental, which no operator needs to read. */
function stripTypes(texts: readonly string[]): string[] {
  const { stdout, stderr, error } = spawnSync(process.execPath, ['--no-warnings', STRIP_TYPES], {
    input: JSON.stringify(texts),
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    timeout: STRIP_LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  // It ends by a signal; what it said before tells whether it did its work.
  try {
    return JSON.parse(stdout)
  } catch {
    throw new Error(`the pages' scripts could not be stripped of their types: ${stderr || error?.message}`, {
      cause: error,
    })
  }
}

const lean = (text: string): string =>
  text
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'))
    .join('\n')

function webFile(path: string, text: string): WebFile {
  return {
    path,
    type: path.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
    text,
    gzip: gzipSync(text, { level: 9 }),
    etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`,
  }
}

let loaded: WebFiles | undefined

export function loadWebFiles(): WebFiles {
  loaded ??= readAll()
  return loaded
}

function readAll(): WebFiles {
  const modules = readdirSync(WEB)
    .filter((name) => /^[\w-]+\.ts$/.test(name) && !name.endsWith('.test.ts'))
    .sort()
  const read = (name: string) => readFileSync(new URL(name, WEB), 'utf8')
  const stripped = stripTypes(modules.map(read))
  const style = STYLES.map((part) => read(`style/${part}.css`)).join('\n')
  const textOf = (name: string) => lean(stripped[modules.indexOf(name)] ?? '')
  const texts = [
    { name: STYLE, text: lean(style) },
    ...modules.filter((name) => name !== EMBED).map((name) => ({ name, text: textOf(name) })),
  ]
  const hash = createHash('sha256').update(JSON.stringify(texts)).digest('base64url').slice(0, 16)
  const pathOf = (name: string) => `/checkout-assets/${hash}/${name}`
  const others = modules.filter((name) => ![EMBED, FIRST_MODULE, RETRY].includes(name))
  return {
    kept: new Map(texts.map(({ name, text }) => [pathOf(name), webFile(pathOf(name), text)])),
    modules: [pathOf(FIRST_MODULE), ...others.map(pathOf)],
    style: pathOf(STYLE),
    retry: pathOf(RETRY),
    embed: webFile('/checkout.js', textOf(EMBED)),
  }
}
