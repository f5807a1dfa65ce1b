/** The passphrase reaches the signer and opens the keystore, and no process that Beck starts has it in its environment. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'

const PASSPHRASE = 'correct horse battery staple'

/** Environments of the processes that this one started, and theirs. */
async function environmentsUnder(root: number): Promise<{ command: string; environment: string }[]> {
  const processes = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
        return { pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }
      }),
  )
  const family = new Set([root])
  for (let size = 0; size !== family.size; ) {
    size = family.size
    for (const { pid, parent } of processes) if (family.has(parent)) family.add(pid)
  }
  family.delete(root)
  return Promise.all(
    [...family].map(async (pid) => ({
      command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      environment: await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
    })),
  )
}

test('the signer opens the keystore with a passphrase that stands in no environment of what Beck starts', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-passphrase-'))
  after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
  const environment = {
    BECK_DATA_DIR: dataDir,
    DATABASE_URL: await testDatabaseUrl(),
    BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
    BECK_KEYSTORE_PASSPHRASE: PASSPHRASE,
    PORT: String(await freePort()),
  }
  const init = startBeckProcess(['wallet', 'init'], environment)
  await init.hears((object) => 'words' in object)
  assert.equal(await init.ended, 0)
  const beck = startBeckProcess(['start'], environment)
  await beck.hears((object) => 'url' in object)
  await beck.complains('"keys are loaded"')
  const started = await environmentsUnder(beck.child.pid ?? 0)
  assert.ok(
    started.some(({ command }) => command.includes('signer/main.ts')),
    'the signer runs',
  )
  for (const { command, environment: seen } of started) assert.ok(!seen.includes(PASSPHRASE), command)
  await beck.stop()
})
