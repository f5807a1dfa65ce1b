/** `npm run dev` as somebody new meets it: a shop with a history, a key that works, and an end that leaves nothing behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { until } from '../wait-for.ts'

const folder = await mkdtemp(join(tmpdir(), 'beck-dev-'))
after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))

test('a shop with its first day stands within the first minute, and Ctrl-C ends everything', async () => {
  const dev = spawn(process.execPath, ['dev/dev.ts'], {
    env: { ...process.env, BECK_DATA_DIR: folder, PORT: String(await freePort()) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  dev.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await until('the first day is over', async () => said.includes('seed: 1 of 31 days'))
  const { api, key } = JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8'))
  const answer = await fetch(`${api}/v1/payments?filter_status=completed`, { headers: { 'x-api-key': key } })
  const { data } = (await answer.json()) as { data: { total: number; items: { created_at: string }[] } }
  assert.ok(data.total >= 2, `${data.total} payments`)
  const ended = once(dev, 'exit')
  dev.kill('SIGINT')
  assert.deepEqual(await ended, [0, null])
  await assert.rejects(fetch(`${api}/livez`))
})
