/**
 * Who may do what to which table. The schema's owner migrates it and is used by the command line; the server and the signer
 * are roles of their own, so that who takes one of them over has what that one needs and no more.
 *
 * A table that is not named here is the server's alone, all of it.
 */
import { createHash } from 'node:crypto'
import { Refusal } from '../core/errors.ts'
import { isOlder, VERSION } from '../core/version.ts'
import { type Migration, ranBeyond } from './applied-migrations.ts'
import type { Database, Queryable, Tx } from './database.ts'

/** Roles that log nobody in: operators put their own users into them, the embedded database has one for each. */
export const SERVER_ROLE = 'beck_server'
export const SIGNER_ROLE = 'beck_signer'

type Privileges = readonly string[]
const READ: Privileges = ['select']
/** Rows that are never changed: the ledger's history is among them. */
const ADD: Privileges = ['select', 'insert']
const WRITE: Privileges = ['select', 'insert', 'update']
const ALL: Privileges = ['select', 'insert', 'update', 'delete']

/** Where the server may do less than anything. */
const SERVER: Readonly<Record<string, Privileges>> = {
  accounts: WRITE,
  api_keys: WRITE,
  audit_log: ['select', 'insert', 'update (place, mac)'],
  addresses: WRITE,
  payments: WRITE,
  customers: WRITE,
  deposits: WRITE,
  journal_entries: ADD,
  transfers: ADD,
  balances: WRITE,
  withdrawals: WRITE,
  alerts: ALL,
  // Only the operator's command lifts one.
  freezes: ADD,
  // Who approved what is kept for good, by the signer's log too; an answer gives way to the same person's new one.
  approvals: [
    'select',
    'insert',
    'update (credential_id, authenticator_data, client_data, signature, created_at, verdict)',
  ],
  // The signer's.
  pinned_approvers: ['select', 'update (told_at)'],
  approval_policies: READ,
  allowed_addresses: READ,
  wallets: READ,
  signed_payouts: READ,
  signed_transactions: ['select', 'update'],
  nonces: ALL,
  time_arrow: WRITE,
  sandbox_seed: [],
  secret_keys: ADD,
  schema_migrations: READ,
}

const SIGNER: Readonly<Record<string, Privileges>> = {
  wallets: WRITE,
  signed_transactions: WRITE,
  signed_payouts: ADD,
  nonces: WRITE,
  sandbox_seed: ADD,
  sweeps: ALL,
  sweep_delegates: WRITE,
  utxos: WRITE,
  // What it refuses; where it goes and how much it is stands under a MAC.
  withdrawals: ['select', 'update'],
  approval_requests: ['select', 'update (status, refused_reason, decided_at)'],
  approvals: ['select', 'update (verdict)'],
  payout_batches: READ,
  pinned_approvers: ALL,
  approval_policies: ALL,
  allowed_addresses: ALL,
  // Whose passkey a fingerprint is, and which of its accounts are live.
  accounts: ['select (id, mode, name)'],
  merchants: ['select (id, name, live_account_id, test_account_id)'],
  members: READ,
  users: ['select (id, email, name, disabled_at)'],
  passkeys: ['select (user_id, credential_id, public_key)'],
  alerts: WRITE,
  account_balances: READ,
  addresses: READ,
  chains: READ,
  time_arrow: WRITE,
  running_roles: ALL,
  fee_rates: READ,
  freezes: READ,
  journal_entries: READ,
  transfers: READ,
  schema_migrations: READ,
}

const MARK_SQL = `obj_description('schema_migrations'::regclass, 'pg_class')`

/** Stands on `schema_migrations`: which Beck gave what, on which tables. */
function markOf(known: readonly Migration[]): string {
  const given = JSON.stringify([SERVER, SIGNER, known.map(({ name }) => name)])
  return `grants ${VERSION} ${createHash('sha256').update(given).digest('hex').slice(0, 16)}`
}

/**
 * Makes the roles where this user may, and gives each what it needs. Where the roles are not there and may not be made,
 * nothing happens: then one user does everything, as the guide says. What a newer Beck gave stays, for this one does not
 * know whose its tables are.
 *
 * @param known - The migrations of this Beck, all of which ran.
 */
export async function grantRoles(db: Database, known: readonly Migration[]): Promise<void> {
  const { rows } = await db.query<{
    mark: string | null
    is_owner: boolean
    is_super: boolean
    may_make: boolean
    roles: bigint
  }>(
    `select ${MARK_SQL} as mark, rolsuper as is_super, rolsuper or rolcreaterole as may_make,
       (select pg_has_role(relowner, 'usage') from pg_class where oid = 'schema_migrations'::regclass) as is_owner,
       (select count(*) from pg_roles where rolname in ($1, $2)) as roles
     from pg_roles where rolname = current_user`,
    [SERVER_ROLE, SIGNER_ROLE],
  )
  const [now] = rows
  const mark = markOf(known)
  if (!now?.is_owner || now.mark === mark || (now.roles < 2n && !now.may_make)) return
  await db.transaction(async (tx) => {
    await tx.query('lock table schema_migrations in share row exclusive mode')
    if ((await isNewersMark(tx)) || (await ranBeyond(tx, known))) return
    if (now.roles < 2n) for (const role of [SERVER_ROLE, SIGNER_ROLE]) await makeRole(tx, role)
    if (now.is_super) await tx.query(`grant pg_read_all_stats to ${SERVER_ROLE}`)
    await tx.query(grantsOf(await listTables(tx)))
    await tx.query(`comment on table schema_migrations is '${mark}'`)
  })
}

async function isNewersMark(tx: Tx): Promise<boolean> {
  const { rows } = await tx.query<{ mark: string | null }>(`select ${MARK_SQL} as mark`)
  const version = /^grants (\d+\.\d+\.\d+) /.exec(rows[0]?.mark ?? '')?.[1]
  return version !== undefined && isOlder(VERSION, version)
}

/** Roles are the cluster's: another database may be making them at this moment. */
const makeRole = (tx: Tx, role: string) =>
  tx.query(
    `do $$ begin create role ${role} nologin; exception when duplicate_object or unique_violation then null; end $$`,
  )

async function listTables(tx: Tx): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by relname`,
  )
  return rows.map(({ name }) => name)
}

const grantsOf = (tables: readonly string[]): string =>
  [
    `do $$ begin execute format('grant usage on schema %I to ${SERVER_ROLE}, ${SIGNER_ROLE}', current_schema()); end $$`,
    ...tables.flatMap((table) => [
      `revoke all on ${table} from ${SERVER_ROLE}, ${SIGNER_ROLE}`,
      ...grant(table, SERVER_ROLE, SERVER[table] ?? ALL),
      ...grant(table, SIGNER_ROLE, SIGNER[table] ?? []),
    ]),
  ].join(';\n')

const grant = (table: string, role: string, privileges: Privileges): string[] =>
  privileges.length === 0 ? [] : [`grant ${privileges.join(', ')} on ${table} to ${role}`]

/**
 * Proofs and replays ask which transactions still run, the signer's and the command line's too. A user who may not see
 * theirs would take what they are about to write for missing.
 *
 * @throws {Refusal} `unseen_transactions`.
 */
export async function requireSight(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ sees: boolean }>(
    `select pg_has_role(current_user, 'pg_read_all_stats', 'usage')
       or (select pg_has_role(relowner, 'usage') from pg_class where oid = 'schema_migrations'::regclass) as sees`,
  )
  if (rows[0]?.sees) return
  throw new Refusal(
    'unavailable',
    'unseen_transactions',
    `the user of DATABASE_URL may not see which transactions of others run; as a superuser of PostgreSQL: grant pg_read_all_stats to ${SERVER_ROLE}`,
  )
}
