/** Whatever happens on a simulated chain by a request is told to its watchers, and nothing else is. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey } from '../../test/api.ts'
import { homeOf, testPerson } from '../../test/dashboard.ts'
import { pathOf, testHosted } from '../../test/hosted.ts'
import { insertPointOfSale } from '../checkout/points-of-sale.sql.ts'
import { showId } from '../core/ids.ts'
import type { Queue } from '../flows/gateway.ts'

const { story, open, pick, payment, post, app } = await testHosted()
const { gateway, account } = story
const woken: Queue[] = []
gateway.wake = (queue) => void woken.push(queue)

/** How often watchers of simulated chains are told of something while `act` is done. */
async function toldBy(act: () => Promise<unknown>): Promise<number> {
  woken.length = 0
  await act()
  return woken.filter((queue) => queue === 'sandbox').length
}

async function openCheckout() {
  const session = await open()
  await pick(session, 'LTC')
  return session
}

test('a checkout that is paid by a button tells of it once, and not when nothing is missing', async () => {
  const session = await openCheckout()
  const simulate = () => post(`${pathOf(session)}/simulate`, { confirmations: '0' })
  assert.equal(await toldBy(simulate), 1)
  await post(`${pathOf(session)}/cancel`, {})
  assert.equal(await toldBy(simulate), 0)
  const live = pathOf(await openCheckout())
  await gateway.db.query("update accounts set mode = 'live' where id = $1", [account.id])
  assert.equal(await toldBy(() => post(`${live}/simulate`, {})), 0)
  await gateway.db.query("update accounts set mode = 'test' where id = $1", [account.id])
})

test('so does a sale at the counter', async () => {
  const { id } = await gateway.db.transaction((tx) =>
    insertPointOfSale(tx, { accountId: account.id, name: 'Counter', currency: 'USD' }),
  )
  const { location = '' } = await post(`/pos/${showId('pos', id)}`, { amount: '5', note: '' })
  await post(`${location}/coin`, { asset: 'LTC' })
  assert.equal(await toldBy(() => post(`${location}/simulate`, {})), 1)
})

test('so do the API and the dashboard', async () => {
  const key = await testKey(gateway.db, account, ['payments:write'])
  const api = await testApp(gateway)
  const mine = (network: string) =>
    call(api, key, 'POST', '/v1/sandbox/blocks', { body: { network, count: 1 } })
  assert.equal(await toldBy(() => mine('litecoin')), 1)
  assert.equal(await toldBy(() => mine('dogecoin')), 0)

  const made = await payment(await openCheckout())
  const dev = await testPerson(gateway, app, { account, role: 'developer' })
  const rows = `${homeOf(account)}/payments/${showId('pay', made.id)}/sandbox`
  for (const act of ['pay', 'mine'])
    assert.equal(await toldBy(() => dev.post(`${rows}/${act}`, { amount: '1' })), 1, act)
})
