/**
 * Every list of the dashboard as a file, from a Beck as it comes (`--role api`): how many rows a second, and what the process
 * holds in memory meanwhile. A receiver that stops reading is part of it: nothing may pile up behind it.
 *
 *   node bench/export.ts [payments]
 *
 * The rows of each file are counted against the table before anything is printed. Bar: the resident set grows by no more between a
 * tenth of the way and the end than {@link GROWTH_MB_MAX}, whoever many rows there are.
 */
import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../src/accounts/account.ts'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { homeOf, signedIn } from '../test/dashboard.ts'
import { benchFolder } from './folder.ts'
import { BULK_SETTINGS, fillLogs, fillPayments } from './many-payments.ts'
import { startBeck } from './started-beck.ts'

const GROWTH_MB_MAX = 40
/** How long the receiver takes nothing, halfway. */
const STALL_MS = 5_000
const PAYMENTS = Number(process.argv[2] ?? 10_000_000)

/** The page of each list, and the table that it shows. */
const PAGES = [
  ['payments', 'payments'],
  ['customers', 'customers'],
  ['requests', 'api_requests'],
  ['events', 'events'],
] as const

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg'), settings: BULK_SETTINGS })
try {
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 2 })
  await migrate(db)
  const draft = { name: 'Shop', email: 'a@b.example', mode: 'test', currency: 'USD' } as const
  const account = await insertAccount(db, draft)
  await fill(db, account)
  const { token } = await signedIn(db, { account, role: 'owner' })
  const beck = await startBeck(
    { DATABASE_URL: cluster.url('postgres'), BECK_DATA_DIR: join(folder, 'beck') },
    ['--role', 'api'],
  )
  const asked = { url: new URL(homeOf(account), beck.url).href, cookie: `beck=${token}`, pid: beck.pid }
  let worst = 0
  for (const [page, table] of PAGES)
    for (const format of page === 'payments' ? ['csv', 'jsonl'] : ['csv'])
      worst = Math.max(worst, await measure(db, account, asked, { page, table, format }))
  const good = worst <= GROWTH_MB_MAX
  process.stdout.write(
    `grew by ${worst.toFixed(1)} MB at most (bar: at most ${GROWTH_MB_MAX}): ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
  await beck.stop()
  await db.close()
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** As many payments of this merchant as were asked for, and a ninth as many of another; a tenth as many requests and events. */
async function fill(db: Database, account: Account): Promise<void> {
  const payments = Math.ceil((PAYMENTS * 10) / 9)
  await fillPayments(db, account.id, {
    payments,
    otherEvery: 10,
    at: `now() - make_interval(secs => ${payments} - n)`,
    isSold: true,
    customers: Math.max(1, Math.floor(PAYMENTS / 30)),
  })
  await fillLogs(db, account.id, Math.floor(PAYMENTS / 10))
}

interface Asked {
  readonly url: string
  readonly cookie: string
  readonly pid: number
}

/** @returns By how many megabytes the process grew after the first tenth. */
async function measure(
  db: Database,
  { id }: Account,
  { url, cookie, pid }: Asked,
  file: { readonly page: string; readonly table: string; readonly format: string },
): Promise<number> {
  const { rows } = await db.query<{ n: bigint }>(
    `select count(*) as n from ${file.table} where account_id = $1`,
    [id],
  )
  const wanted = Number(rows[0]?.n)
  const begun = performance.now()
  const answer = await fetch(`${url}/${file.page}/export?format=${file.format}&zone=local`, {
    headers: { cookie },
    signal: AbortSignal.timeout(3_600_000),
  })
  assert.equal(answer.status, 200, file.page)
  assert.ok(answer.body)
  const samples: number[] = []
  let [lines, bytes, stalled, sampledAt] = [0, 0, false, 0]
  for await (const chunk of answer.body) {
    bytes += chunk.length
    lines += Buffer.from(chunk).filter((byte) => byte === 10).length
    if (performance.now() - sampledAt > 200) {
      samples.push(await rssMb(pid))
      sampledAt = performance.now()
    }
    if (!stalled && lines > wanted / 2) {
      stalled = true
      await sleep(STALL_MS)
    }
  }
  const took = performance.now() - begun - (stalled ? STALL_MS : 0)
  assert.equal(lines, wanted + (file.format === 'csv' ? 1 : 0), `${file.page} as ${file.format}`)
  const first = samples.slice(0, Math.max(1, Math.ceil(samples.length / 10)))
  const growth = Math.max(...samples) - Math.max(...first)
  process.stdout.write(
    `${file.page} as ${file.format}: ${wanted} rows, ${(bytes / 1e6).toFixed(1)} MB in ${(took / 1_000).toFixed(1)} s ` +
      `(${Math.round(wanted / (took / 1_000))} a second); resident ${Math.max(...first).toFixed(0)} MB at first, ` +
      `${Math.max(...samples).toFixed(0)} MB at most\n`,
  )
  return growth
}

async function rssMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024
}
