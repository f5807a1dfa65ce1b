/** What the pages say is there, is there: links, files, npm scripts, commands of `beck`, settings, decisions. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { glob, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import test from 'node:test'
import { readConfig } from '../../src/config/config.ts'
import { EVENT_TYPES } from '../../src/events/event.ts'

const PAGES = [
  ...(
    await Array.fromAsync(glob(['*.md', 'docs/**/*.{md,txt}', 'sdk/*.md', 'cli/*.md', 'clients/*/*.md']))
  ).sort(),
]
const texts = new Map<string, string>()
for (const page of PAGES) texts.set(page, await readFile(page, 'utf8'))
const textOf = (page: string): string => texts.get(page) ?? assert.fail(`there is no ${page}`)

/** Where a page's short name of a file may stand for a longer one. */
const ROOTS = [
  ...['', 'docs', 'test', 'test/simulation', 'src', 'src/chains', 'src/chains/ethereum'],
  ...['src/chains/simulated', 'src/http', 'src/http/hosted', 'src/rates'],
]

const anchorsOf = (page: string): string[] =>
  textOf(page)
    .split('\n')
    .filter((line) => line.startsWith('#'))
    .map((line) =>
      line
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    )

/** Everything that matches in any page, with the page it stands in. */
function mentions(pattern: RegExp): { readonly page: string; readonly found: string }[] {
  const all = PAGES.flatMap((page) =>
    [...textOf(page).matchAll(pattern)].map(([, found = '']) => ({ page, found })),
  )
  assert.ok(all.length > 0, `no page says anything like ${pattern}`)
  return all
}

test('every link leads to a file, and to a heading in it', () => {
  for (const { page, found } of mentions(/\]\(((?!https?:)[^)]+)\)/g)) {
    const [path = '', anchor] = found.split('#')
    const file = path === '' ? page : join(dirname(page), path)
    assert.ok(existsSync(file), `${page} links to ${found}`)
    if (anchor !== undefined) assert.ok(anchorsOf(file).includes(anchor), `${page} links to ${found}`)
  }
})

test('every file and folder that a page names is there', () => {
  for (const { page, found } of mentions(/`((?:[\w.-]+\/)+(?:[\w.-]+\.(?:ts|sql|md|sol|mjs))?)[`:]/g)) {
    // A folder that Beck makes in its data directory.
    if (found === 'signer/') continue
    const places = [...ROOTS, dirname(page)].map((root) => join(root, found))
    assert.ok(places.some(existsSync), `${page} names ${found}`)
  }
})

test('the guide to webhooks has a row for every event, and for no other', () => {
  const rows = [...textOf('docs/webhooks.md').matchAll(/^\| `(\w+\.\w+)` \|/gm)].map(([, type]) => type)
  assert.deepEqual(rows, [...EVENT_TYPES])
})

test('every npm script that a page runs is one of the package', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8'))
  for (const { page, found } of mentions(/npm run ([\w:]+)/g))
    assert.ok(found in scripts, `${page} runs npm run ${found}`)
})

test('a message that names a command of beck names one that runs where it is read', async () => {
  const program = await readFile('src/cli/beck.ts', 'utf8')
  const commands = [...program.matchAll(/^ {2}\.command\('([a-z-]+)|program\.command\('([a-z-]+)/gm)].flatMap(
    ([, one, other]) => one ?? other ?? [],
  )
  assert.ok(commands.includes('accounts') && commands.includes('reconcile'))
  // Below, or beside, nobody has a program of this name.
  const bare = new RegExp(
    `(?<!npx |run beck |'|^ *\\*.*|//.*|/\\*\\*.*)\\bbeck (${commands.join('|')})\\b`,
    'm',
  )
  for (const file of await Array.fromAsync(glob('src/**/*.ts'))) {
    if (file.endsWith('.test.ts') || file === 'src/cli/beck.ts') continue
    for (const line of (await readFile(file, 'utf8')).split('\n'))
      assert.ok(!bare.test(line), `${file}: ${line.trim()}`)
  }
})

test('every command of beck that a page runs is one of the command line', async () => {
  const program =
    (await readFile('src/cli/beck.ts', 'utf8')) +
    // What asks the API with a key.
    (await readFile('cli/src/commands.ts', 'utf8')).replaceAll(
      /describe\(\s*(program|payments),\s*'/g,
      ".command('",
    )
  for (const { page, found } of mentions(
    /beck ((?:accounts|keys|wallet) [a-z]+|[a-z]+(?= --| [A-Z]|`|\n))/g,
  )) {
    const command = found.split(' ').at(-1) ?? ''
    assert.match(program, new RegExp(`\\.command\\('${command}\\b`), `${page} runs beck ${found}`)
  }
})

test('the README’s table of settings names every variable that is read, and no other', () => {
  const read = new Set<string>()
  const environment = new Proxy<Record<string, string | undefined>>(
    {},
    {
      get(_target, name) {
        read.add(String(name))
        return undefined
      },
    },
  )
  readConfig(environment)
  // Of these the server reads that there is one; what they say is the signer's alone to know.
  const signers = [
    'BECK_KEYSTORE_PASSPHRASE',
    'BECK_KEYSTORE_PASSPHRASE_FILE',
    'BECK_SIGNER_LIMITS',
    'BECK_SIGNER_ALLOWLIST_HOURS',
  ]
  const named = textOf('README.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) =>
      [...(line.split('|')[1] ?? '').matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, name = '']) => name),
    )
  assert.deepEqual(named.toSorted(), [...new Set([...read, ...signers])].toSorted())
})

test('a variable that a page names means something to Beck', () => {
  // Read by programs beside the server, and by tests.
  const others = [
    'BECK_SCREENSHOTS',
    'BECK_API_KEY',
    'BECK_API_URL',
    'BECK_VERSION',
    'BECK_WEBHOOK_SECRET',
    'BECK_CRASH_AT',
    'BECK_CRASH_SIGNAL',
  ]
  for (const { page, found } of mentions(/\b(BECK_[A-Z_]+[A-Z])\b/g)) {
    const isNamed = textOf('README.md').includes(`\`${found}\``) || others.includes(found)
    assert.ok(isNamed, `${page} names ${found}`)
  }
})

test('every decision stands in the index under its own number and title', async () => {
  const index = textOf('docs/decisions/README.md')
  const pages = PAGES.filter((page) => /docs\/decisions\/\d{4}-/.test(page))
  assert.ok(pages.length > 10)
  const rows = pages.map((page) => {
    const [, number, title] = /^# (\d+)\. (.+)\n/.exec(textOf(page)) ?? assert.fail(`${page} has no title`)
    assert.equal(basename(page).slice(0, 4), number?.padStart(4, '0'))
    return `| [${number}](${basename(page)}) | ${title} |`
  })
  assert.deepEqual(
    index.split('\n').filter((line) => line.startsWith('| [')),
    rows,
  )
})
