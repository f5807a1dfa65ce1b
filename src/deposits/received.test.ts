/** What counts as received is told once: in memory and in SQL alike, and nowhere else. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { DEPOSIT_STATUSES, type DepositStatus } from './deposit.ts'
import {
  inTimeSql,
  isInTime,
  isReceived,
  isStanding,
  paysFor,
  paysForSql,
  pendingSql,
  receivedSql,
} from './received.ts'

// status, whether the chain may still pay us with it, whether it is in the pending balance while it is not booked
const STATUSES: readonly (readonly [DepositStatus, boolean, boolean])[] = [
  ['seen', true, true],
  ['confirmed', true, true],
  ['reorganised', true, false],
  ['replaced', false, false],
  ['dropped', false, false],
]

test('each status of a deposit says whether it counts, and dust never does', () => {
  assert.deepEqual(STATUSES.map(([status]) => status).sort(), [...DEPOSIT_STATUSES].sort())
  for (const [status, counts] of STATUSES) {
    assert.equal(isStanding(status), counts, status)
    assert.equal(isReceived({ status, dust: false }), counts, status)
    assert.equal(isReceived({ status, dust: true }), false, status)
  }
})

test('PostgreSQL counts the same deposits as Beck does in memory', async () => {
  const db = await testDatabase()
  const { rows } = await db.query<{
    status: DepositStatus
    dust: boolean
    late: boolean
    booked: boolean
    asset: 'BTC' | 'LTC'
    settlements: number
    received: boolean
    pays: boolean
    in_time: boolean
    pending: boolean
  }>(
    `select d.*, p.settlements, ${receivedSql('d')} as received, ${paysForSql('d', 'p')} as pays,
       ${inTimeSql('d', 'p')} as in_time, ${pendingSql('d')} as pending
     from (select * from unnest($1::text[]) as s (status), (values (true), (false)) as u (dust),
         (values (true), (false)) as l (late), (values (true), (false)) as b (booked), (values ('BTC'), ('LTC')) as a (asset)) d,
       (values (0, 'BTC'), (1, 'BTC')) as p (settlements, asset)`,
    [DEPOSIT_STATUSES],
  )
  assert.equal(rows.length, 5 * 2 * 2 * 2 * 2 * 2)
  for (const row of rows) {
    const [, , isPresent] = STATUSES.find(([status]) => status === row.status) ?? assert.fail()
    assert.equal(row.received, isReceived(row), JSON.stringify(row))
    assert.equal(row.pays, paysFor(row, { asset: 'BTC' }), JSON.stringify(row))
    assert.equal(row.in_time, isInTime(row, row), JSON.stringify(row))
    assert.equal(row.pending, isPresent && !row.dust && !row.booked, JSON.stringify(row))
  }
})

test('the pending balance is read from its index', async () => {
  const db = await testDatabase()
  const plan = await db.transaction(async (tx) => {
    await tx.query('set local enable_seqscan = off')
    return tx.query<{ 'QUERY PLAN': string }>(
      `explain select sum(amount_atoms) from deposits d
       where account_id = '00000000-0000-7000-8000-000000000001' and ${pendingSql('d')}`,
    )
  })
  assert.match(plan.rows.map((row) => row['QUERY PLAN']).join('\n'), /deposits_pending/)
})

// What nobody writes a second time, and who alone does.
const ONCE: readonly (readonly [what: string, pattern: RegExp, where: readonly string[]])[] = [
  [
    'which deposits count as received',
    /'seen',\s*'confirmed'(?!,\s*'replaced')|'confirmed',\s*'seen'/,
    ['deposits/received.ts'],
  ],
  ['which asset or network a chain has, read out of its name', /chain like|like '(?:%|sim-)/, []],
]

for (const [what, pattern, where] of ONCE)
  test(`no second place says ${what}`, async () => {
    const folder = join(import.meta.dirname, '..')
    const found: string[] = []
    for (const path of await readdir(folder, { recursive: true })) {
      if (!path.endsWith('.ts') || path.endsWith('.test.ts')) continue
      if (pattern.test(await readFile(join(folder, path), 'utf8'))) found.push(path)
    }
    assert.deepEqual(
      found.filter((path) => !where.includes(path)),
      [],
    )
  })
