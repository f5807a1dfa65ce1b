/** docs/errors.md names every reason that a merchant or a buyer can meet, under the statuses that it comes with. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import test from 'node:test'
import { routes } from '../../src/http/api/routes.ts'
import { refusalsOf } from '../../src/http/openapi.ts'

/**
 * Where a merchant's or a buyer's request can lead. What the operator meets on his terminal, and a person on a page of the
 * dashboard, says in its message what to do.
 */
const ON_THE_WAY =
  /^src\/(http|payments|deposits|ledger|events|withdrawals|checkout|rates|chains|flows)\/|^src\/db\/list(-\w+)?\.ts$|^src\/wallets\/address-pool/
const IN_WORDS =
  /^src\/(http\/dashboard|flows\/(people|approvals))\/|^src\/(flows\/\w+\/(change-account|close-account|request-batch|after-restore|book-spend|book-move|spend-entry|first-account)|http\/port|withdrawals\/limits)\.ts$/
const THROWN =
  /\b(?:(?:invalid|unauthenticated|forbidden|notFound|conflict|unprocessable|unavailable)\(|invalidField\(\s*[^,]+,)\s*'(\w+)'/g
/** There are more: the way that they are found still finds them. */
const THROWN_MIN = 60

/**
 * Of a list that is asked past its schema, which refuses the field; of a path without an operation; and of the page on which a
 * buyer gives an address for his refund.
 */
const NOT_OF_OPERATIONS = ['unknown_parameter', 'unknown_route', 'refund_address_given']

const page = await readFile('docs/errors.md', 'utf8')
/** Reason to the heading it stands under. */
const listed = new Map<string, string>()
let heading = ''
for (const line of page.split('\n')) {
  if (line.startsWith('## ')) heading = line.slice(3)
  const reason = /^\| `(\w+)` \|/.exec(line)?.[1]
  if (!reason) continue
  assert.ok(!listed.has(reason), `${reason} stands twice`)
  listed.set(reason, heading)
}

const documented = new Map<string, Set<number>>()
for (const [status, reasons] of routes.flatMap(refusalsOf))
  for (const reason of reasons) documented.set(reason, (documented.get(reason) ?? new Set()).add(status))

test('every reason that is thrown or documented is explained, and no other', async () => {
  const thrown = new Set<string>()
  for await (const file of glob('src/**/*.ts')) {
    if (!ON_THE_WAY.test(file) || IN_WORDS.test(file) || file.endsWith('.test.ts')) continue
    for (const [, reason] of (await readFile(file, 'utf8')).matchAll(THROWN)) if (reason) thrown.add(reason)
  }
  assert.ok(thrown.size >= THROWN_MIN, `${thrown.size} reasons are thrown`)
  const known = new Set([...documented.keys(), 'unknown_route', ...thrown])
  const missing = [...known].filter((reason) => !listed.has(reason))
  const needless = [...listed.keys()].filter((reason) => !known.has(reason))
  assert.deepEqual({ missing, needless }, { missing: [], needless: [] })
})

test('each stands under the status that it is answered with', () => {
  for (const [reason, statuses] of documented)
    for (const status of statuses)
      assert.match(listed.get(reason) ?? '', new RegExp(`\\b${status}\\b`), reason)
})

test('each that an operation of the API is answered with stands in its OpenAPI document', () => {
  const unnamed = [...listed]
    .filter(([reason, under]) => under !== 'On the hosted pages' && !documented.has(reason))
    .map(([reason]) => reason)
  assert.deepEqual(unnamed, NOT_OF_OPERATIONS)
})
