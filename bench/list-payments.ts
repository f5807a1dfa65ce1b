/**
 * GET /payments of a merchant with ten million payments: the statement that reads a page's rows against the plainest SQL
 * for the same page on the same pool, in turns, and the exact total beside a plain count.
 *
 *   node bench/list-payments.ts [payments]
 *
 * Rows and totals must be the same before anything is printed. Bars: at most three times the plain SQL,
 * and any page within 50 ms.
 */
import assert from 'node:assert/strict'
import type { AccountId } from '../src/core/ids.ts'
import type { Database, Queryable } from '../src/db/database.ts'
import type { ListQuery } from '../src/db/list-filters.ts'
import { listPayments } from '../src/payments/list-payments.sql.ts'
import { dayAgo, openFilledShop } from './filled-shop.ts'

const RATIO_MAX = 3
/** Of any page. */
const PAGE_MS_MAX = 50
/** A part of an email is looked for in all customers (docs/decisions/0013-lists.md). */
const WALKED = new Set(['part of an email', 'a rare email'])
const PAYMENTS = Number(process.argv[2] ?? 10_000_000)
/** Pages of 25. */
const LAST = Math.floor(PAYMENTS / 25)
const MIDDLE = Math.floor(LAST / 2)
const [A_YEAR_AGO, HALF_A_YEAR_AGO, DAYS_LATER] = [dayAgo(364), dayAgo(183), dayAgo(180)]
const COLUMNS = 'id, status, asset, net_minor, fiat_currency, reference, created_at'

/** What is asked, and the plainest SQL for it. `$1` is the account. */
const CASES: readonly [name: string, query: ListQuery, where: string, order: string, offset?: number][] = [
  ['first page', {}, '', 'created_at desc, id desc'],
  ['page 100', { page: 100 }, '', 'created_at desc, id desc', 99 * 25],
  ['the middle page', { page: MIDDLE }, '', 'created_at desc, id desc', (MIDDLE - 1) * 25],
  ['the last page', { page: LAST }, '', 'created_at desc, id desc', (LAST - 1) * 25],
  ['sorted by id', { sort: 'id', order: 'asc' }, '', 'id asc'],
  ['one status', { filter_status: 'underpaid' }, "and status = 'underpaid'", 'created_at desc, id desc'],
  [
    'not one status',
    { filter_status: 'completed', filter_status_op: 'is_not' },
    "and status <> 'completed'",
    'created_at desc, id desc',
  ],
  ['one coin', { filter_asset: 'BTC' }, "and asset = 'BTC'", 'created_at desc, id desc'],
  [
    'a range of amounts',
    { total_min: 10, total_max: 11 },
    'and net_minor between 1000 and 1100',
    'created_at desc, id desc',
  ],
  [
    'three days',
    { start_date: HALF_A_YEAR_AGO, end_date: DAYS_LATER },
    `and created_at >= '${HALF_A_YEAR_AGO}Z' and created_at < '${DAYS_LATER}Z'`,
    'created_at desc, id desc',
  ],
  [
    'part of an email',
    { filter_email: 'buyer7' },
    "and customer_email ilike '%buyer7%'",
    'created_at desc, id desc',
  ],
  [
    'a rare email',
    { filter_email: 'nobody@' },
    "and customer_email ilike '%nobody@%'",
    'created_at desc, id desc',
  ],
  ['sorted by total', { sort: 'total' }, '', 'net_minor desc, created_at desc, id desc'],
  [
    'the middle by total',
    { sort: 'total', page: MIDDLE },
    '',
    'net_minor desc, created_at desc, id desc',
    (MIDDLE - 1) * 25,
  ],
  [
    'the middle by asset',
    { sort: 'asset', page: MIDDLE },
    '',
    'asset desc, created_at desc, id desc',
    (MIDDLE - 1) * 25,
  ],
  [
    'a range of amounts, the middle by time',
    { total_min: 100, page: MIDDLE },
    'and net_minor >= 10000',
    'created_at desc, id desc',
    (MIDDLE - 1) * 25,
  ],
  [
    'a range of dates, the middle by total',
    { sort: 'total', start_date: A_YEAR_AGO, page: MIDDLE },
    `and created_at >= '${A_YEAR_AGO}Z'`,
    'net_minor desc, created_at desc, id desc',
    (MIDDLE - 1) * 25,
  ],
  ['sorted by status', { sort: 'status' }, '', 'status desc, created_at desc, id desc'],
  ['sorted by asset', { sort: 'asset', order: 'asc' }, '', 'asset, created_at, id'],
]

const shop = await openFilledShop(PAYMENTS, { connectionsMax: 2 })
try {
  const { db, account } = shop
  const heads = ['rows', 'direct', 'ratio', 'total', 'plain count']
  process.stdout.write(line('list of payments', heads))
  let [worst, slowest] = [0, 0]
  for (const [name, query, where, order, offset = 0] of CASES) {
    const matching = `from payments where account_id = $1 ${where}`
    const plain = `select ${COLUMNS} ${matching} order by ${order} limit 25 offset ${offset}`
    const counted = `select count(*) as total ${matching}`
    const { statements, page } = await record(db, account.id, query)
    // A deep page asks for the total first.
    const totals = statements.filter(({ text }) => / as (total|version|mark)\b| corners\b/.test(text))
    const rows = statements.filter((statement) => !totals.includes(statement))
    assert.ok(rows.length > 0)
    const direct = { text: plain, values: [account.id] }
    const { rows: wanted } = await db.query<{ id: string }>(plain, [account.id])
    const ids = wanted.map(({ id }) => id)
    assert.deepEqual(
      page.items.map((item) => item.id),
      ids,
      name,
    )
    const { rows: count } = await db.query<{ total: bigint }>(counted, [account.id])
    assert.equal(page.total, Number(count[0]?.total), name)
    const [directMs = 0, ...rowsMsEach] = await timeInTurns(db, [direct, ...rows])
    const rowsMs = rowsMsEach.reduce((sum, each) => sum + each, 0)
    const [countMs = 0, ...totalMsEach] = await timeInTurns(db, [
      { text: counted, values: [account.id] },
      ...totals,
    ])
    const totalMs = totalMsEach.reduce((sum, each) => sum + each, 0)
    const ratio = rowsMs / directMs
    worst = Math.max(worst, ratio)
    if (!WALKED.has(name)) slowest = Math.max(slowest, rowsMs + totalMs)
    process.stdout.write(line(name, [ms(rowsMs), ms(directMs), ratio.toFixed(2), ms(totalMs), ms(countMs)]))
  }
  const good = worst <= RATIO_MAX && slowest <= PAGE_MS_MAX
  process.stdout.write(
    `worst ratio ${worst.toFixed(2)} (bar: at most ${RATIO_MAX}), any page but one of a part of an email within ${ms(slowest)} ` +
      `(at most ${PAGE_MS_MAX}): ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
} finally {
  await shop.close()
}

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** A page, and the statements that read it: its rows, then its total unless the rows told it. */
async function record(db: Database, accountId: AccountId, query: ListQuery) {
  const statements: Statement[] = []
  const recording: Queryable = {
    query: (text, values = []) => {
      statements.push({ text, values })
      return db.query(text, values)
    },
  }
  return { page: await listPayments(recording, accountId, query), statements }
}

/** The best time of each statement in milliseconds, for other work only ever adds; at most 30 turns or three seconds. */
async function timeInTurns(db: Database, statements: readonly Statement[]): Promise<number[]> {
  const best = statements.map(() => Infinity)
  const begun = performance.now()
  for (let turn = 0; turn < 30 && (turn < 3 || performance.now() - begun < 3_000); turn++) {
    for (const [index, { text, values }] of statements.entries()) {
      const start = performance.now()
      await db.query(text, values)
      best[index] = Math.min(best[index] ?? Infinity, performance.now() - start)
    }
  }
  return best
}

function ms(duration: number): string {
  return `${duration.toFixed(1)} ms`
}

function line(name: string, cells: readonly string[]): string {
  return `${name.padEnd(20)}${cells.map((cell) => cell.padStart(13)).join('')}\n`
}
