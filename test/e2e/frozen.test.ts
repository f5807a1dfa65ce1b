import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createSimulatedChain } from '../../src/chains/simulated/simulated-chain.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { partOf } from '../beck-process.ts'
import { startReceiver, testInstallation } from '../installation.ts'
import { standsStill } from '../suspend.ts'
import { until } from '../wait-for.ts'

const EVENTS = ['payment.created', 'payment.confirming', 'payment.completed']
/** The leader sleeps at least this long; a minute in a long run. Its lease ends after six seconds. */
const FROZEN_MS = Number(process.env.BECK_FROZEN_MS ?? 12_000)

/** Where the leading watcher freezes: between reading a block and writing it, and inside the transactions that write. */
const STEPS = ['observe:block-read', 'observe:block-written', 'observe:sighting-written']

describe('two instances on one database', { concurrency: 2 }, () => {
  for (const step of STEPS) {
    test(`the leader freezes at ${step}: the other takes over, and what the first still writes is refused`, {
      timeout: 120_000 + FROZEN_MS,
    }, async () => {
      const installation = await testInstallation()
      const receiver = await startReceiver()
      const first = await installation.start({
        BECK_SANDBOX_BLOCK_MS: '0',
        BECK_CRASH_AT: step,
        BECK_CRASH_SIGNAL: 'SIGSTOP',
      })
      const leader = async () => {
        const { rows } = await installation.db.query<{ holder: string; epoch: bigint }>(
          "select lease_holder as holder, lease_epoch as epoch from chains where chain = 'sim-bitcoin'",
        )
        return rows[0]
      }
      const sleeper = await partOf(first.process.child, 'background.ts')
      assert.match((await leader())?.holder ?? '', new RegExp(`:${sleeper}$`))
      const second = await installation.start({ BECK_SANDBOX_BLOCK_MS: '0' })

      const endpoint = await installation.call(second, 'POST', '/webhooks', {
        url: receiver.url,
        events: EVENTS,
      })
      receiver.useSecret(endpoint.data.secret)
      const { data: payment } = await installation.call(second, 'POST', '/payments', {
        asset: 'BTC',
        fiat_amount: 100,
      })
      await installation.call(second, 'POST', `/sandbox/payments/${payment.id}/pay`, {})
      // Seen first, and only then in a block, so that every step is on the way.
      if (step !== 'observe:sighting-written') {
        await until('it was seen', async () => {
          const { data } = await installation.call(second, 'GET', `/payments/${payment.id}`)
          return data.status === 'detected'
        })
        await installation.call(second, 'POST', '/sandbox/blocks', { network: 'bitcoin' })
      }
      await until('the leader froze', () => standsStill(sleeper))
      const frozenAt = Date.now()

      await installation.call(second, 'POST', '/sandbox/blocks', { network: 'bitcoin', count: 6 })
      await until('the other instance settled it', async () => {
        const { data } = await installation.call(second, 'GET', `/payments/${payment.id}`)
        return data.status === 'completed'
      })
      const other = await partOf(second.process.child, 'background.ts')
      assert.match((await leader())?.holder ?? '', new RegExp(`:${other}$`))
      const asked = await installation.call(first, 'GET', `/payments/${payment.id}`)
      assert.equal(asked.data.status, 'completed', 'its API answers meanwhile')
      await until('it slept long', async () => Date.now() - frozenAt > FROZEN_MS)

      const before = await books()
      process.kill(sleeper, 'SIGCONT')
      // It has met the end of its lease when it says so.
      await first.process.complains('the lead of this chain is over')
      await until('every event was received', async () =>
        EVENTS.every((type) => receiver.received.some((event) => event.type === type)),
      )
      await first.process.stop()
      await second.process.stop()

      assert.deepEqual(await books(), before, 'waking wrote nothing')
      for (const type of EVENTS) {
        const ids = receiver.received.filter((event) => event.type === type).map((event) => event.id)
        assert.equal(new Set(ids).size, 1, `${type} was told with one id, got ${ids.join(', ')}`)
      }
      const { differences, unproven } = await reconcile(installation.db, [
        createSimulatedChain({ db: installation.db, chain: 'sim-bitcoin' }),
      ])
      assert.deepEqual([differences, unproven], [[], []])

      async function books() {
        const { rows } = await installation.db.query(
          `select (select json_agg(b order by b.account_id, b.asset, b.kind) from balances b) as balances,
            (select json_agg(d order by d.id) from deposits d) as deposits,
            (select json_agg(e.type order by e.id) from events e) as events`,
        )
        return rows[0]
      }
    })
  }
})
