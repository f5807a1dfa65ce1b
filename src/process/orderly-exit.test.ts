import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pause } from '../core/pause.ts'

const EXITS = fileURLToPath(new URL('./orderly-exit.ts', import.meta.url))

/** A program that stops as `stop` says. */
async function run(stop: string) {
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { endOnSignals } from ${JSON.stringify(EXITS)}
       const log = { info: (_, what) => process.stdout.write(what + '\\n'), fatal() {} }
       endOnSignals(Promise.resolve({ stop: () => ${stop} }), log)
       setInterval(() => {}, 1_000)
       process.stdout.write('runs\\n')`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  return { child, ended }
}

test('a signal that a launcher passes on, though it was heard already, is the same one', async () => {
  const { child, ended } = await run('new Promise((resolve) => setTimeout(resolve, 900))')
  child.kill('SIGTERM')
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null], 'closed in order')
})

test('another signal, a second later, ends what does not close', async () => {
  const { child, ended } = await run('new Promise(() => {})')
  child.kill('SIGINT')
  await once(child.stdout, 'data')
  child.kill('SIGINT')
  assert.equal(await Promise.race([ended, pause(1_200)]), undefined, 'it closes still')
  child.kill('SIGINT')
  assert.deepEqual(await ended, [null, 'SIGKILL'])
})
