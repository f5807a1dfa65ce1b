/** The page about ASVS holds every requirement of levels 1 and 2, once, and names files that are there. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import test from 'node:test'

/** Numbers of ASVS 5.0.0 at levels 1 and 2: chapter, section, requirements. */
const REQUIREMENTS: Readonly<Record<string, Readonly<Record<number, readonly number[]>>>> = {
  '1': {
    1: [1, 2],
    2: [1, 2, 3, 4, 5, 6, 7, 8, 9],
    3: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    4: [1, 2, 3],
    5: [1, 2],
  },
  '2': { 1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 2, 3, 4], 4: [1] },
  '3': { 2: [1, 2], 3: [1, 2, 3, 4], 4: [1, 2, 3, 4, 5, 6], 5: [1, 2, 3, 4, 5], 7: [1, 2] },
  '4': { 1: [1, 2, 3], 2: [1], 3: [1, 2], 4: [1, 2, 3, 4] },
  '5': { 1: [1], 2: [1, 2, 3], 3: [1, 2], 4: [1, 2, 3] },
  '6': {
    1: [1, 2, 3],
    2: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    3: [1, 2, 3, 4],
    4: [1, 2, 3, 4],
    5: [1, 2, 3, 4, 5],
    6: [1, 2, 3],
    8: [1, 2, 3, 4],
  },
  '7': { 1: [1, 2, 3], 2: [1, 2, 3, 4], 3: [1, 2], 4: [1, 2, 3, 4, 5], 5: [1, 2], 6: [1, 2] },
  '8': { 1: [1, 2], 2: [1, 2, 3], 3: [1], 4: [1] },
  '9': { 1: [1, 2, 3], 2: [1, 2, 3, 4] },
  '10': {
    1: [1, 2],
    2: [1, 2],
    3: [1, 2, 3, 4],
    4: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    5: [1, 2, 3, 4, 5],
    6: [1, 2],
    7: [1, 2, 3],
  },
  '11': { 1: [1, 2], 2: [1, 2, 3], 3: [1, 2, 3], 4: [1, 2, 3, 4], 5: [1], 6: [1] },
  '12': { 1: [1, 2, 3], 2: [1, 2], 3: [1, 2, 3, 4] },
  '13': { 1: [1], 2: [1, 2, 3, 4, 5], 3: [1, 2], 4: [1, 2, 3, 4, 5] },
  '14': { 1: [1, 2], 2: [1, 2, 3, 4], 3: [1, 2, 3] },
  '15': { 1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 2, 3, 4, 5, 6, 7] },
  '16': { 1: [1], 2: [1, 2, 3, 4, 5], 3: [1, 2, 3, 4], 4: [1, 2, 3], 5: [1, 2, 3] },
  '17': { 1: [1], 2: [1, 2, 3, 4], 3: [1, 2] },
}
const ALL = Object.entries(REQUIREMENTS).flatMap(([chapter, sections]) =>
  Object.entries(sections).flatMap(([section, numbers]) =>
    numbers.map((number) => `${chapter}.${section}.${number}`),
  ),
)

const page = await readFile('docs/internals/asvs.md', 'utf8')
const rows = page.split('\n').filter((line) => /^\| \d/.test(line))

test('the page has each requirement of levels 1 and 2 once, in their order', () => {
  assert.equal(ALL.length, 253)
  const named = rows.flatMap((row) => (row.split('|')[1] ?? '').split(',').map((id) => id.trim()))
  assert.deepEqual(named, ALL)
})

test('every row says where it is met and what shows it, or why not', () => {
  for (const row of rows) {
    const [, , short = '', where = '', shown = ''] = row.split('|').map((cell) => cell.trim())
    assert.ok(short.length > 2 && where.length > 2, row)
    const isShown = shown.includes('`') || short === 'does not apply'
    // What asks for a page is shown by the page; nothing else is shown by saying so.
    assert.ok(isShown || /not met|proxy|workflow|\.md`/.test(where), row)
  }
})

const FILE = /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|md|json|sql))`/g

test('every file that it names is there', () => {
  const files = [...page.matchAll(FILE)].map(([, file = '']) => file)
  assert.ok(files.length > 300, `${files.length} files`)
  assert.deepEqual(
    files.filter((file) => !existsSync(file)),
    [],
  )
})

test('what shows that it is met is a test that `npm test` runs, or a measurement', async () => {
  const shown = new Set(
    rows.flatMap((row) => [...(row.split('|')[4] ?? '').matchAll(FILE)].map(([, file = '']) => file)),
  )
  assert.ok(shown.size > 50)
  for (const file of shown) {
    const text = await readFile(file, 'utf8')
    // Asserts on the answers of every other test.
    const isTest = /^(?:src|sdk|cli|web|test)\/.*\.test\.ts$/.test(file) || file === 'test/api.ts'
    assert.ok(isTest ? /\b(?:test\(|assert)/.test(text) : file.startsWith('bench/'), file)
  }
})
