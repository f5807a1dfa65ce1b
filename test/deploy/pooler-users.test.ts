/** The users of the pooler as docs/high-availability.md makes them: who has a line comes in with his password, and nobody else. */
import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { freePort, startCluster } from '../../src/db/embedded/embedded.ts'
import { blocksOf } from '../install/guide.ts'
import { spawnPooler } from '../pooler.ts'

const guide = await readFile('docs/high-availability.md', 'utf8')
const blocks = blocksOf(
  guide.slice(guide.indexOf("\n## The database's three machines"), guide.indexOf('The cluster must have')),
)

test('the lines that the guide prints on the primary open the pooler, each to its user alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-pooler-users-'))
  const cluster = await startCluster({ dataDir: folder, settings: ['fsync=off'] })
  after(async () => {
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  })
  await chmod(folder, 0o711)
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  after(() => admin.close())
  // As roles.sql, which has a test of its own.
  await admin.query(
    `create role beck_owner login password 'of-owner'; create role beck_api login password 'of-api';
     create role beck_keys login password 'of-keys'`,
  )
  await admin.query('create database beck owner beck_owner')
  const [made = '', printed = '', placed = ''] = blocks
  assert.match(made, /--file deploy\/postgres\/roles\.sql/)
  // As the shell reads what stands in double quotes.
  const select =
    /--command \\\n +"(.*)"\n/s.exec(printed)?.[1]?.replaceAll('\\"', '"') ?? assert.fail(printed)
  const { rows } = await admin.query<{ format: string }>(select)
  const lines = rows.map(({ format }) => format)
  assert.equal(lines.length, 3)
  for (const line of lines) assert.match(line, /^"beck_\w+" "SCRAM-SHA-256\$[^"]+"$/)

  const [, mode = '', list = ''] = /--mode=(\d+) \/dev\/null (\S+)/.exec(placed) ?? assert.fail(placed)
  assert.equal(mode, '0600')
  const ini = await readFile('deploy/high-availability/pgbouncer.ini', 'utf8')
  assert.ok(ini.includes(`auth_file = ${list}\n`))
  const users = join(folder, 'userlist.txt')
  await writeFile(users, `${lines.filter((line) => line.includes('beck_api')).join('\n')}\n`)
  await chmod(users, 0o644)
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const { host } = new URL(cluster.url('beck'))
  const [, primary = ''] = /:(\d+)$/.exec(host) ?? []
  await writeFile(
    file,
    ini
      .replace('port=5000', `port=${primary}`)
      .replace('listen_port = 6432', `listen_port = ${port}`)
      .replace(list, users),
    { mode: 0o644 },
  )
  const { stop } = await spawnPooler(file, port)
  after(stop)
  const asks = async (user: string, password: string) => {
    const db = openDatabase({
      url: `postgres://${user}:${password}@127.0.0.1:${port}/beck`,
      connectionsMax: 1,
    })
    try {
      return (await db.query<{ who: string }>('select current_user as who')).rows[0]?.who
    } finally {
      await db.close()
    }
  }
  assert.equal(await asks('beck_api', 'of-api'), 'beck_api')
  await assert.rejects(asks('beck_api', 'of-keys'))
  await assert.rejects(asks('beck_owner', 'of-owner'))
})
