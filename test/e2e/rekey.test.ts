/** The key of a data directory is changed as the guide says, and the old one is refused afterwards. */
import assert from 'node:assert/strict'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'

test('secret.key is put aside, beck rekey makes everything anew, and only the new key is good', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-rekey-'))
  after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
  const environment = { BECK_DATA_DIR: dataDir, PORT: String(await freePort()) }
  const key = join(dataDir, 'secret.key')
  const start = async () => {
    const beck = startBeckProcess(['start'], environment)
    await beck.hears((object) => 'url' in object)
    return beck
  }
  await (await start()).stop()
  await rename(key, `${key}.old`)
  const beck = await start()
  const command = startBeckProcess(['rekey'], environment)
  const answer = await command.hears(() => true)
  assert.equal(await command.ended, 0, JSON.stringify(answer))
  assert.deepEqual([answer.done, answer.notRestarted], [true, []])
  await beck.stop()
  await rename(`${key}.old`, `${key}.gone`)
  await (await start()).stop()
  await rename(`${key}.gone`, key)
  const refused = startBeckProcess(['start'], environment)
  const { error } = await refused.hears((object) => 'error' in object)
  assert.equal((error as { reason: string }).reason, 'other_secret_key')
  assert.equal(await refused.ended, 1)
})
