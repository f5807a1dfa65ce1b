/** The pages of lists that the growth bench asks for, and how long they take. */
import assert from 'node:assert/strict'
import { type EventId, showId } from '../../src/core/ids.ts'
import { listWithdrawals } from '../../src/withdrawals/list-withdrawals.sql.ts'
import { YEAR_S } from '../many-payments.ts'
import { median } from '../median.ts'
import type { Running, Side } from './side.ts'

/** Each page is asked for so often of either, in turns; the median counts. */
const TIMES = 101
export const PAGE_SIZE = 25

/** Of either size: how it is called, and where it is. */
const PAGES = [
  ['payments', '/payments'],
  ['payments of one status', '/payments?filter_status=pending'],
  ['payments of one coin', '/payments?filter_asset=ETH'],
  ['payments by amount', '/payments?sort=total'],
  ['customers', '/customers'],
  ['customers by orders', '/customers?sort=order_count'],
  ['events', '/events'],
  ['balance', '/balance'],
  ['withdrawals', '/withdrawals'],
] as const

const TEN_DAYS_AGO = new Date(Date.now() - 10 * 24 * 3_600_000).toISOString()
const HALF_A_YEAR_AGO = new Date(Date.now() - (YEAR_S / 2) * 1_000).toISOString()
/** Lists that are read far inside too, with how they are asked for. */
const LISTS = [
  ['payments', '/payments?'],
  ['payments by amount', '/payments?sort=total&'],
  ['payments by id', '/payments?sort=id&order=asc&'],
  ['payments by coin', '/payments?sort=asset&'],
  ['payments by status', '/payments?sort=status&order=asc&'],
  ['payments of one coin', '/payments?filter_asset=ETH&'],
  ['payments of one status', '/payments?filter_status=completed&'],
  ['payments but one coin, by status', '/payments?sort=status&filter_asset=ETH&filter_asset_op=is_not&'],
  ['payments of half a year', `/payments?start_date=${HALF_A_YEAR_AGO}&`],
  ['payments of 100 to 700, by amount', '/payments?sort=total&total_min=100&total_max=700&'],
  ['payments of 100 and more', '/payments?total_min=100&'],
  ['completed payments of 100 to 700', '/payments?total_min=100&total_max=700&filter_status=completed&'],
  ['payments of 100 and more, by status', '/payments?sort=status&order=asc&total_min=100&'],
  ['payments of half a year, by amount', `/payments?sort=total&start_date=${HALF_A_YEAR_AGO}&`],
  [
    'payments of half a year, of 100 to 700, by amount',
    `/payments?sort=total&start_date=${HALF_A_YEAR_AGO}&total_min=100&total_max=700&`,
  ],
  ['payments of half a year, by id', `/payments?sort=id&start_date=${HALF_A_YEAR_AGO}&`],
  ['payments of 100 to 700, by id', '/payments?sort=id&order=asc&total_min=100&total_max=700&'],
  // Of half a percent that was made one behind the other, and of nothing else.
  ['failed payments, by amount', '/payments?sort=total&order=asc&filter_status=failed&'],
  ['payments of 50,000 and more', '/payments?total_min=50000&'],
  ['payments of 50,000 and more, by id', '/payments?sort=id&total_min=50000&'],
  ['customers', '/customers?'],
  ['customers by orders', '/customers?sort=order_count&'],
  ['customers by email', '/customers?sort=email&'],
] as const
const DELIVERIES = [
  ['deliveries', ''],
  ['deliveries that failed', 'filter_status=failed&'],
  ['deliveries that were cancelled', 'filter_status=cancelled&'],
  ['deliveries, oldest first', 'sort=created_at&order=asc&'],
  ['deliveries of ten days', `start_date=${TEN_DAYS_AGO}&`],
] as const
const NO_WITHDRAWALS = { filter_kind: 'refund', filter_asset: 'ETH' } as const
/** As the dashboard asks for them: the API shows the newest hundred. */
const WITHDRAWALS = [
  {},
  { filter_status: 'failed' },
  { filter_asset: 'ETH' },
  { filter_kind: 'payout' },
  { filter_kind: 'refund' },
  { filter_status: 'failed', filter_asset: 'ETH' },
  { filter_status: 'completed', filter_asset: 'ETH' },
  { filter_kind: 'payout', filter_status: 'failed' },
  { filter_kind: 'payout', filter_status: 'failed', filter_asset: 'ETH' },
  NO_WITHDRAWALS,
  { filter_to: 'tltc1q7' },
  { order: 'asc' },
] as const
const WALKED_LISTS = [['customers, part of an email', '/customers?filter_email=buyer&']] as const

interface Answer {
  readonly ms: number
  readonly data: { readonly total?: number; readonly items?: readonly { readonly id: string }[] }
}

export async function get({ beck, key }: Running, path: string): Promise<Answer> {
  const asked = performance.now()
  const answer = await fetch(`${beck.url}${path}`, { headers: { 'x-api-key': key } })
  const { data } = (await answer.json()) as Pick<Answer, 'data'>
  // A read has ten seconds. What takes longer meets no bar.
  if (answer.status === 503) return { ms: Number.POSITIVE_INFINITY, data: {} }
  assert.equal(answer.status, 200, path)
  return { ms: performance.now() - asked, data }
}

/** @returns How many times slower each page is. */
export async function measurePages(sides: readonly [Running, Running]): Promise<number[]> {
  const ratios: number[] = []
  const newest = async (side: Running) => `/payments/${(await get(side, '/payments')).data.items?.[0]?.id}`
  const one = await Promise.all(sides.map(newest))
  const pages = [
    ...PAGES.map(([name, path]) => [name, path, path] as const),
    ['one payment', ...one] as const,
  ]
  for (const [name, ...paths] of pages) {
    const times: number[][] = sides.map(() => [])
    for (let time = 0; time < TIMES; time++)
      for (const [index, side] of sides.entries())
        times[index]?.push((await get(side, paths[index] ?? '')).ms)
    const [fewer = 0, more = 0] = times.map(median)
    ratios.push(more / fewer)
    process.stdout.write(row(`GET ${name}`, [ms(fewer), ms(more)], more / fewer))
  }
  return ratios
}

/** @returns The slowest of the pages that have a bar, by its median. */
export async function measureLists(side: Running): Promise<number> {
  const deliveries = DELIVERIES.map(
    ([name, query]) => [name, `/webhooks/${side.endpointId}/deliveries?${query}`] as const,
  )
  return Math.max(
    await measureDeepPages(side, [...LISTS, ...deliveries], 5),
    await measureEvents(side),
    await measureWithdrawals(side),
  )
}

/** @returns The slowest of those that have none. */
export const measureWalkedLists = (side: Running): Promise<number> => measureDeepPages(side, WALKED_LISTS, 3)

/** @returns The slowest of the pages deep inside of the lists, by its median. */
async function measureDeepPages(
  side: Running,
  lists: readonly (readonly [name: string, path: string])[],
  tries: number,
): Promise<number> {
  let slowest = 0
  for (const [name, path] of lists) {
    const { total = 0 } = (await get(side, path)).data
    const last = Math.ceil(total / PAGE_SIZE)
    assert.ok(last > 0, `${name} has pages`)
    const pages = [1, Math.min(100, last), Math.ceil(last / 3), Math.ceil(last / 2), last - 1, last]
    for (const page of new Set(pages.filter((each) => each > 0))) {
      const items = Math.min(PAGE_SIZE, total - (page - 1) * PAGE_SIZE)
      const usual = await medianOf(side, `${path}page=${page}`, items, tries)
      slowest = Math.max(slowest, usual)
      process.stdout.write(row(`GET ${name}, page ${page} of ${last}`, ['', ms(usual)]))
    }
  }
  return slowest
}

/** @returns The slowest of the pages of events behind the first, which go on from an event's id, by its median. */
async function measureEvents(side: Running): Promise<number> {
  const { rows } = await side.db.query<{ part: string; id: EventId }>(
    `select part, (select id from events where account_id = $1 order by created_at, id
       limit 1 offset (select count(*) from events where account_id = $1) * part / 100) as id
     from unnest(array[1, 33, 50, 80]) part`,
    [side.accountId],
  )
  let slowest = 0
  for (const { part, id } of rows) {
    const path = `/events?limit=${PAGE_SIZE}&after=${showId('evt', id)}`
    const usual = await medianOf(side, path, PAGE_SIZE, 9)
    slowest = Math.max(slowest, usual)
    process.stdout.write(row(`GET events, behind ${part} % of them`, ['', ms(usual)]))
  }
  return slowest
}

/** @returns The slowest of the pages of withdrawals in the dashboard, by its median. */
async function measureWithdrawals({ db, accountId }: Side): Promise<number> {
  let slowest = 0
  for (const query of WITHDRAWALS) {
    const { total, totalPages } = await listWithdrawals(db, accountId, query)
    assert.equal(total > 0, query !== NO_WITHDRAWALS)
    const last = Math.max(1, totalPages)
    for (const page of new Set([1, Math.ceil(last / 2), last])) {
      const times: number[] = []
      for (let time = 0; time < 5; time++) {
        const asked = performance.now()
        const { items } = await listWithdrawals(db, accountId, { ...query, page })
        times.push(performance.now() - asked)
        assert.equal(items.length > 0, total > 0)
      }
      const usual = median(times)
      slowest = Math.max(slowest, usual)
      process.stdout.write(
        row(`withdrawals ${Object.values(query)}, page ${page} of ${last}`, ['', ms(usual)]),
      )
    }
  }
  return slowest
}

/** @param items - So many are on the page. @returns Milliseconds. */
async function medianOf(side: Running, path: string, items: number, tries: number): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < tries; time++) {
    const answer = await get(side, path)
    if (Number.isFinite(answer.ms)) assert.equal(answer.data.items?.length, items, path)
    times.push(answer.ms)
  }
  return median(times)
}

export function ms(duration: number): string {
  return `${duration.toFixed(1)} ms`
}

export function row(name: string, cells: readonly string[], ratio?: number): string {
  return `${name.padEnd(40)}${cells.map((cell) => cell.padStart(12)).join('')}${ratio === undefined ? '' : ratio.toFixed(2).padStart(8)}\n`
}
