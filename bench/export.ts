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
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../src/accounts/account.ts'
import type { Database } from '../src/db/database.ts'
import { homeOf, signedIn } from '../test/dashboard.ts'
import { openFilledShop } from './filled-shop.ts'
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

const shop = await openFilledShop(PAYMENTS, { connectionsMax: 2 })
try {
  const { db, account } = shop
  const { token } = await signedIn(db, { account, role: 'owner' })
  const beck = await startBeck({ DATABASE_URL: shop.url, BECK_DATA_DIR: join(shop.folder, 'beck') }, [
    '--role',
    'api',
  ])
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
} finally {
  await shop.close()
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
