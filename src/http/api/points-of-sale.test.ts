/** Points of sale by a key: made, listed, shown and switched off, and nowhere written down where they would let somebody in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'
import { listActs } from '../../audit/audit-log.sql.ts'

test('a point of sale made by a key sells until a key switches it off, and no log holds what lets somebody sell', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway)
  const { account, key } = await testMerchant(gateway.db, { scopes: ['payment_links:write'] })
  const { status, data } = await call(app, key, 'POST', '/points-of-sale', {
    body: { name: 'Counter', currency: 'EUR' },
  })
  assert.deepEqual([status, data.is_active, data.currency], [201, true, 'EUR'])
  assert.equal(data.url, `${gateway.settings.publicUrl}/pos/${data.id}`)
  const keypad = async () => (await app.inject(new URL(data.url).pathname)).statusCode
  assert.equal(await keypad(), 200)
  assert.deepEqual((await call(app, key, 'GET', `/points-of-sale/${data.id}`)).data, data)
  assert.deepEqual((await call(app, key, 'GET', '/points-of-sale')).data, [data])

  const disable = () => call(app, key, 'POST', `/points-of-sale/${data.id}/disable`)
  assert.deepEqual((await disable()).data, { ...data, is_active: false })
  assert.equal(await keypad(), 410)
  assert.deepEqual(
    [(await disable()).status, (await disable()).error.reason],
    [404, 'point_of_sale_not_found'],
  )
  assert.equal((await call(app, key, 'GET', `/points-of-sale/${data.id}`)).data.is_active, false)

  const acts = await listActs(gateway.db, { accountId: account.id, limit: 10 })
  assert.deepEqual(
    acts.map(({ action, subject }) => [action, subject]),
    [
      ['point_of_sale.revoke', 'Counter'],
      ['point_of_sale.create', 'Counter'],
    ],
  )
  await app.close()
  const { rows } = await gateway.db.query<{ path: string }>('select distinct path from api_requests')
  assert.ok(rows.some(({ path }) => path === '/v1/points-of-sale/pos_…/disable'))
  for (const { path } of rows) assert.ok(!path.includes(data.id.slice(4)), path)
})
