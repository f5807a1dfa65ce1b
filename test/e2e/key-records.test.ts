/**
 * Every row of the API that changes something, done by a key on a Beck that runs: it leaves a record of which key did it from
 * where. A new row has to be written into this table, and two are excused (docs/decisions/0060-audit-log.md).
 */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { hashApiKey } from '../../src/accounts/api-key.ts'
import { findApiKey } from '../../src/accounts/api-keys.sql.ts'
import { showId } from '../../src/core/ids.ts'
import { routes } from '../../src/http/api/routes.ts'
import { partOf } from '../beck-process.ts'
import { type Answer, startReceiver, testInstallation } from '../installation.ts'
import { DESTINATIONS } from '../payout-story.ts'
import { standsStill } from '../suspend.ts'
import { until, waitFor } from '../wait-for.ts'

// Blocks come when they are asked for.
const installation = await testInstallation({ blockMs: 600_000 })
const { db, key } = installation
const beck = await installation.start()
const receiver = await startReceiver()

/** @returns What it answered, which is a success. */
async function send(method: string, path: string, body?: object): Promise<Answer> {
  const { status, data, error } = await installation.call(beck, method, path, body)
  assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(error)}`)
  return data
}
const post = (path: string, body?: object) => send('POST', path, body)

const pay = async (more: object = {}): Promise<string> => {
  const { id } = await post('/payments', { asset: 'LTC', fiat_amount: 100 })
  await post(`/sandbox/payments/${id}/pay`, { confirmations: 6, ...more })
  return id
}
const becomes = (id: string, ...statuses: readonly string[]) =>
  until(`payment ${id} is ${statuses}`, async () =>
    statuses.includes((await send('GET', `/payments/${id}`)).status),
  )
/** Half of it came, and its window is over: what it holds waits for support. */
const underpaid = async (): Promise<string> => {
  const id = await pay({ amount: '0.5' })
  await until('it is seen', async () => (await send('GET', `/payments/${id}`)).deposits.length > 0)
  await post(`/sandbox/payments/${id}/expire`)
  await becomes(id, 'underpaid')
  return id
}
const endpoint = async (): Promise<string> =>
  (await post('/webhooks', { url: receiver.url, events: ['payment.created'] })).id
const ORDER = { asset: 'LTC', amount: '0.1', destination_address: DESTINATIONS['sim-litecoin'] }

/** By row: what makes it possible, and the call itself. */
const CALLS: Readonly<Record<string, () => Promise<readonly [path: string, body?: object]>>> = {
  'POST /payments/:id/cancel': async () => {
    const { id } = await post('/payments', { asset: 'LTC', fiat_amount: 100 })
    return [`/payments/${id}/cancel`]
  },
  'POST /payments/:id/accept': async () => [`/payments/${await underpaid()}/accept`],
  'POST /payments/:id/refund': async () => [
    `/payments/${await underpaid()}/refund`,
    { destination_address: DESTINATIONS['sim-litecoin'] },
  ],
  'POST /payment-links': async () => ['/payment-links', { label: 'Tea', amount: 3 }],
  'PATCH /payment-links/:id': async () => {
    const { id } = await post('/payment-links', { label: 'Tea', amount: 3 })
    return [`/payment-links/${id}`, { is_active: false }]
  },
  'POST /points-of-sale': async () => ['/points-of-sale', { name: 'Counter' }],
  'POST /points-of-sale/:id/disable': async () => {
    const { id } = await post('/points-of-sale', { name: 'Counter' })
    return [`/points-of-sale/${id}/disable`]
  },
  'POST /webhooks': async () => ['/webhooks', { url: receiver.url, events: ['payment.created'] }],
  'DELETE /webhooks/:id': async () => [`/webhooks/${await endpoint()}`],
  'POST /webhooks/:id/enable': async () => [`/webhooks/${await endpoint()}/enable`],
  'POST /webhooks/:id/rotate': async () => [`/webhooks/${await endpoint()}/rotate`],
  'POST /webhooks/:id/deliveries/:delivery/redeliver': async () => {
    const id = await endpoint()
    await post('/payments', { asset: 'LTC', fiat_amount: 100 })
    const delivery = await waitFor('something was delivered', async () => {
      const { items } = await send('GET', `/webhooks/${id}/deliveries`)
      return items.find(({ attempts }: Answer) => attempts.length > 0)?.id ?? null
    })
    return [`/webhooks/${id}/deliveries/${delivery}/redeliver`]
  },
  'POST /withdrawals': async () => {
    await becomes(await pay(), 'completed')
    return ['/withdrawals', ORDER]
  },
  'POST /withdrawals/:id/cancel': async () => {
    // The signer rests, so that nothing is signed before it is called back.
    const signer = await partOf(beck.process.child, 'signer/main.ts')
    process.kill(signer, 'SIGSTOP')
    // What stands still can not end with its Beck.
    after(() => process.kill(signer, 'SIGCONT'))
    await until('it rests', () => standsStill(signer))
    const { id } = await post('/withdrawals', ORDER)
    return [`/withdrawals/${id}/cancel`]
  },
  'POST /sandbox/payments/:id/pay': async () => {
    const { id } = await post('/payments', { asset: 'LTC', fiat_amount: 100 })
    return [`/sandbox/payments/${id}/pay`]
  },
  'POST /sandbox/payments/:id/expire': async () => {
    const { id } = await post('/payments', { asset: 'LTC', fiat_amount: 100 })
    return [`/sandbox/payments/${id}/expire`]
  },
  'POST /sandbox/payments/:id/replace': async () => [
    `/sandbox/payments/${await pay({ confirmations: 0 })}/replace`,
  ],
  'POST /sandbox/blocks': async () => ['/sandbox/blocks', { network: 'litecoin', count: 2 }],
  'POST /sandbox/reorg': async () => ['/sandbox/reorg', { network: 'litecoin', depth: 1 }],
}

const writes = routes.filter((route) => !('read' in route) && !route.recordedByRow)

test('the table holds every row of the API that writes', () => {
  const named = writes.map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(Object.keys(CALLS).toSorted(), named.toSorted())
})

for (const [row, arrange] of Object.entries(CALLS))
  test(`${row} leaves a record of the key and its address`, async () => {
    const found = await findApiKey(db, hashApiKey(key))
    const [path, body] = await arrange()
    const { rows: before } = await db.query<{ id: string }>('select id from audit_log')
    await send(row.split(' ')[0] ?? '', path, body)
    const { rows } = await db.query<{ kind: string; actor: string; address: string }>(
      `select actor_kind as kind, actor_id as actor, address from audit_log
       where id <> all($1::uuid[]) and actor_kind <> 'system'`,
      [before.map(({ id }) => id)],
    )
    assert.deepEqual(rows, [
      { kind: 'key', actor: showId('key', found?.keyId ?? assert.fail()), address: '127.0.0.1' },
    ])
  })
