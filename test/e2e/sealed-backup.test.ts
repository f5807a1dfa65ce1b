/** A backup that only its recipient can open, in one file or through a pipe, and the drill that says whether it would do. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { openDatabase } from '../../src/db/database.ts'
import { readBacklog } from '../../src/flows/operation/health.sql.ts'
import { testMerchant } from '../api.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { waitFor } from '../wait-for.ts'

const exec = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'beck-sealed-'))
after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))
const url = await testDatabaseUrl()
const settings = {
  DATABASE_URL: url,
  BECK_SECRET_KEY: randomBytes(32).toString('hex'),
  BECK_DATA_DIR: join(folder, 'data'),
}
const db = openDatabase({ url, connectionsMax: 2 })
after(() => db.close())
const { account } = await testMerchant(db, { name: 'A shop whose name is secret' })
await mkdir(join(folder, 'data/signer'), { recursive: true })
// Longer than a frame.
const journal = `${randomBytes(150_000).toString('hex')}\n`
await writeFile(join(folder, 'data/signer/journal'), journal)

const identity = join(folder, 'identity')
await exec('age-keygen', ['--output', identity])
const recipient = (await exec('age-keygen', ['-y', identity])).stdout.trim()
const other = join(folder, 'other-identity')
await exec('age-keygen', ['--output', other])

const beck = async (args: readonly string[], env: Record<string, string> = {}) => {
  const command = startBeckProcess(args, { ...settings, ...env })
  return { code: await command.ended, said: command.said[0] ?? {}, command }
}
const sealed = join(folder, 'backups', 'one.beck')

test('an encrypted backup shows nothing to who finds it, restores with its key alone, and is never left half', async () => {
  assert.equal((await readBacklog(db)).backupAgeMs, null)
  const made = await beck(['backup', sealed, '--recipient', recipient])
  assert.deepEqual([made.code, made.said.files], [0, ['database.jsonl.gz', 'journal']])
  assert.deepEqual(await readdir(join(folder, 'backups')), ['one.beck'])
  const bytes = await readFile(sealed)
  assert.match(bytes.toString('latin1'), /^age-encryption\.org/)
  assert.equal(bytes.indexOf(journal.slice(0, 40)), -1)
  assert.equal((await beck(['backup', sealed, '--recipient', recipient])).code, 1, 'nothing is overwritten')

  // To nobody's key, or with no program: nothing is kept.
  const failed = await beck(['backup', join(folder, 'backups', 'two.beck'), '--recipient', 'age1nobody'])
  assert.equal(failed.code, 1)
  await failed.command.complains('age ended with 1')
  const stranger = await beck([
    'backup',
    join(folder, 'backups', 'two.beck'),
    '--recipient',
    'ops@example.com',
  ])
  await stranger.command.complains('is no key of age')
  // Onto a disk that is full.
  await symlink('/dev/full', join(folder, 'backups', 'two.beck.part'))
  const full = await beck(['backup', join(folder, 'backups', 'two.beck'), '--recipient', recipient])
  assert.equal(full.code, 1)
  await full.command.complains('ENOSPC')
  // Monitoring is told of what is whole alone.
  const { rows: acts } = await db.query(`select subject from audit_log where action = 'backup.make'`)
  assert.deepEqual(acts, [{ subject: sealed }])
  const ageMs = (await readBacklog(db)).backupAgeMs
  assert.ok(ageMs !== null && ageMs < 600_000, String(ageMs))
  assert.deepEqual(await readdir(join(folder, 'backups')), ['one.beck'])

  const target = {
    DATABASE_URL: await testDatabaseUrl({ template: null }),
    BECK_DATA_DIR: join(folder, 'restored'),
  }
  const wrong = await beck(['restore', sealed, '--identity', other], target)
  assert.equal(wrong.code, 1)
  await wrong.command.complains('no identity matched')
  assert.equal((await beck(['restore', sealed, '--identity', identity], target)).code, 0)
  const restored = openDatabase({ url: target.DATABASE_URL, connectionsMax: 1 })
  const { rows } = await restored.query<{ name: string }>('select name from accounts where id = $1', [
    account.id,
  ])
  await restored.close()
  assert.equal(rows[0]?.name, account.name)
  assert.equal(await readFile(join(folder, 'restored/signer/journal'), 'utf8'), journal)
})

test('through a pipe it is the same, and one that was cut off is known as such', async () => {
  const { stdout } = await exec(process.execPath, ['src/cli/beck.ts', 'backup', '-'], {
    env: { PATH: process.env.PATH, ...settings },
    encoding: 'buffer',
    maxBuffer: 1 << 28,
  })
  const text = stdout.toString('latin1')
  assert.ok(text.startsWith('beck-backup-1\ndatabase.jsonl.gz ') && text.endsWith('end\n'))
  const whole = join(folder, 'whole.beck')
  await writeFile(whole, stdout)
  const target = {
    DATABASE_URL: await testDatabaseUrl({ template: null }),
    BECK_DATA_DIR: join(folder, 'piped'),
  }
  await exec('sh', ['-c', `exec "$0" src/cli/beck.ts restore - < "$1"`, process.execPath, whole], {
    env: { PATH: process.env.PATH, ...settings, ...target },
  })
  assert.equal(await readFile(join(folder, 'piped/signer/journal'), 'utf8'), journal)
  const cut = join(folder, 'cut.beck')
  await writeFile(cut, stdout.subarray(0, -4))
  const drilled = await beck(['drill', cut])
  assert.deepEqual([drilled.code, drilled.said.restores], [1, false])
  assert.match(String(drilled.said.reason), /cut off/)
})

test('the drill ends with a verdict: it restores, or its books do not balance', async () => {
  const fine = await beck(['drill', sealed, '--identity', identity])
  assert.deepEqual(
    [fine.code, fine.said.restores, fine.said.has_journal],
    [0, true, true],
    JSON.stringify(fine.said),
  )
  const old = await beck(['drill', sealed, '--identity', identity, '--max-age', '0'])
  await old.command.complains('--max-age is a number of hours')

  // Somebody has what nobody paid.
  await db.query(
    `insert into balances (account_id, chain, asset, kind, atoms) values ($1, 'litecoin', 'LTC', 'available', 5)`,
    [account.id],
  )
  const unbalanced = join(folder, 'unbalanced')
  assert.equal((await beck(['backup', unbalanced])).code, 0)
  const bad = await beck(['drill', unbalanced])
  assert.deepEqual([bad.code, bad.said.restores], [1, false])
  assert.match(String(bad.said.problems), /books do not balance: litecoin LTC/)
})

test('what a drill unpacks is gone when its disk is full, and when it is ended; without the secret key it makes none', async () => {
  const scratch = join(folder, 'scratch')
  await mkdir(scratch)
  const env = { PATH: process.env.PATH, ...settings, TMPDIR: scratch }
  // No file becomes longer than this: the journal does not fit.
  const limited = await exec(
    'sh',
    [
      '-c',
      `ulimit -f 200; exec "$0" src/cli/beck.ts drill "$1" --identity "$2"`,
      process.execPath,
      sealed,
      identity,
    ],
    { env, timeout: 60_000 },
  ).then(
    () => assert.fail('it was written'),
    (error: { code: unknown; stdout: string }) => error,
  )
  assert.equal(limited.code, 1)
  assert.match(limited.stdout, /cannot be written: EFBIG/)
  assert.deepEqual(await readdir(scratch), [])

  // It waits for more of its backup while it is ended.
  const child = spawn(process.execPath, ['src/cli/beck.ts', 'drill', '-'], {
    env,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  child.stdin.write('beck-backup-1\njournal 9\nsecret of ')
  await waitFor(
    'what it unpacks',
    async () =>
      (await readdir(scratch, { recursive: true })).some((name) => name.endsWith('/journal')) || null,
  )
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [143, null])
  assert.deepEqual(await readdir(scratch), [])

  const empty = join(folder, 'no-key')
  await mkdir(empty)
  const keyless = await exec(process.execPath, ['src/cli/beck.ts', 'drill', sealed, '--identity', identity], {
    env: { PATH: process.env.PATH, TMPDIR: scratch, BECK_DATA_DIR: empty },
  }).then(
    () => assert.fail('it needs a key'),
    (error: { stderr: string }) => error,
  )
  assert.match(keyless.stderr, /needs the secret key/)
  assert.deepEqual(await readdir(empty), [])
})
