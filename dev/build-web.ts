/**
 * `npm run web`: the pages' scripts and styles, bundled and minified into web/built, which is committed: a running Beck
 * reads them as they are, and needs no bundler. With `--check` it says whether they are what the sources make.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { ifThere } from '../src/core/files.ts'

const WEB = fileURLToPath(new URL('../web/', import.meta.url))
const BUILT = new URL('../web/built/', import.meta.url)

/** What browsers of the last years understand, on phones too. */
const TARGET = ['chrome111', 'firefox114', 'safari16.4']

/** Each begins one file; a style's parts are in the order in which they overrule each other. */
const ENTRIES: Readonly<Record<string, string>> = {
  'checkout.js': `import './checkout.ts'`,
  'retry.js': `import './retry.ts'`,
  'embed.js': `import './embed.ts'`,
  'checkout.css': ['ground', 'signs', 'forms', 'pay', 'notices', 'media']
    .map((part) => `@import './style/${part}.css';`)
    .join('\n'),
  'pos.js': `import './keypad.ts'`,
  'pos.css': `@import './style/pos.css';`,
  'dashboard.js': `import './dashboard/start.ts'`,
  'dashboard.css': ['ground', 'shell', 'forms', 'lists', 'facts']
    .map((part) => `@import './dashboard/style/${part}.css';`)
    .join('\n'),
}

const files = new Map(
  await Promise.all(
    Object.entries(ENTRIES).map(async ([name, contents]) => [name, await bundle(name, contents)] as const),
  ),
)

const built = await readdir(BUILT).catch(() => [])
const stale: string[] = built.filter((name) => !files.has(name))
for (const [name, text] of files)
  if (text !== (await ifThere(readFile(new URL(name, BUILT), 'utf8')))) stale.push(name)

if (!process.argv.includes('--check')) {
  await mkdir(BUILT, { recursive: true })
  // Only what changed, so that whoever watches the folder sees a change once.
  for (const name of stale) {
    const text = files.get(name)
    await (text === undefined ? rm(new URL(name, BUILT)) : writeFile(new URL(name, BUILT), text))
    process.stdout.write(text === undefined ? `${name} is gone\n` : `${name}  ${text.length} bytes\n`)
  }
} else if (stale.length > 0) {
  process.stderr.write(`web/built is not what the sources make (${stale.join(', ')}); run: npm run web\n`)
  process.exitCode = 1
}

async function bundle(name: string, contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: WEB, loader: name.endsWith('.css') ? 'css' : 'ts' },
    bundle: true,
    minify: true,
    format: name === 'embed.js' ? 'iife' : 'esm',
    target: TARGET,
    charset: 'utf8',
    legalComments: 'none',
    write: false,
    logLevel: 'error',
  })
  return outputFiles[0]?.text ?? ''
}
