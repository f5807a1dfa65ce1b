/**
 * Who may do what to which table. The schema's owner migrates it and is used by the command line; the server and the signer
 * are roles of their own, so that who takes one of them over has what that one needs and no more (`rights.ts`).
 */
import { createHash } from 'node:crypto'
import { unavailable } from '../core/errors.ts'
import { isOlder, VERSION } from '../core/version.ts'
import { type Migration, ranBeyond } from './applied-migrations.ts'
import type { Database, Queryable, Tx } from './database.ts'
import { type Rights, SERVER_RIGHTS, SIGNER_RIGHTS } from './rights.ts'

/** Roles that log nobody in: operators put their own users into them, the embedded database has one for each. */
export const SERVER_ROLE = 'beck_server'
export const SIGNER_ROLE = 'beck_signer'

const MARK_SQL = `obj_description('schema_migrations'::regclass, 'pg_class')`

/** Stands on `schema_migrations`: which Beck gave what, on which tables. */
function markOf(known: readonly Migration[]): string {
  const given = JSON.stringify([SERVER_RIGHTS, SIGNER_RIGHTS, known.map(({ name }) => name)])
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
      ...grant(table, SERVER_ROLE, SERVER_RIGHTS[table] ?? []),
      ...grant(table, SIGNER_ROLE, SIGNER_RIGHTS[table] ?? []),
    ]),
  ].join(';\n')

const grant = (table: string, role: string, rights: Rights): string[] =>
  rights.length === 0 ? [] : [`grant ${rights.join(', ')} on ${table} to ${role}`]

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
  throw unavailable(
    'unseen_transactions',
    `the user of DATABASE_URL may not see which transactions of others run; as a superuser of PostgreSQL: grant pg_read_all_stats to ${SERVER_ROLE}`,
  )
}
