/** To a superuser SQL is code. Beck's own users of the embedded database reach their tables and nothing of the machine. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { withDatabase } from '../../../test/database.ts'
import { readConfig } from '../../config/config.ts'
import { openStore } from '../../config/store.ts'
import { SILENT } from '../../core/log.ts'
import { type Cluster, startCluster } from './embedded.ts'
import { DATABASE, makeRoles, newPasswords, TEMPLATE, type User } from './roles.ts'

const settings = ['fsync=off']
const dataDir = await mkdtemp(join(tmpdir(), 'beck-roles-'))
const cluster: Cluster = await startCluster({ dataDir, settings, roles: true })
after(async () => {
  await cluster.stop()
  await rm(dataDir, { recursive: true, force: true })
})
const users: readonly User[] = ['owner', 'server', 'signer']
const { migrate } = await import('../migrate.ts')
await withDatabase(cluster.urlAs('owner'), migrate)

const ask = async (url: string, statement: string) =>
  (await withDatabase(url, (db) => db.query(statement))).rows

/** What turns a statement into the server's files and programs, or into somebody who may. */
const ATTACKS: Readonly<Record<string, string>> = {
  'reads a file': `select pg_read_file('${join(dataDir, 'secret.key')}')`,
  'reads a file of the cluster': `select pg_read_file('PG_VERSION')`,
  'lists a folder': `select pg_ls_dir('/')`,
  'copies a file into a table': `create temp table t (x text); copy t from '/etc/passwd'`,
  'runs a program': `create temp table t (x text); copy t from program 'cat /proc/self/environ'`,
  'writes by a program': `copy (select 1) to program 'cat > /tmp/his'`,
  'writes a file': `copy (select 1) to '/tmp/his'`,
  'imports a file as a large object': `select lo_import('/etc/passwd')`,
  'writes a language of its own': 'create language plpython3u',
  'loads a library': `load '/tmp/his.so'`,
  'changes the server': `alter system set archive_command = 'touch /tmp/his'`,
  'makes itself a superuser': 'alter role current_user superuser',
  'becomes the superuser': 'set role beck',
  'makes a role': 'create role his superuser login',
  'takes the right to read files': 'grant pg_read_server_files to current_user',
  'takes the right to run programs': 'grant pg_execute_server_program to current_user',
  'reads passwords': 'select rolpassword from pg_authid',
}

for (const user of users)
  for (const [what, statement] of Object.entries(ATTACKS))
    test(`the ${user}'s SQL that ${what} is refused`, async () => {
      await assert.rejects(
        withDatabase(cluster.urlAs(user), (db) => db.query(statement)),
        /permission denied|must be|must have|Only roles|access to library/,
      )
    })

test('nobody but the superuser gets into another database of the cluster', async () => {
  for (const user of users) {
    const url = new URL(cluster.urlAs(user))
    url.pathname = `/${TEMPLATE}`
    await assert.rejects(ask(url.toString(), 'select 1'), /permission denied for database/)
  }
})

test('Beck’s database is the only one of the cluster', async () => {
  const rows = await ask(
    cluster.url(TEMPLATE),
    `select datname as name, pg_get_userbyid(datdba) as owner from pg_database where not datistemplate`,
  )
  assert.deepEqual(rows, [{ name: DATABASE, owner: 'beck_owner' }])
})

test('roles that were made may be made again, with the passwords of now', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-roles-again-'))
  const again = await startCluster({ dataDir: folder, settings, roles: true })
  after(async () => {
    await again.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const passwords = newPasswords()
  await makeRoles(again.url, passwords)
  for (const user of users) {
    const url = new URL(again.urlAs(user))
    await assert.rejects(ask(url.toString(), 'select 1'), /password authentication failed/)
    url.password = passwords[user]
    assert.equal((await ask(url.toString(), 'select 1')).length, 1)
  }
})

test('what lies in a cluster that was begun without roles stays where it is, and Beck’s database is made beside it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-roles-late-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const before = await startCluster({ dataDir: folder, settings })
  await ask(before.url('postgres'), 'create table kept as select 1 as x')
  await before.stop()

  const late = await startCluster({ dataDir: folder, settings, roles: true })
  try {
    assert.deepEqual(await ask(late.url('postgres'), 'select x from kept'), [{ x: 1 }])
    assert.deepEqual(await ask(late.urlAs('owner'), `select to_regclass('kept') as kept`), [{ kept: null }])
    const url = new URL(late.urlAs('server'))
    url.pathname = '/postgres'
    await assert.rejects(ask(url.toString(), 'select 1'), /permission denied for database/)
  } finally {
    await late.stop()
  }
})

test('a server works with the server’s user, its signer with the signer’s, and a command as the owner', async () => {
  const home = await mkdtemp(join(tmpdir(), 'beck-roles-store-'))
  after(() => rm(home, { recursive: true, force: true }))
  const config = readConfig({ BECK_DATA_DIR: home })
  const server = await openStore(config, SILENT, 'server')
  assert.ok((await server.migrate()).length > 0)
  const whoIs = async (db: { query: typeof server.db.query }) =>
    (
      await db.query<{ who: string; super: boolean }>(
        'select current_user as who, rolsuper as super from pg_roles where rolname = current_user',
      )
    ).rows[0]
  assert.deepEqual(await whoIs(server.db), { who: 'beck_server_user', super: false })
  assert.match(server.signerUrl, /\/\/beck_signer_user:/)
  const tool = await openStore(config, SILENT, 'tool')
  assert.deepEqual(await whoIs(tool.db), { who: 'beck_owner', super: false })
  await assert.rejects(server.db.query('create table his (x int)'), { code: '42501' })
  const access = JSON.parse(await readFile(join(home, 'database.json'), 'utf8'))
  for (const password of Object.values<string>(access.passwords)) assert.ok(password.length >= 48)
  await tool.close()
  await server.close()
})
