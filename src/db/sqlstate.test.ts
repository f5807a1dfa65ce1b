/** SQLSTATEs have their names in one file, and the names are PostgreSQL's. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import test from 'node:test'
import { parseSync } from '@swc/core'
import { testDatabase } from '../../test/database.ts'
import { allRows } from './rows.ts'
import * as sqlstate from './sqlstate.ts'

const { CLASSES, ACCOUNT_CLOSED, ...CONDITIONS } = sqlstate

/** Of the classes that PostgreSQL uses, and Beck's own. */
const SQLSTATE = /^(0[0-9A-Z]|2[0-9A-Z]|3[0-9A-Z]|4[024][0-9A-Z]|5[3578][0-9A-Z]|72|BK|F0|HV|P0|XX)/
/** What of a regular expression or a text reads as one or several: `57P0[123]`. */
const PARTS = /\b(?=[0-9A-Z]*\d)(?:0[8A]|2[2358]|3D|4[02]|5[3578]|P0|XX)[0-9A-Z.]{2,3}(?![0-9a-z_.])/

test('they are written nowhere else in src', async () => {
  const found: string[] = []
  for await (const file of glob('src/**/*.ts')) {
    if (file.endsWith('.test.ts') || file === 'src/db/sqlstate.ts') continue
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return
      const { type, value, pattern } = node as { type?: string; value?: string; pattern?: string }
      if (
        type === 'StringLiteral' &&
        /^(?=.*\d|BK)[0-9A-Z]{5}$/.test(value ?? '') &&
        SQLSTATE.test(value ?? '')
      )
        found.push(`${file}: '${value}'`)
      if (type === 'RegExpLiteral' && PARTS.test(pattern ?? '')) found.push(`${file}: /${pattern}/`)
      for (const child of Object.values(node)) visit(child)
    }
    visit(parseSync(await readFile(file, 'utf8'), { syntax: 'typescript', target: 'esnext' }))
  }
  assert.deepEqual(found, [], 'give it its name in src/db/sqlstate.ts')
})

test('each name is that of a condition which PostgreSQL raises with this state', async () => {
  const db = await testDatabase({ connectionsMax: 1 })
  await db.query(`create function state_of(condition text) returns text language plpgsql as $of$
    begin
      execute format('do $raise$ begin raise %I; end $raise$', condition);
      return null;
    exception when others or query_canceled then return sqlstate;
    end $of$`)
  const names = Object.keys(CONDITIONS)
  const rows = await allRows<{ name: string; state: string }>(
    db,
    'select upper(name) as name, state_of(name) as state from unnest($1::text[]) as name',
    [names.map((name) => name.toLowerCase())],
  )
  assert.deepEqual(Object.fromEntries(rows.map(({ name, state }) => [name, state])), CONDITIONS)
  for (const [name, start] of Object.entries(CLASSES)) {
    const [row] = await allRows<{ state: string }>(db, 'select state_of($1) as state', [name.toLowerCase()])
    assert.equal(row?.state, `${start}000`, name)
  }
  assert.match(await readFile('src/db/schema.sql', 'utf8'), new RegExp(`ERRCODE = '${ACCOUNT_CLOSED}'`, 'i'))
})
