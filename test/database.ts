/** A database of its own for each test file, cloned from the migrated template in milliseconds. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { type Database, openDatabase, type Queryable } from '../src/db/database.ts'

/** What a database is cloned from: migrated, or with test/wallet.ts's wallets and a few fresh addresses of each as well. */
export const TEMPLATES = { migrated: 'beck_template', wallets: 'beck_template_wallets' } as const
export type Template = keyof typeof TEMPLATES
export const TEST_CLUSTER_VARIABLE = 'BECK_TEST_POSTGRES'

/** The run's PostgreSQL. */
export interface TestCluster {
  /** Connection string over TCP, as a Beck has it with `DATABASE_URL`. */
  readonly url: string
  /** Folder of its Unix socket, which takes less of a processor: what tests themselves ask by. */
  readonly sockets: string
}

let cluster: Promise<TestCluster> | undefined

/** Started for the first who asks. */
function testCluster(): Promise<TestCluster> {
  cluster ??= askForCluster()
  return cluster
}

async function askForCluster(): Promise<TestCluster> {
  const door = process.env[TEST_CLUSTER_VARIABLE]
  if (!door)
    throw new Error(
      'tests run through `npm test`, or `npm test -- path/to/file.test.ts` for a part: it starts PostgreSQL',
    )
  const answer = await fetch(door)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the PostgreSQL of this test run did not start: ${text}`)
  return JSON.parse(text) as TestCluster
}

/** The same database of the run's PostgreSQL, for the same user, over the Unix socket. */
async function overSocket(url: string): Promise<string> {
  const cluster = await testCluster()
  const { host, hostname } = new URL(cluster.url)
  assert.equal(new URL(url).host, host)
  return url.replace(hostname, encodeURIComponent(cluster.sockets))
}

/** Creates a database and returns its URL; dropped when the test file ends. `template: null` gives an empty one. */
export async function testDatabaseUrl(options: { template?: Template | null } = {}): Promise<string> {
  const name = `beck_test_${randomBytes(8).toString('hex')}`
  const template = options.template === undefined ? 'migrated' : options.template
  await asAdmin(
    `create database ${name}${template ? ` template ${TEMPLATES[template]} strategy file_copy` : ''}`,
  )
  after(() => asAdmin(`drop database if exists ${name} with (force)`))
  const url = new URL((await testCluster()).url)
  url.pathname = `/${name}`
  return url.toString()
}

/**
 * An open, migrated database; closed and dropped when the test file ends.
 *
 * @param options.prepares - False for who fills large tables, or asks how they are read: see {@link preparing}.
 */
export async function testDatabase(
  options: { connectionsMax?: number; template?: Template; prepares?: boolean } = {},
): Promise<Database & { readonly url: string }> {
  const url = await testDatabaseUrl({ template: options.template ?? 'migrated' })
  const db = openDatabase({ url: await overSocket(url), connectionsMax: options.connectionsMax ?? 10 })
  after(() => db.close())
  return { ...(options.prepares === false ? db : preparing(db)), url }
}

/** What is asked of any database over one connection, which is closed however the work ends. */
export async function withDatabase<Result>(
  url: string,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = openDatabase({ url, connectionsMax: 1 })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

async function asAdmin(statement: string): Promise<void> {
  await withDatabase(await overSocket((await testCluster()).url), (admin) => admin.query(statement))
}

/** The database as a user of its own in one of Beck's roles; closed when the test file ends. */
export async function databaseAs(url: string, role: string): Promise<Database & { readonly url: string }> {
  const as = new URL(url)
  as.username = `test_${randomBytes(8).toString('hex')}`
  as.password = 'secret'
  await asAdmin(`create role ${as.username} login password 'secret' in role ${role}`)
  const db = openDatabase({ url: await overSocket(as.toString()), connectionsMax: 10 })
  after(async () => {
    await db.close()
    await asAdmin(`drop role ${as.username}`)
  })
  return { ...preparing(db), url: as.toString() }
}

/**
 * What can be prepared is: a story asks the same a hundred times, and of 35 s that PostgreSQL spent on four files of stories it spent 14
 * on parsing and planning it anew. A test's database lives for seconds, so it may keep every text that it ever saw. Its plans are not
 * those of a Beck, which prepares a few statements only: they suit the small tables of the moment in which they were made, until
 * somebody calls `analyze`.
 */
function preparing(db: Database): Database {
  return {
    ...preparingQueries(db),
    transaction: (work, options) => db.transaction((tx) => work(preparingQueries(tx)), options),
  }
}

const preparingQueries = <Asked extends Queryable>(asked: Asked): Asked => ({
  ...asked,
  query: (text: string, values?: readonly unknown[], hot?: 'prepared') =>
    asked.query(text, values, hot ?? (isPreparable(text) ? 'prepared' : undefined)),
})

/** One statement, and one that has a plan. */
const isPreparable = (text: string) =>
  /^\s*(select|with|insert|update|delete)\b/.test(text) && !text.includes(';')
