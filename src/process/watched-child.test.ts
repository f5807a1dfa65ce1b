/** Children that do not end as they should: Beck never waits for them for ever, and the signer never stays away. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { waitFor } from '../../test/wait-for.ts'
import { SILENT } from '../core/log.ts'
import { type ChildOptions, startChild, superviseChild, type WatchedChild } from './watched-child.ts'

const folder = await mkdtemp(join(tmpdir(), 'beck-child-'))
after(() => rm(folder, { recursive: true, force: true }))

let programs = 0
async function program(text: string): Promise<string> {
  programs += 1
  const path = join(folder, `program-${programs}.mjs`)
  await writeFile(path, text)
  return path
}

const OPTIONS: ChildOptions = { env: process.env, stdio: ['ignore', 'inherit', 'pipe'] }
const started: ChildProcess[] = []
after(() => {
  for (const child of started) child.kill('SIGKILL')
})

function start(path: string, options: Partial<ChildOptions> = {}): WatchedChild {
  const child = startChild(path, [], { ...OPTIONS, ...options })
  started.push(child.process)
  return child
}
const isReady = (child: ChildProcess) => once(child.stderr ?? assert.fail(), 'data')

/** As Node's own shutdown does when it waits for a thread that waits for it. */
const HANGS_IN_EXIT = "process.on('exit', () => { for (;;); });"

test('a child that is done ends by itself, with its own exit code', async () => {
  assert.equal(await start(await program('process.exitCode = 3')).ended, 3)
})

test('a child that hangs in its exit is killed, and its exit code is the one it meant', async () => {
  const child = start(await program(`${HANGS_IN_EXIT} process.exitCode = 3`), { exitLimitMs: 50 })
  assert.equal(await child.ended, 3)
  assert.equal(child.process.signalCode, 'SIGKILL')
})

test('a child may have threads of its own: neither do they fail, nor is it ended when one of them does', async () => {
  const thread = await program(
    "import { parentPort } from 'node:worker_threads'; parentPort.postMessage('works')",
  )
  const path = await program(`
    import { once } from 'node:events'
    import { Worker } from 'node:worker_threads'
    const worker = new Worker(${JSON.stringify(thread)})
    // Of a busy machine both come in one turn.
    const ended = once(worker, 'exit')
    const [said] = await once(worker, 'message')
    await ended
    setTimeout(() => console.error(said), 1_500)`)
  const child = start(path, { exitLimitMs: 1_000 })
  const [said] = await isReady(child.process)
  assert.equal(String(said).trim(), 'works')
  assert.equal(await child.ended, 0)
  assert.equal(child.process.signalCode, null)
})

test('a supervised child that ends by itself and hangs on its way out is started again', async () => {
  const path = await program(HANGS_IN_EXIT)
  const children: ChildProcess[] = []
  const supervised = superviseChild(
    'it',
    () => {
      const child = start(path, { exitLimitMs: 50 })
      children.push(child.process)
      return child
    },
    SILENT,
  )
  await waitFor('a second one', async () => children[1] ?? null)
  await supervised.stop()
  assert.equal(children[0]?.signalCode, 'SIGKILL')
})

test('a supervised child that cannot be started is tried again', async () => {
  const path = await program("process.stderr.write('ready'); setInterval(() => {}, 1000)")
  let attempts = 0
  const running = Promise.withResolvers<ChildProcess>()
  const supervised = superviseChild(
    'it',
    () => {
      attempts += 1
      if (attempts === 1) return { process: spawn('/nowhere'), ended: Promise.resolve(null) }
      if (attempts === 2) throw new Error('out of memory')
      const child = start(path)
      running.resolve(child.process)
      return child
    },
    SILENT,
  )
  await isReady(await running.promise)
  await supervised.stop()
  assert.equal((await running.promise).signalCode, 'SIGTERM')
})

test('a supervised child that ignores SIGTERM is killed after its time', async () => {
  const path = await program(
    "process.on('SIGTERM', () => {}); process.stderr.write('ready'); setInterval(() => {}, 1000)",
  )
  const child = start(path)
  await isReady(child.process)
  const supervised = superviseChild('it', () => child, SILENT, 50)
  await supervised.stop()
  assert.equal(child.process.signalCode, 'SIGKILL')
})

test('a child ends in order when its parent is killed', async () => {
  const grandchild = await program(`
    process.on('SIGTERM', () => { process.stderr.write('in order'); process.exit() })
    process.stderr.write('ready')
    setInterval(() => {}, 1000)`)
  const parent = await program(`
    const { startChild } = await import(${JSON.stringify(new URL('./watched-child.ts', import.meta.url).href)})
    startChild(${JSON.stringify(grandchild)}, [], { env: process.env, stdio: ['ignore', 'inherit', 'inherit'], detached: true })`)
  const child = start(parent)
  await isReady(child.process)
  let said = ''
  child.process.stderr?.on('data', (text: Buffer) => {
    said += text.toString()
  })
  child.process.kill('SIGKILL')
  // Its standard error is the grandchild's, too: it closes when both are gone.
  await child.ended
  assert.equal(said, 'in order')
})
