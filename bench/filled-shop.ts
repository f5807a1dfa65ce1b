/**
 * A merchant with ten million payments of the last year, which takes ten minutes to write: `npm run bench` has it written once, for
 * every bench that only reads it, by naming a folder in {@link KEPT_VARIABLE}.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from '../src/accounts/account.ts'
import { findAccount, insertAccount } from '../src/accounts/accounts.sql.ts'
import type { AccountId } from '../src/core/ids.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { type Cluster, startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { benchFolder } from './folder.ts'
import { BULK_SETTINGS, fillLogs, fillPayments, overTheYear } from './many-payments.ts'

export const KEPT_VARIABLE = 'BENCH_KEPT'
const [FILLED, COPY] = ['filled', 'shop']
const SHOP = { name: 'Shop', email: 'a@b.example', mode: 'test', currency: 'USD' } as const

export interface FilledShop {
  /** For what else the bench writes; it goes with the bench. */
  readonly folder: string
  readonly url: string
  readonly db: Database
  readonly account: Account
  close(): Promise<void>
}

/**
 * So many payments of one merchant, five in nine settled, and a ninth as many of another; a thirtieth as many customers, who
 * wrote their emails on a third; a tenth as many requests and events.
 */
export async function openFilledShop(
  payments: number,
  { connectionsMax }: { connectionsMax: number },
): Promise<FilledShop> {
  const folder = await benchFolder()
  const dataDir = join(process.env[KEPT_VARIABLE] ?? folder, `shop-${payments}`)
  let cluster: Cluster | undefined
  try {
    cluster = await startCluster({ dataDir, settings: BULK_SETTINGS })
    await copyFilled(cluster, payments)
    const url = cluster.url(COPY)
    const db = openDatabase({ url, connectionsMax })
    const account = await findShop(db)
    return { folder, url, db, account, close: () => close(db) }
  } catch (error) {
    await close()
    throw error
  }

  async function close(db?: Database): Promise<void> {
    await db?.close()
    await cluster?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** What a bench writes is in the copy, so the next finds the same. */
async function copyFilled(cluster: Cluster, payments: number): Promise<void> {
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  try {
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [FILLED])
    await admin.query(`drop database if exists ${COPY}`)
    if (rowCount === 0) {
      await admin.query(`create database ${COPY}`)
      await fill(cluster.url(COPY), payments)
      await admin.query(`alter database ${COPY} rename to ${FILLED}`)
    }
    await admin.query(`create database ${COPY} template ${FILLED} strategy file_copy`)
  } finally {
    await admin.close()
  }
}

async function findShop(db: Database): Promise<Account> {
  const { rows } = await db.query<{ id: AccountId }>('select id from accounts where email = $1', [SHOP.email])
  const account = rows[0] && (await findAccount(db, rows[0].id))
  assert.ok(account)
  return account
}

/** The day so long ago, by UTC, `YYYY-MM-DD`. */
export function dayAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
}

async function fill(url: string, payments: number): Promise<void> {
  const begun = performance.now()
  const db = openDatabase({ url, connectionsMax: 2 })
  await migrate(db)
  const account = await insertAccount(db, SHOP)
  const all = Math.ceil((payments * 10) / 9)
  await fillPayments(db, account.id, {
    payments: all,
    otherEvery: 10,
    at: overTheYear(all),
    customers: Math.max(1, Math.floor(payments / 30)),
  })
  await db.query(
    `update customers c set order_count = s.n, total_spent_minor = s.spent
     from (select account_id, customer_id, count(*) as n, sum(spent_minor) as spent from payments
       where spent_minor is not null and customer_id is not null group by 1, 2) s
     where c.account_id = s.account_id and c.id = s.customer_id`,
  )
  await fillLogs(db, account.id, Math.floor(payments / 10))
  for (const table of ['customers', 'api_requests', 'events']) await db.query(`vacuum (analyze) ${table}`)
  await db.close()
  process.stdout.write(`filled in ${((performance.now() - begun) / 1_000).toFixed(0)} s\n`)
}
