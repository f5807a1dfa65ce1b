/**
 * Who uses the embedded cluster. Its superuser makes roles and a database, and nothing else: to him SQL is code, which can
 * read this machine's files and run its programs. Beck's own roles can do nothing but what their tables are for.
 */
import { randomBytes } from 'node:crypto'
import { openDatabase, type Tx } from '../database.ts'
import { SERVER_ROLE, SIGNER_ROLE } from '../grants.ts'

export const DATABASE = 'beck'
/** What `initdb` makes, empty, for whoever comes. It becomes Beck's own: to make another takes a tenth of a first start. */
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
 * In one commit, for each is waited for until the disk has it. May run again: who was ended right behind it does not know.
 *
 * @param url - Of the superuser, to {@link TEMPLATE}: a database that somebody is in gets no other name.
 */
export async function makeRoles(url: string, passwords: Passwords): Promise<void> {
  const admin = openDatabase({ url, connectionsMax: 1, applicationName: 'beck-roles' })
  try {
    await admin.transaction(async (tx) => {
      for (const group of [SERVER_ROLE, SIGNER_ROLE]) await makeRole(tx, group, `nologin ${PLAIN}`)
      for (const [user, name] of Object.entries(USERS) as [User, string][])
        await makeRole(tx, name, `login ${PLAIN} password '${passwords[user]}'`)
      await tx.query(`grant ${SERVER_ROLE} to ${USERS.server}`)
      await tx.query(`grant ${SIGNER_ROLE} to ${USERS.signer}`)
      // Proofs and replays ask which transactions still run, whoever's they are.
      await tx.query(`grant pg_read_all_stats to ${OWNER}, ${SERVER_ROLE}`)
      const { rowCount } = await tx.query('select from pg_database where datname = $1', [DATABASE])
      if (rowCount === 0) await tx.query(`alter database ${SPARE} rename to ${DATABASE}`)
      await tx.query(`alter database ${DATABASE} owner to ${OWNER}`)
      await tx.query(`comment on database ${DATABASE} is null`)
      await tx.query(`revoke all on database ${DATABASE}, ${TEMPLATE} from public`)
      await tx.query(`grant connect on database ${DATABASE} to ${USERS.server}, ${USERS.signer}`)
    })
  } finally {
    await admin.close()
  }
}

async function makeRole(admin: Tx, name: string, attributes: string): Promise<void> {
  const { rowCount } = await admin.query('select from pg_roles where rolname = $1', [name])
  await admin.query(`${rowCount > 0 ? 'alter' : 'create'} role ${name} ${attributes}`)
}
