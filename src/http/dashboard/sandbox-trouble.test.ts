/** Failures of others, made to happen to one test account: its server and its buyers are told as on a live one. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount } from '../../../test/gateway.ts'
import { pathOf, testHosted } from '../../../test/hosted.ts'

const { story, open, pick, get, app } = await testHosted()
const { gateway, account } = story
const dev = await testPerson(gateway, app, { account, role: 'developer' })
const viewer = await testPerson(gateway, app, { account, role: 'viewer' })
const home = homeOf(account)

/** By a process that has not looked at the account yet. */
async function pay(of = account): Promise<string> {
  const key = await testKey(gateway.db, of, ['payments:write'])
  const body = { asset: 'LTC', fiat_amount: 20 }
  const { status, error } = await call(await testApp(gateway), key, 'POST', '/v1/payments', { body })
  return `${status} ${error?.reason ?? ''}`.trim()
}
const trouble = (kind: string) => dev.post(`${home}/sandbox/trouble`, { trouble: kind })

test('without rates nothing is priced, without a node nothing is taken, and others notice nothing of it', async () => {
  const other = await testAccount(gateway)
  const [waiting, choosing] = [await open(), await open()]
  await pick(waiting, 'LTC')
  assert.equal((await viewer.post(`${home}/sandbox/trouble`, { trouble: 'no_rates' })).status, 403)

  assert.equal((await trouble('no_rates')).status, 303)
  assert.match((await dev.get(`${home}/quickstart`)).text, /No exchange answers\. For five minutes at most/)
  assert.deepEqual([await pay(), await pay(other)], ['503 no_rate', '201'])
  assert.match((await get(pathOf(choosing))).text, /No coin can be taken at the moment/)
  assert.equal((await viewer.get(`${home}/balance`)).status, 200)

  await trouble('dead_node')
  assert.deepEqual([await pay(), await pay(other)], ['503 chain_unavailable', '201'])
  assert.match((await get(pathOf(waiting))).text, /We cannot see the Litecoin/)

  await trouble('')
  assert.equal(await pay(), '201')
  assert.doesNotMatch((await get(pathOf(waiting))).text, /cannot see/)
})

test('it is over after five minutes, and never begins for a live account', async () => {
  await trouble('no_rates')
  assert.equal(await pay(), '503 no_rate')
  await gateway.db.query(
    "update accounts set sandbox_trouble_until = sandbox_trouble_until - interval '5 minutes'",
  )
  assert.equal(await pay(), '201')
  await assert.rejects(
    gateway.db.query("update accounts set mode = 'live', sandbox_trouble = 'no_rates' where id = $1", [
      account.id,
    ]),
    { code: '23514' },
  )
})
