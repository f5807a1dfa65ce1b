/** `--role all` is an API and, in a process of their own, its watchers and workers: neither takes the other along. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { partOf } from '../beck-process.ts'
import { type RunningBeck, testInstallation } from '../installation.ts'
import { until } from '../wait-for.ts'

const BECK = { BECK_SANDBOX_BLOCK_MS: '0' }

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('the API answers while watchers and workers stand still, and what they were told is done when they wake', async () => {
  const { start, call } = await testInstallation()
  const beck = await start(BECK)
  const background = await partOf(beck.process.child, 'background.ts')
  process.kill(background, 'SIGSTOP')
  const { data: payment, status } = await call(beck, 'POST', '/payments', { asset: 'LTC', fiat_amount: 20 })
  assert.equal(status, 201)
  assert.equal(
    (await call(beck, 'POST', `/sandbox/payments/${payment.id}/pay`, { confirmations: 6 })).status,
    200,
  )
  assert.equal((await call(beck, 'GET', `/payments/${payment.id}`)).data.status, 'pending')
  process.kill(background, 'SIGCONT')
  await completes(beck, payment.id, call)
  await beck.process.stop()
})

test('what is paid in the sandbox is seen at once, not when its watchers look the next time', async () => {
  const { start, call } = await testInstallation()
  const beck = await start(BECK)
  const payments = 6
  let took = 0
  // Each right after a look, so that the next one by itself is most of a second away.
  for (let paid = 0; paid < payments; paid++) {
    const { data: payment } = await call(beck, 'POST', '/payments', { asset: 'LTC', fiat_amount: 20 })
    const began = performance.now()
    await call(beck, 'POST', `/sandbox/payments/${payment.id}/pay`, { confirmations: 6 })
    await completes(beck, payment.id, call)
    took += performance.now() - began
  }
  assert.ok(took < (payments * 1_000) / 2, `${payments} payments took ${took.toFixed(0)} ms`)
  await beck.process.stop()
})

test('watchers and workers that are killed come back by themselves, and no request is lost meanwhile', async () => {
  const { start, call } = await testInstallation()
  const beck = await start(BECK)
  const first = await partOf(beck.process.child, 'background.ts')
  process.kill(first, 'SIGKILL')
  const { data: payment, status } = await call(beck, 'POST', '/payments', { asset: 'LTC', fiat_amount: 20 })
  assert.equal(status, 201)
  assert.equal(
    (await call(beck, 'POST', `/sandbox/payments/${payment.id}/pay`, { confirmations: 6 })).status,
    200,
  )
  await completes(beck, payment.id, call)
  assert.notEqual(await partOf(beck.process.child, 'background.ts'), first)
  await beck.process.stop()
})

test('a Beck that is killed takes its watchers and workers along', async () => {
  const { start } = await testInstallation()
  const { process: beck } = await start(BECK)
  const background = await partOf(beck.child, 'background.ts')
  const ended = once(beck.child, 'exit')
  beck.child.kill('SIGKILL')
  await ended
  await until('they ended', async () => !isAlive(background))
})

async function completes(
  beck: RunningBeck,
  id: string,
  call: Awaited<ReturnType<typeof testInstallation>>['call'],
): Promise<void> {
  await until(
    'completed',
    async () => (await call(beck, 'GET', `/payments/${id}`)).data.status === 'completed',
  )
}
