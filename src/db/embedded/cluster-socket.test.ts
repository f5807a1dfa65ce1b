/** Beck asks its own PostgreSQL over a socket that nobody else can reach, and over loopback where there is none. */
import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { withDatabase } from '../../../test/database.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { openDatabase } from '../database.ts'
import { borrowCluster, type Cluster, startCluster } from './embedded.ts'
import { DATABASE } from './roles.ts'

const settings = ['fsync=off', 'shared_buffers=16MB']

const folder = await mkdtemp(join(tmpdir(), 'beck-sockets-'))
// PostgreSQL's user passes through.
await chmod(folder, 0o711)
const clusters: Cluster[] = []
after(async () => {
  await Promise.all(clusters.map((each) => each.stop()))
  await rm(folder, { recursive: true, force: true })
})

async function start(dataDir: string): Promise<Cluster> {
  const cluster = await startCluster({ dataDir, settings, roles: true })
  clusters.push(cluster)
  return cluster
}

const dataDir = join(folder, `a, "b" 10%20 é+`)
const cluster = await start(dataDir)

async function comesOver(url: string): Promise<string> {
  const asked = `select coalesce(host(inet_client_addr()), 'the socket') as way`
  const { rows } = await withDatabase(url, (db) => db.query<{ way: string }>(asked))
  return rows[0]?.way ?? ''
}

test('the users of Beck come over the socket, with their passwords; the superuser over loopback', async () => {
  for (const user of ['owner', 'server', 'signer'] as const)
    assert.equal(await comesOver(cluster.urlAs(user)), 'the socket')
  const wrong = new URL(cluster.urlAs('server'))
  wrong.password = 'wrong'
  await assert.rejects(comesOver(wrong.toString()), /its socket in .* does not let Beck in \(password/)
  assert.equal(await comesOver(cluster.url(DATABASE)), '127.0.0.1')
})

test('the socket is where only the owner of the cluster can come', async () => {
  const pgData = await realpath(join(dataDir, 'pg'))
  assert.ok((await readdir(pgData)).some((name) => name.startsWith('.s.PGSQL.')))
  assert.equal((await stat(pgData)).mode & 0o777, 0o700)
})

test('a tool that joins the server comes over the socket too, by the way on which it finds the cluster', async () => {
  const joined = await borrowCluster({ dataDir, settings })
  assert.equal(joined.urlAs('owner'), cluster.urlAs('owner'))
  await joined.stop()

  const moved = join(folder, 'moved')
  await rename(dataDir, moved)
  const there = await borrowCluster({ dataDir: moved, settings })
  assert.equal(await comesOver(there.urlAs('owner')), 'the socket')
  await there.stop()
  await rename(moved, dataDir)
})

test('a server that is killed comes back on its socket, and until then everything may be tried again', async () => {
  const db = openDatabase({ url: cluster.urlAs('server'), connectionsMax: 1 })
  const first = cluster.pid()
  assert.ok(first)
  process.kill(first, 'SIGKILL')
  await waitFor('it answers again', async () => {
    try {
      await db.query('select 1')
      await db.transaction((tx) => tx.query('select 1'))
      return (cluster.pid() !== null && cluster.pid() !== first) || null
    } catch (error) {
      assert.ok(error instanceof OutsideFailure && error.retryable, String(error))
      return null
    }
  })
  await db.close()
  assert.equal(await comesOver(cluster.urlAs('server')), 'the socket')
})

test('a folder whose path is too long for a socket is asked over loopback', async () => {
  const far = await start(join(folder, 'a-folder-with-a-long-name'.repeat(4)))
  assert.equal(await comesOver(far.urlAs('server')), '127.0.0.1')
})

test('where no socket can be made, PostgreSQL starts without one', async () => {
  const without = join(folder, 'without')
  await (await startCluster({ dataDir: without, settings, roles: true })).stop()
  // As on a disk that knows no sockets: something is in its place that nobody removes.
  const { port } = JSON.parse(await readFile(join(without, 'database.json'), 'utf8'))
  await mkdir(join(without, 'pg', `.s.PGSQL.${port}`))
  const own = await start(without)
  assert.equal(await comesOver(own.urlAs('server')), '127.0.0.1')
  assert.equal(new URL(own.urlAs('server')).port, String(port))
})
