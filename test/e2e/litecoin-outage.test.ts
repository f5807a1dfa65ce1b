import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import type { Payment, PaymentStatus } from '../../src/payments/payment.ts'
import { startSettler } from '../../src/workers/settle.ts'
import { startWatcher } from '../../src/workers/watch.ts'
import { litecoinRoad } from './litecoin-road.ts'
import { outlastOutage } from './outage.ts'

const road = await litecoinRoad()
const { node, gateway } = road
const LIFE = ['payment.created', 'payment.confirming', 'payment.completed']

describe('a real Litecoin node that is stopped', () => {
  afterEach(() => road.prove())

  it('refuses new payments, expires none, and is caught up with when it is back', async () => {
    const waiting = await road.create('LTC')
    const paid = await road.create('LTC')
    await road.pay({ address: paid.address, atoms: paid.dueAtoms })
    await node.mine()
    await node.stop()
    await assert.rejects(road.follow(), /cannot be reached/)
    await outlastOutage(road, { waiting, paid }, () => node.start())
  })
})

describe('the loops, as they run in a worker', () => {
  after(() => road.prove())

  it('follow a payment to its end, and catch up with what they missed while they were stopped', async () => {
    await road.release()
    const running = startLoops()
    const payment = await road.create('LTC')
    await road.pay({ address: payment.address, atoms: payment.dueAtoms })
    await reached(payment, 'detected')
    await node.mine(6)
    await reached(payment, 'completed')
    await running.stop()

    const [one, two, replaced] = [
      await road.create('LTC'),
      await road.create('LTC'),
      await road.create('LTC'),
    ]
    const txid = await road.pay({ address: replaced.address, atoms: replaced.dueAtoms })
    await node.replace(txid)
    await road.pay({ address: one.address, atoms: one.dueAtoms })
    await node.mine(60)
    await road.pay({ address: two.address, atoms: two.dueAtoms })
    const again = startLoops()
    await reached(one, 'completed')
    await reached(two, 'detected')
    await node.mine(6)
    await reached(two, 'completed')
    await again.stop()
    assert.deepEqual(await road.statusOf(replaced), ['pending', []])
    for (const done of [payment, one, two]) assert.deepEqual(await road.events(done), LIFE)
  })
})

function startLoops() {
  const loops = [startWatcher(gateway, road.port, { idleMs: 50 }), startSettler(gateway, { idleMs: 50 })]
  return { stop: () => Promise.all(loops.map((loop) => loop.stop())) }
}

/** Resolves when the loops have brought the payment there. */
async function reached(payment: Payment, status: PaymentStatus): Promise<void> {
  const deadline = Date.now() + 30_000
  while ((await road.show(payment)).status !== status) {
    if (Date.now() > deadline) {
      const { rows } = await gateway.db.query('select * from chains')
      assert.fail(
        `not ${status} after 30 s: ${JSON.stringify([await road.statusOf(payment), await node.tip(), rows], (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
      )
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
