/**
 * Every command of the command line, as its help names them: what changes something leaves a record of who ran it where, and
 * what only reads changes no row. A new command has to be written into one of the two tables.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { raiseAlert } from '../../src/alerts/alerts.sql.ts'
import { fingerprintOf } from '../../src/approvals/approver.ts'
import { GATEWAY } from '../../src/core/gateway-account.ts'
import { readId } from '../../src/core/ids.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { freeze } from '../../src/ledger/freezes.sql.ts'
import { post } from '../../src/ledger/post.sql.ts'
import { upsertCustomer } from '../../src/payments/customers.sql.ts'
import { addApprover } from '../../src/signer/approvals/approvers.ts'
import { storeFeeRates } from '../../src/treasury/fee-rates.sql.ts'
import { insertPasskey, replaceRecoveryCodes } from '../../src/users/factors.sql.ts'
import { insertInvitation } from '../../src/users/invitations.sql.ts'
import { insertSession } from '../../src/users/sessions.sql.ts'
import { findUser, insertUser } from '../../src/users/users.sql.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { testCause } from '../gateway.ts'
import { DESTINATIONS } from '../payout-story.ts'
import { fillTestWallets, TEST_SECRET_KEY } from '../wallet.ts'

const KEYS = [TEST_SECRET_KEY.toString('hex'), Buffer.alloc(32, 6).toString('hex')] as const
const dataDir = await mkdtemp(join(tmpdir(), 'beck-commands-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const url = await testDatabaseUrl()
// Not under the name of a server, beside which a restored database is not declared one.
const db = openDatabase({ url, connectionsMax: 2, applicationName: 'test' })
after(() => db.close())
const settings = {
  DATABASE_URL: url,
  BECK_SECRET_KEY: KEYS[0],
  BECK_DATA_DIR: dataDir,
  BECK_KEYSTORE_PASSPHRASE: 'correct horse battery staple',
  SSH_CONNECTION: '203.0.113.9 50000 192.0.2.1 22',
}

type Environment = Readonly<Record<string, string>>
// biome-ignore lint/suspicious/noExplicitAny: answers are walked by tests that assert on what they find
type Answer = any

/** @returns What it answered, a refusal under `error`; nothing of a command of the signer's, which ends well. */
async function beck(args: readonly string[], more: Environment = {}): Promise<Answer> {
  if (args[0] === 'wallet' && args[1] !== 'find') {
    await run(['src/cli/beck.ts', ...args], { ...settings, ...more })
    return {}
  }
  const command = startBeckProcess(args, { ...settings, ...more })
  await command.ended
  return command.said[0] ?? assert.fail(`beck ${args.join(' ')} said nothing`)
}

const run = (args: readonly string[], more: Environment) =>
  promisify(execFile)(process.execPath, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...more },
  })

/** Commands as the help lists them, those of a group behind its name. */
async function helpOf(...group: readonly string[]): Promise<string[]> {
  const { stdout } = await run(['src/cli/beck.ts', ...group, '--help'], {})
  const listed = stdout.split(/^Commands:$/m)[1] ?? ''
  return [...listed.matchAll(/^ {2}([a-z]\S*)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => name !== 'help')
}

/** What commands are called with, as the story goes on. */
const made = { account: '', key: '', payOut: '' }
const backup = join(dataDir, 'backup')
const nextPassphrase = join(dataDir, 'next-passphrase')
const BITCOIN = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'
const UNKNOWN = 'ab'.repeat(32)

const APPROVER = {
  account: 'acct_one',
  user: 'usr_one',
  name: 'Ann',
  credentialId: 'AA',
  publicKey: 'AA',
  rpId: 'localhost',
  origin: 'http://localhost',
}

interface Acting {
  readonly action: string
  readonly args?: () => readonly string[]
  /** What it needs to have something to do. */
  readonly before?: () => Promise<unknown>
  /** What others are called with. */
  readonly keep?: (answer: Answer) => void
  /** Where it acts, when it is not on the installation's own database. */
  readonly on?: () => Promise<{ readonly db: Database; readonly env: Environment }>
  /** Recorded before it is tried, and there is nothing to be done here. */
  readonly fails?: true
}

/** An empty database, with a data directory of its own. */
async function elsewhere() {
  const folder = await mkdtemp(join(tmpdir(), 'beck-commands-elsewhere-'))
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))
  const other = await testDatabaseUrl({ template: null })
  const db = openDatabase({ url: other, connectionsMax: 1 })
  after(() => db.close())
  return { db, env: { DATABASE_URL: other, BECK_DATA_DIR: folder } }
}

/** In the order in which they are run. */
const ACTING: Readonly<Record<string, Acting>> = {
  migrate: { action: 'database.migrate', on: elsewhere },
  'accounts create': {
    action: 'account.create',
    args: () => ['--name', 'Shop', '--email', 'shop@example.com'],
    keep: ({ id }) => {
      made.account = id
    },
  },
  'accounts set': {
    action: 'account.change',
    args: () => ['--account', made.account, '--brand-name', 'Tea'],
  },
  'keys create': {
    action: 'key.create',
    keep: ({ id }) => {
      made.key = id
    },
  },
  'keys roll': { action: 'key.roll', args: () => [made.key] },
  'accounts close': { action: 'account.close', args: () => [made.account] },
  'accounts reopen': { action: 'account.reopen', args: () => [made.account] },
  'keys revoke': { action: 'key.revoke', args: () => [made.key] },
  'wallet init': { action: 'wallet.init' },
  'wallet allow': { action: 'wallet.allow', args: () => ['bitcoin', BITCOIN] },
  'wallet disallow': { action: 'wallet.disallow', args: () => ['bitcoin', BITCOIN] },
  'wallet approvers': {
    action: 'wallet.approvers',
    before: () => addApprover(join(dataDir, 'signer'), APPROVER),
    args: () => ['remove', fingerprintOf(APPROVER)],
  },
  'wallet passphrase': {
    action: 'wallet.passphrase',
    before: () => writeFile(nextPassphrase, 'a better horse battery staple\n', { mode: 0o600 }),
    args: () => [nextPassphrase],
  },
  'wallet find': { action: 'wallet.find', args: () => ['--gap', '1'] },
  'users first': { action: 'user.first' },
  'users invite': { action: 'user.invite', args: () => ['ann@example.com', '--operator'] },
  'users reset': {
    action: 'user.reset',
    before: () =>
      db.transaction((tx) =>
        insertUser(tx, { email: 'bob@example.com', name: 'Bob', passwordHash: null, isOperator: false }),
      ),
    args: () => ['bob@example.com'],
  },
  'users disable': { action: 'user.disable', args: () => ['bob@example.com'] },
  'forget customer': {
    action: 'customer.forget',
    before: () =>
      db.transaction((tx) =>
        upsertCustomer(tx, readId('acct', made.account) ?? assert.fail(), 'buyer@example.com'),
      ),
    args: () => ['buyer@example.com'],
  },
  'alerts ack': {
    action: 'alert.acknowledge',
    before: () =>
      raiseAlert(db, { kind: 'books_disagree', accountId: null, subject: 'LTC', message: 'look' }),
    args: () => ['--all'],
  },
  reconcile: {
    action: 'freeze.lift',
    before: () => freeze(db, 'sim-litecoin', 'LTC', 'one atom is missing'),
    args: () => ['--unfreeze'],
  },
  'fees pay-out': {
    action: 'fees.pay_out',
    before: giveCapital,
    args: () => [
      ...['--test', '--capital', '--asset', 'LTC', '--amount', '0.5'],
      ...['--destination', DESTINATIONS['sim-litecoin']],
    ],
    keep: ({ id }) => {
      made.payOut = id
    },
  },
  'fees cancel': { action: 'fees.cancel', args: () => [made.payOut] },
  'book-spend': { action: 'spend.book', args: () => ['sim-litecoin', UNKNOWN], fails: true },
  backup: { action: 'backup.make', args: () => [backup] },
  restore: { action: 'backup.restore', args: () => [backup], on: elsewhere },
  restored: { action: 'database.restored' },
  resume: {
    action: 'database.resume',
    before: () => db.query("update time_arrow set stopped = 'commits are missing', made_safe = true"),
  },
  rekey: {
    action: 'secret_key.rotate',
    on: async () => ({ db, env: { BECK_SECRET_KEY: KEYS[1], BECK_SECRET_KEY_ALSO: KEYS[0] } }),
  },
}

async function giveCapital(): Promise<void> {
  await fillTestWallets(db, { chains: ['sim-litecoin'], freshPerChain: 1 })
  await storeFeeRates(db, 'sim-litecoin', { rate: 10_000n, priorityRate: 100n })
  await db.transaction((tx) =>
    post(tx, {
      accountId: GATEWAY,
      chain: 'sim-litecoin',
      cause: testCause('capital'),
      transfers: [{ asset: 'LTC', debit: 'wallet', credit: 'capital', atoms: 1_00000000n }],
    }),
  )
}

const READING: Readonly<Record<string, () => readonly string[]>> = {
  // The first of them all: it gives acts their place in the chain.
  'audit verify': () => [],
  'audit list': () => [],
  'accounts list': () => [],
  'keys list': () => ['--account', made.account],
  'wallet show': () => [],
  'wallet allowed': () => [],
  'wallet approvers': () => ['list'],
  'users list': () => [],
  'alerts list': () => [],
  fees: () => [],
  reconcile: () => [],
  doctor: () => [],
  alive: () => [],
  drill: () => [backup],
}
/** The API records what they do, as a key's. */
const BY_A_KEY = ['listen', 'trigger', 'events', 'payments list', 'payments show', 'payments create']
/** It runs until it is told to end, and its log says so. */
const RUNNING = ['start']

test('every command that the help names is one that acts, one that reads, or one of a key', async () => {
  const named: string[] = []
  for (const name of await helpOf()) {
    const deeper = await helpOf(name)
    named.push(...(deeper.length > 0 ? deeper.map((each) => `${name} ${each}`) : [name]))
  }
  // A group that answers by itself too.
  const known = new Set([...Object.keys(ACTING), ...Object.keys(READING), ...BY_A_KEY, ...RUNNING])
  known.delete('fees')
  assert.deepEqual(named.toSorted(), [...known].toSorted())
})

const actsOf = async (on: Database) =>
  (
    await on.query<{ id: string; action: string; kind: string; actor: string; address: string }>(
      'select id, action, actor_kind as kind, actor_id as actor, address from audit_log order by id',
    )
  ).rows

async function runActing(command: string, acting: Acting): Promise<void> {
  await acting.before?.()
  const on = (await acting.on?.()) ?? { db, env: {} }
  const known = new Set((await actsOf(on.db).catch(() => [])).map(({ id }) => id))
  const answer = await beck([...command.split(' '), ...(acting.args?.() ?? [])], on.env)
  if (acting.fails) assert.ok(answer.error)
  else assert.equal(answer.error, undefined, JSON.stringify(answer))
  acting.keep?.(answer)
  const acts = (await actsOf(on.db)).filter(({ id, kind }) => !known.has(id) && kind === 'cli')
  const told = acts.filter(({ action }) => action === acting.action)
  assert.equal(told.length, 1, `${command} left ${JSON.stringify(acts)}`)
  const { actor, address } = told[0] ?? assert.fail()
  assert.deepEqual([actor, address], [process.env.SUDO_USER ?? userInfo().username, '203.0.113.9'])
}

for (const [command, acting] of Object.entries(ACTING))
  if (command !== 'rekey')
    test(`beck ${command} leaves ${acting.action}, with who and from where`, () => runActing(command, acting))

test('beck users reset --factors takes away all that somebody signs in with; disable, the links he made', async () => {
  const email = 'carl@example.com'
  const { id, invited } = await db.transaction(async (tx) => {
    const user = await insertUser(tx, { email, name: 'Carl', passwordHash: 'x', isOperator: true })
    const { id } = user ?? assert.fail()
    const passkey = { userId: id, credentialId: Buffer.from('carl'), publicKey: Buffer.from('key') }
    await insertPasskey(tx, { ...passkey, counter: 0n, transports: [], name: 'Lost' })
    await replaceRecoveryCodes(tx, id, [Buffer.alloc(32, 1)])
    await tx.query(
      'insert into totp (user_id, secret_sealed, confirmed_at, begun_by) values ($1, $2, now(), $1)',
      [id, Buffer.from('secret')],
    )
    await insertSession(tx, { userId: id, factor: 'totp', isSteppedUp: true, address: '::1', agent: '' })
    await tx.query(
      `insert into pinned_approvers (account_id, user_id, credential_id, name, fingerprint, pinned_at, counts_from)
       values ($1, $2, $3, 'Carl', '0123 4567', now(), now())`,
      [readId('acct', made.account), id, Buffer.from('carl')],
    )
    const draft = { kind: 'invite', email: 'dan@example.com', makesOperator: true, invitedBy: id } as const
    return { id, invited: (await insertInvitation(tx, draft)).id }
  })
  const answer = await beck(['users', 'reset', email, '--factors'])
  assert.match(answer.link, /\/dashboard\/join\//)
  assert.deepEqual(answer.pinned_approvers, ['0123 4567'])
  for (const table of ['passkeys', 'totp', 'recovery_codes', 'sessions'])
    assert.deepEqual((await db.query(`select 1 from ${table} where user_id = $1`, [id])).rows, [], table)
  assert.equal((await findUser(db, id))?.passwordHash, null)
  assert.deepEqual((await actsOf(db)).at(-1)?.action, 'factors.reset')
  const open = async () =>
    (await db.query('select 1 from invitations where id = $1 and used_at is null', [invited])).rows.length
  assert.equal(await open(), 1)
  await beck(['users', 'disable', email])
  assert.equal(await open(), 0)
})

/** Every row of every table. */
async function snapshot(): Promise<Readonly<Record<string, string>>> {
  const { rows: tables } = await db.query<{ name: string }>(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by 1",
  )
  const { rows } = await db.query<{ name: string; rows: string }>(
    tables
      .map(
        ({ name }) =>
          `select '${name}' as name, md5(string_agg(t::text, ' ' order by t::text)) as rows from ${name} t`,
      )
      .join(' union all '),
  )
  return Object.fromEntries(rows.map(({ name, rows }) => [name, rows]))
}

test('a command that reads changes no row', async () => {
  await beck(['audit', 'verify'])
  for (const [command, args] of Object.entries(READING)) {
    const before = await snapshot()
    await beck([...command.split(' '), ...args()])
    assert.deepEqual(await snapshot(), before, command)
  }
})

test('beck rekey leaves secret_key.rotate', () => runActing('rekey', ACTING.rekey ?? assert.fail()))
