import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { createSimulatedChain } from '../../src/chains/simulated/simulated-chain.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { startReceiver, testInstallation } from '../installation.ts'
import { until } from '../wait-for.ts'

/** Every step between the first sighting of a deposit and the last delivery. */
const STEPS = [
  'observe:sighting-written',
  'observe:sighting-committed',
  'settle:detected',
  'settle:detected-committed',
  'observe:block-written',
  'observe:block-committed',
  'settle:booked',
  'settle:completed',
  'settle:completed-written',
  'settle:completed-committed',
  'deliver:claimed',
  'deliver:sent',
]

// Most of the time is waiting for the dead watcher's lease to end.
describe('killed between sighting and delivery', { concurrency: 2 }, () => {
  for (const step of STEPS) {
    test(`killed at ${step}: credited once, told once`, { timeout: 180_000 }, async () => {
      const installation = await testInstallation()
      const receiver = await startReceiver()
      // No block comes by itself, so that the first one is the one with the deposit. The first delivery is of
      // payment.created: the second one tells of the coins.
      const first = await installation.start({
        BECK_SANDBOX_BLOCK_MS: '0',
        BECK_CRASH_AT: step.startsWith('deliver') ? `${step}#2` : step,
      })
      const endpoint = await installation.call(first, 'POST', '/webhooks', {
        url: receiver.url,
        events: ['payment.created', 'payment.confirming', 'payment.completed'],
      })
      assert.equal(endpoint.status, 201, JSON.stringify(endpoint.error))
      receiver.useSecret(endpoint.data.secret)
      // The step is in the process of watchers and workers; the machine takes the rest of Beck along.
      const died = once(first.process.child, 'exit')
      const hit = first.process
        .complains('the process of watchers and workers ended by itself')
        .then(() => first.process.child.kill('SIGKILL'))
      const created = await installation.call(first, 'POST', '/payments', { asset: 'BTC', fiat_amount: 100 })
      assert.equal(created.status, 201, JSON.stringify(created.error))
      // The answer may be cut off: the step can fall before it.
      await installation.call(first, 'POST', `/sandbox/payments/${created.data.id}/pay`, {}).catch(() => null)
      await until('the coins were seen, or it died of that', async () => {
        const { rows } = await installation.db.query("select from payments where status = 'pending'")
        return rows.length === 0 || first.process.child.signalCode !== null
      })
      await installation
        .call(first, 'POST', '/sandbox/blocks', { network: 'bitcoin', count: 3 })
        .catch(() => null)
      await hit
      await died

      const second = await installation.start()
      // A delivery that the dead process had claimed is due when its lease of a minute ends: that minute is over.
      await installation.db.query(
        "update deliveries set due_at = now(), leased_until = null where status = 'pending'",
      )
      await until('completed', async () => {
        const { data } = await installation.call(second, 'GET', `/payments/${created.data.id}`)
        return data.status === 'completed'
      })
      await until('every event was received', async () =>
        ['payment.created', 'payment.confirming', 'payment.completed'].every((type) =>
          receiver.received.some((event) => event.type === type),
        ),
      )
      await until('no delivery is left', async () => {
        const { rowCount } = await installation.db.query("select from deliveries where status = 'pending'")
        return rowCount === 0
      })
      const port = createSimulatedChain({ db: installation.db, chain: 'sim-bitcoin' })
      await until('the books were compared with the chain', async () => {
        const { differences, unproven } = await reconcile(installation.db, [port])
        assert.deepEqual(differences, [])
        return unproven.length === 0
      })
      await second.process.stop()

      for (const type of ['payment.created', 'payment.confirming', 'payment.completed']) {
        const ids = new Set(receiver.received.filter((event) => event.type === type).map((event) => event.id))
        assert.equal(ids.size, 1, `${type} was told with one id, got ${[...ids].join(', ')}`)
      }
      const { rows } = await installation.db.query<{ atoms: bigint }>(
        "select atoms from balances where kind = 'available'",
      )
      const { rows: credited } = await installation.db.query<{ atoms: bigint }>(
        'select credited_atoms as atoms from payments',
      )
      assert.deepEqual(rows, credited)
    })
  }
})
