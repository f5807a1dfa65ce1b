/** SECURITY.md's table of what a writer of the database can do, and the changes that he can make to a column. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { newId } from '../src/core/ids.ts'
import type { Queryable } from '../src/db/database.ts'

const OUTCOMES = ['refused', 'frozen', 'told', 'obeyed', 'service'] as const
export type Outcome = (typeof OUTCOMES)[number]

export interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly isNullable: boolean
}

/** What SECURITY.md says of each column of the schema. @throws When one is not named, or named twice, or not there. */
export async function readPromises(db: Queryable): Promise<Map<string, Outcome>> {
  const columns = await listColumns(db)
  const text = await readFile('SECURITY.md', 'utf8')
  const section = text.split('## What a writer of the database can do')[1]?.split('\n## ')[0] ?? assert.fail()
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  const promised = new Map<string, Outcome>()
  const rests: { readonly table: string; readonly outcome: Outcome }[] = []
  const promise = (table: string, name: string, outcome: Outcome) => {
    const column = `${table}.${name}`
    assert.ok(
      columns.some((each) => each.table === table && each.name === name),
      `SECURITY.md names ${column}, which is not there`,
    )
    assert.ok(!promised.has(column), `SECURITY.md names ${column} twice`)
    promised.set(column, outcome)
  }
  const names = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  for (const row of rows) {
    const [, tables = '', cell = '', word = ''] = row.split('|').map((part) => part.trim())
    const outcome = OUTCOMES.find((each) => each === word) ?? assert.fail(`${row}: "${word}" is no outcome`)
    for (const table of names(tables))
      if (cell === 'all' || cell === 'the rest') rests.push({ table, outcome })
      else for (const name of names(cell)) promise(table, name, outcome)
  }
  for (const { table, outcome } of rests)
    for (const { name } of columns.filter(
      (each) => each.table === table && !promised.has(`${table}.${each.name}`),
    ))
      promise(table, name, outcome)
  const missing = columns
    .map(({ table, name }) => `${table}.${name}`)
    .filter((column) => !promised.has(column))
  assert.deepEqual(missing, [], 'every column of the schema has a row in SECURITY.md')
  return promised
}

export async function listColumns(db: Queryable): Promise<Column[]> {
  const { rows } = await db.query<Column>(
    `select c.table_name as table, c.column_name as name, c.data_type as type, c.is_nullable = 'YES' as "isNullable"
     from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' order by c.table_name, c.ordinal_position`,
  )
  return rows
}

export interface Thief {
  readonly account: string
  readonly payment: string
  /** Where he would like to be paid. */
  readonly address: string
}

/** SQL expressions that somebody might put into a column: for himself, far too much, nothing, another state. */
export async function wishes(db: Queryable, column: Column, thief: Thief): Promise<string[]> {
  const { name, type, isNullable } = column
  const none = isNullable ? ['null'] : []
  if (name === 'account_id') return [`'${thief.account}'::uuid`, ...none]
  if (name === 'payment_id') return [`'${thief.payment}'::uuid`, ...none]
  switch (type) {
    case 'numeric':
    case 'bigint':
    case 'integer':
    case 'smallint':
      return [`${name} * 10 + 1`, `${name} + 1`, '0', ...none]
    case 'boolean':
      return [`not ${name}`]
    case 'uuid':
      return ['gen_random_uuid()', ...none]
    case 'bytea':
      return [`sha256('guess')`, ...none]
    case 'timestamp with time zone':
      return [`now() + interval '1 year'`, `now() - interval '1 year'`, ...none]
    case 'date':
      return [`${name} + 1`]
    case 'json':
    case 'jsonb':
      return [`'[]'`, `'{"his":true}'`]
    case 'ARRAY':
      return [`'{}'`, `'{*}'`]
    case 'text': {
      const states = await statesOf(db, column)
      const own = /address|destination|lookup/.test(name) ? [`'${thief.address}'`] : []
      return [...states.map((state) => `'${state}'`), ...own, `'his'`, ...none]
    }
    default:
      return assert.fail(`nobody said what somebody might put into ${column.table}.${name}, a ${type}`)
  }
}

/** What the constraints let a text be, where they name it. */
async function statesOf(db: Queryable, { table, name }: Column): Promise<string[]> {
  const { rows } = await db.query<{ text: string }>(
    `select pg_get_constraintdef(oid) as text from pg_constraint where conrelid = $1::regclass and contype = 'c'`,
    [table],
  )
  const known = rows.flatMap(({ text }) => {
    const found = new RegExp(`\\(+${name} = ANY \\(ARRAY\\[(.*?)\\]\\)`).exec(text)
    return found ? [...(found[1] ?? '').matchAll(/'([^']+)'/g)].map(([, state = '']) => state) : []
  })
  return [...new Set(known)]
}

/** What a person signs in with, a mail that waits, and a batch with its request and an approval. */
export async function fillPeople(db: Queryable, account: string, user: string, chain: string): Promise<void> {
  const of = async (text: string, ...values: unknown[]) => db.query(text, values)
  await of(
    `insert into passkeys (user_id, id, credential_id, public_key, counter, name)
     values ($1, gen_random_uuid(), $2, '\\x00', 0, 'x')`,
    user,
    randomBytes(16),
  )
  await of(`insert into totp (user_id, secret_sealed, begun_by) values ($1, '\\x00', $1)`, user)
  await of('insert into recovery_codes (user_id, code_hash) values ($1, $2)', user, randomBytes(32))
  await of(
    `insert into mails (id, cause, recipient, kind, content_sealed, expires_at)
     values (gen_random_uuid(), 'x', 'a@example.com', 'notice', '\\x00', now() + interval '1 day')`,
  )
  const batch = newId('wd')
  await of(
    `insert into payout_batches (account_id, id, chain, size, name, asked_by) values ($1, $2, $3, 1, 'x', 'unknown')`,
    account,
    batch,
    chain,
  )
  await of(
    `insert into approval_requests (account_id, id, act, batch_id, asked_by, needed, valid_until, status, decided_at)
     values ($1, $2, 'batch', $2, 'unknown', 1, now(), 'expired', now())`,
    account,
    batch,
  )
  await of(
    `insert into approvals (account_id, request_id, user_id, credential_id, authenticator_data, client_data, signature)
     values ($1, $2, $3, '\\x00', '\\x00', '\\x00', '\\x00')`,
    account,
    batch,
    user,
  )
}

/** @throws What no worker expects of tampered rows: only refusals, and what a constraint forbids. */
export function requireKnown(error: unknown): void {
  const { name } = error as Error
  const { code } = (error as { cause?: { code?: string } }).cause ?? (error as { code?: string })
  if (/^(Refusal|InvariantBroken|OutsideFailure|StaleLease)$/.test(name) || code?.startsWith('23')) return
  throw error
}

/** In which this shop has no rows, or the database lets nobody change one: here nothing is shown of them. */
export const WITHOUT_ROWS: readonly string[] = [
  'account_balances',
  'account_logos',
  'address_spends',
  'alerts',
  'allowed_addresses',
  'api_requests',
  'audit_log',
  'approval_policies',
  'closed_days',
  'customer_counts',
  'customers',
  'daily_balances',
  'daily_payments',
  'daily_rates',
  'delivery_attempts',
  'delivery_totals',
  'freezes',
  'gas_funding',
  'invitations',
  'members',
  'merchants',
  'nonces',
  'notes',
  'payment_changes',
  'payment_grid_counts',
  'payment_grids',
  'payment_ranks',
  'payment_rungs',
  'pinned_approvers',
  'proof_sums',
  'proven_rows',
  'running_roles',
  'sandbox_seed',
  'saved_views',
  'secret_keys',
  'sign_in_challenges',
  'sign_in_failures',
  'sign_on_identities',
  'signed_payouts',
  'sim_balances',
  'sim_chains',
  'sim_claims',
  'sim_transactions',
  'sweep_delegates',
  'sweeps',
  'swept_tokens',
  'time_arrow',
  'unexpected_deposits',
]
