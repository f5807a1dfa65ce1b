import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import test, { after } from 'node:test'
import { endProcess } from './child-process.ts'

/** A program that says when it is ready. */
async function start(program: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', `${program}; process.stdout.write('ready')`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => child.kill('SIGKILL'))
  await once(child.stdout ?? assert.fail(), 'data')
  return child
}

test('a process that obeys the first signal gets no other', async () => {
  const child = await start("process.on('SIGINT', () => process.exit(7)); setInterval(() => {}, 1000)")
  await endProcess(child, [
    ['SIGINT', 60_000],
    ['SIGTERM', 60_000],
  ])
  assert.deepEqual([child.exitCode, child.signalCode], [7, null])
  await endProcess(child, [['SIGTERM', 60_000]])
})

test('a process that ignores every signal is killed', async () => {
  const child = await start(
    "for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT']) process.on(signal, () => {}); setInterval(() => {}, 1000)",
  )
  await endProcess(child, [
    ['SIGINT', 20],
    ['SIGQUIT', 20],
  ])
  assert.equal(child.signalCode, 'SIGKILL')
})

test('a stopped process, which no signal reaches, is killed', async () => {
  const child = await start('setInterval(() => {}, 1000)')
  child.kill('SIGSTOP')
  await endProcess(child, [['SIGTERM', 20]])
  assert.equal(child.signalCode, 'SIGKILL')
})

test('a process that could not be started has ended', async () => {
  const child = spawn('/nowhere')
  const failed = once(child, 'error')
  await endProcess(child, [['SIGTERM', 60_000]])
  await failed
})
