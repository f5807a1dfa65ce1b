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

test('what happens on a simulated chain is looked at when it is told of, not a second later', async () => {
  const { start, call, db } = await testInstallation()
  const beck = await start(BECK)
  const lookedAt = async () =>
    (await db.query<{ at: Date }>(`select polled_at as at from chains where chain = 'sim-litecoin'`)).rows[0]
      ?.at
  // By itself a watcher looks once a second at most, so that ten looks take nine seconds.
  const secondsOfTen = async () => {
    const began = performance.now()
    for (let looks = 0; looks < 10; looks++) {
      const before = await lookedAt()
      await call(beck, 'POST', '/sandbox/blocks', { network: 'litecoin', count: 1 })
      await until('it was looked at', async () => Number(await lookedAt()) > Number(before))
    }
    return (performance.now() - began) / 1_000
  }
  // Whoever has much else to do takes long now and then.
  const took = [await secondsOfTen()]
  while (Math.min(...took) >= 9 && took.length < 3) took.push(await secondsOfTen())
  assert.ok(Math.min(...took) < 9, `they took ${took.join(', ')} s`)
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
