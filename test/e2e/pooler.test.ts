/** Beck on an external PostgreSQL behind PgBouncer in transaction mode: every statement may get another connection. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { Beck } from '../../sdk/src/index.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { startPooler } from '../pooler.ts'
import { waitFor } from '../wait-for.ts'

const folder = await mkdtemp(join(tmpdir(), 'beck-pooler-'))
after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))

const direct = await testDatabaseUrl({ template: null })
const settings = {
  DATABASE_URL: await startPooler(direct),
  BECK_SECRET_KEY: Buffer.alloc(32, 9).toString('hex'),
  BECK_DATA_DIR: folder,
  BECK_SANDBOX_BLOCK_MS: '250',
}

test('two whole Becks behind a transaction pooler take payments at once, pay out, and the books balance', async () => {
  const metricsPorts = [await freePort(), await freePort()]
  const start = async (metricsPort: number | undefined) =>
    startBeckProcess(['start'], {
      ...settings,
      PORT: String(await freePort()),
      BECK_METRICS_PORT: String(metricsPort),
      // Two signers never share a directory.
      BECK_DATA_DIR: await mkdtemp(join(folder, 'beck-')),
    })
  const becks = await Promise.all(metricsPorts.map(start))
  const answers = await Promise.all(becks.map((beck) => beck.hears((object) => 'url' in object)))
  const keys = answers.flatMap(({ key }) => (typeof key === 'string' ? [key] : []))
  assert.equal(keys.length, 1, 'of two first starts at once, one makes the first account')
  const [apiKey = ''] = keys
  const clients = answers.map(({ url }) => new Beck({ apiKey, baseUrl: String(url), retries: 0 }))
  const [first = assert.fail()] = clients

  await waitFor('there are addresses', async () => {
    const metrics = await fetch(`http://127.0.0.1:${metricsPorts[0]}/metrics`)
    return /^beck_fresh_addresses\{chain="sim-litecoin"\} 1000$/m.test(await metrics.text()) || null
  })
  const ids = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const beck = clients[index % 2] ?? first
      const { id } = await beck.payments.create({ asset: 'LTC', fiat_amount: 50 + index })
      await beck.sandbox.pay(id, { confirmations: index % 3 })
      return id
    }),
  )
  await waitFor('every payment is completed', async () => {
    const { items } = await first.payments.list({ filter_status: 'completed', limit: 100 })
    return items.length === ids.length || null
  })
  const idempotencyKey = 'one effect'
  const same = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      (clients[index % 2] ?? first).payments
        .create({ asset: 'BTC', fiat_amount: 5 }, { idempotencyKey })
        .then(({ id }) => id),
    ),
  )
  assert.equal(new Set(same).size, 1)

  const { id } = await first.withdrawals.create({
    asset: 'LTC',
    amount: '1',
    destination_address: 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
  })
  await waitFor('the withdrawal is completed', async () => {
    const found = (await first.withdrawals.list()).find((withdrawal) => withdrawal.id === id)
    return found?.status === 'completed' || null
  })

  const proof = startBeckProcess(['reconcile'], settings)
  assert.equal(await proof.ended, 0, JSON.stringify(proof.said))
  await Promise.all(becks.map((beck) => beck.stop()))
})
