/** What keys do leaves a record of who did what from where, and a change without a record is none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, testApp, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { hashApiKey } from '../accounts/api-key.ts'
import { findApiKey } from '../accounts/api-keys.sql.ts'
import { listActs } from '../audit/audit-log.sql.ts'
import { invariant } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { routes } from './api/routes.ts'
import { write } from './route.ts'
import { Fields } from './schemas.ts'
import { Type } from './type.ts'

test('a write by a key is recorded with the key, its address, and how things were before and after', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway)
  const { account, key } = await testMerchant(gateway.db)
  const found = await findApiKey(gateway.db, hashApiKey(key))
  invariant(found, 'the key is there')
  const made = await call(app, key, 'POST', '/payment-links', { body: { label: 'Tea', amount: 3 } })
  await call(app, key, 'PATCH', `/payment-links/${made.data.id}`, { body: { is_active: false } })
  const endpoint = await call(app, key, 'POST', '/webhooks', {
    body: { url: 'http://127.0.0.1:9/hook', events: ['payment.created'] },
  })
  await call(app, key, 'POST', `/webhooks/${endpoint.data.id}/rotate`)
  await call(app, key, 'DELETE', `/webhooks/${endpoint.data.id}`)
  const acts = (await listActs(gateway.db, { accountId: account.id, limit: 10 })).reverse()
  const actor = { kind: 'key', id: showId('key', found.keyId), name: 'server' }
  for (const act of acts) {
    assert.deepEqual(act.actor, actor)
    assert.equal(act.address, '127.0.0.1')
  }
  const hook = { url: 'http://127.0.0.1:9/hook', events: ['payment.created'] }
  assert.deepEqual(
    acts.map(({ action, subject, before, after }) => [action, subject, before, after]),
    [
      ['payment_link.create', made.data.id, null, { label: 'Tea', amount: 3, currency: 'USD' }],
      ['payment_link.change', made.data.id, { is_active: true }, { is_active: false }],
      ['webhook.create', endpoint.data.id, null, hook],
      ['webhook.rotate', endpoint.data.id, null, null],
      ['webhook.delete', endpoint.data.id, hook, null],
    ],
  )
  assert.ok(!JSON.stringify(acts).includes('whsec_'), 'no secret is in it')
})

test('a request that is refused leaves no record, and one that is sent again leaves one', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway)
  const { account, key } = await testMerchant(gateway.db)
  assert.equal((await call(app, key, 'DELETE', '/webhooks/whk_01k6v3d6yqf5bbt9xgk2v7p8rm')).status, 404)
  const link = { body: { label: 'Tea', amount: 3 }, headers: { 'idempotency-key': 'once' } }
  for (let time = 0; time < 3; time++) await call(app, key, 'POST', '/payment-links', link)
  assert.equal((await listActs(gateway.db, { accountId: account.id, limit: 10 })).length, 1)
})

test('a change that would leave no record is not made', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway, {
    routes: [
      write('POST /silent', {
        scope: 'payments:write',
        summary: 'Does something and tells nobody',
        data: Fields({ done: Type.Boolean() }),
        async write({ tx, account }) {
          await tx.query(`update accounts set name = 'His' where id = $1`, [account.id])
          return { done: true }
        },
      }),
    ],
  })
  const { key } = await testMerchant(gateway.db)
  assert.equal((await call(app, key, 'POST', '/silent')).status, 500)
  const { rowCount } = await gateway.db.query(`select from accounts where name = 'His'`)
  assert.equal(rowCount, 0)
})

test('only the two routes that take payments are recorded by the rows that they write', () => {
  const byRow = routes.flatMap((route) =>
    !('read' in route) && route.recordedByRow ? [`${route.method} ${route.path}`] : [],
  )
  assert.deepEqual(byRow.sort(), ['POST /checkout/sessions', 'POST /payments'])
})
