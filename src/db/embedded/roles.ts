/**
 * Who uses the embedded cluster. Its superuser makes roles and a database, and nothing else: to him SQL is code, which can
 * read this machine's files and run its programs. Beck's own roles can do nothing but what their tables are for.
 */
import { randomBytes } from 'node:crypto'
import { openDatabase, type Queryable, type Tx } from '../database.ts'
import { SERVER_ROLE, SIGNER_ROLE } from '../grants.ts'

export const DATABASE = 'beck'
/**
 * What `initdb` makes, empty, for whoever comes. It becomes Beck's own: to make another takes a tenth of a first start. Its number
 * stays what it is in every cluster, which pg_upgrade, not used here, would stop at.
 */
const SPARE = 'postgres'
/** Every cluster has it. */
export const TEMPLATE = 'template1'
export const OWNER = 'beck_owner'
export const USERS = { owner: OWNER, server: 'beck_server_user', signer: 'beck_signer_user' } as const
export type User = keyof typeof USERS
export type Passwords = Readonly<Record<User, string>>

export const newPasswords = (): Passwords => {
  const password = () => randomBytes(24).toString('hex')
  return { owner: password(), server: password(), signer: password() }
}

/** Nothing of these is a right: `create role` would not give them either; said so that nobody has to look it up. */
const PLAIN = 'nosuperuser nocreatedb nocreaterole noreplication nobypassrls'

/**
 * Makes Beck's roles, and its database of the cluster's spare one, in one commit: the disk is waited for once. Does what is
 * missing of it, since a start that was cut off between the commit and its own note of it begins anew.
 *
 * @param urlOf - Of a database, as the superuser.
 */
export async function makeRoles(urlOf: (database: string) => string, passwords: Passwords): Promise<void> {
  // A database that somebody is in gets no other name.
  const admin = openDatabase({ url: urlOf(TEMPLATE), connectionsMax: 1, applicationName: 'beck-roles' })
  try {
    const isMade = (await databasesOf(admin)).includes(DATABASE)
    const isSpare = !isMade && (await isEmpty(urlOf(SPARE)))
    // Whoever used the cluster without roles keeps what he has where it is.
    if (!isMade && !isSpare) await admin.query(`create database ${DATABASE}`)
    await admin.transaction(async (tx) => {
      for (const group of [SERVER_ROLE, SIGNER_ROLE]) await makeRole(tx, group, `nologin ${PLAIN}`)
      for (const [user, name] of Object.entries(USERS) as [User, string][])
        await makeRole(tx, name, `login ${PLAIN} password '${passwords[user]}'`)
      await tx.query(`grant ${SERVER_ROLE} to ${USERS.server}`)
      await tx.query(`grant ${SIGNER_ROLE} to ${USERS.signer}`)
      // Proofs and replays ask which transactions still run, whoever's they are.
      await tx.query(`grant pg_read_all_stats to ${OWNER}, ${SERVER_ROLE}`)
      if (isSpare) await tx.query(`alter database ${SPARE} rename to ${DATABASE}`)
      await tx.query(`alter database ${DATABASE} owner to ${OWNER}`)
      await tx.query(`comment on database ${DATABASE} is null`)
      await tx.query(`revoke all on database ${(await databasesOf(tx)).join(', ')} from public`)
      await tx.query(`grant connect on database ${DATABASE} to ${USERS.server}, ${USERS.signer}`)
    })
  } finally {
    await admin.close()
  }
}

/** Of Beck's, the spare one and the template those that are there. */
async function databasesOf(admin: Queryable): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>(
    'select datname as name from pg_database where datname = any($1)',
    [[DATABASE, SPARE, TEMPLATE]],
  )
  return rows.map(({ name }) => name)
}

/** Whether nobody ever made anything in a database: its first own object has the number 16384. */
async function isEmpty(url: string): Promise<boolean> {
  const db = openDatabase({ url, connectionsMax: 1, applicationName: 'beck-roles' })
  try {
    return (await db.query('select from pg_class where oid >= 16384 limit 1')).rowCount === 0
  } finally {
    await db.close()
  }
}

async function makeRole(admin: Tx, name: string, attributes: string): Promise<void> {
  const { rowCount } = await admin.query('select from pg_roles where rolname = $1', [name])
  await admin.query(`${rowCount > 0 ? 'alter' : 'create'} role ${name} ${attributes}`)
}
