/** What the API answers for an account that its operator closed: nothing new, everything else as ever. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { closeAccount } from '../../flows/accounts/close-account.ts'
import { routes } from './routes.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const { account, key } = await testMerchant(gateway.db)

/** By row: a good body. */
const BODIES: Readonly<Record<string, object>> = {
  '/payments': { asset: 'LTC', fiat_amount: 100 },
  '/checkout/sessions': { amount: 100 },
  '/payment-links': { label: 'Tea', amount: 100 },
  '/points-of-sale': { name: 'Counter' },
}
const post = (path: string, idempotencyKey?: string) =>
  call(app, key, 'POST', path, {
    body: BODIES[path],
    ...(idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}),
  })
const change = (act: 'close' | 'reopen') => gateway.db.transaction((tx) => closeAccount(tx, account.id, act))

test('what makes something new is refused with account_closed, and an answer of before is given again', async () => {
  const refusing = routes.filter(({ refusals }) => refusals?.[403]?.includes('account_closed'))
  assert.deepEqual(refusing.map(({ method, path }) => `${method} ${path}`).sort(), [
    'POST /checkout/sessions',
    'POST /payment-links',
    'POST /payments',
    'POST /points-of-sale',
  ])
  const before = new Map<string, string>()
  for (const { path } of refusing) before.set(path, (await post(path, `before ${path}`)).text)
  const { data } = await post('/payments')
  await change('close')
  for (const { path } of refusing) {
    const fresh = await post(path)
    assert.deepEqual([fresh.status, fresh.error?.reason], [403, 'account_closed'], path)
    const keyed = await post(path, `during ${path}`)
    assert.equal(keyed.error?.reason, 'account_closed', path)
    assert.equal((await post(path, `before ${path}`)).text, before.get(path), `${path} was answered before`)
  }
  for (const { method, path } of routes)
    if (method === 'GET' && !path.includes(':')) {
      const answer = await call(app, key, 'GET', path)
      assert.notEqual(answer.status, 403, `${path} is readable`)
      assert.ok(answer.status < 500, path)
    }
  assert.equal((await call(app, key, 'GET', `/payments/${data.id}`)).status, 200)
  assert.equal((await call(app, key, 'POST', `/payments/${data.id}/cancel`)).status, 200)
  const hook = { url: 'https://shop.example/hook', events: ['payment.completed'] }
  assert.equal((await call(app, key, 'POST', '/webhooks', { body: hook })).status, 201)

  await change('reopen')
  // A key is believed for two seconds, with the account that was read beside it.
  for (const { path } of refusing)
    await waitFor(`${path}: a refusal is not kept`, async () => {
      const { status } = await post(path, `during ${path}`)
      assert.ok([201, 403].includes(status), `${path}: ${status}`)
      return status === 201 ? true : null
    })
})
