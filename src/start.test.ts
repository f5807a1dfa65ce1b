/** A start that can not go on leaves nothing behind. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { readConfig } from './config/config.ts'
import { lockDirectory } from './db/embedded/directory-lock.ts'
import { freePort } from './db/embedded/embedded.ts'
import { openLog } from './process/log.ts'
import { startBeck } from './start.ts'

test('when a module can not be read, PostgreSQL ends and its directory is free again', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-start-'))
  after(() => rm(dataDir, { recursive: true, force: true }))
  const main = new URL('./main.ts', import.meta.url).href
  const hooks = registerHooks({
    load(url, context, nextLoad) {
      if (url === main) throw new Error('the disk does not answer')
      return nextLoad(url, context)
    },
  })
  after(() => hooks.deregister())
  const config = readConfig({ BECK_DATA_DIR: dataDir, PORT: String(await freePort()) })
  await assert.rejects(startBeck(config, 'api', openLog('silent')), /the disk does not answer/)
  lockDirectory(dataDir, 'server').release()
  const files = await readdir(join(dataDir, 'pg'))
  assert.ok(files.includes('PG_VERSION'), 'it was made')
  assert.ok(!files.includes('postmaster.pid'))
})
