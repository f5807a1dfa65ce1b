/** What docs/sandbox.md says about payouts that fail, by the API alone. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { call, testApp, testKey } from '../../../test/api.ts'
import { testAccount, testPayment } from '../../../test/gateway.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { SIMULATED_CHAINS } from '../../chains/simulated/network.ts'
import { newId, showId } from '../../core/ids.ts'
import { SCOPES } from '../../core/scopes.ts'
import { failWhereAsked } from '../../flows/sandbox.ts'

const guide = await readFile(new URL('../../../docs/sandbox.md', import.meta.url), 'utf8')
const [row = ''] = /^\| a withdrawal or a refund that fails.*$/m.exec(guide) ?? []
const [bitcoin = '', litecoin = '', ethereum = ''] = [...row.matchAll(/`(\w{40,})`/g)].map(
  ([, address]) => address,
)
const FAILING = { 'sim-bitcoin': bitcoin, 'sim-litecoin': litecoin, 'sim-ethereum': ethereum }
const COINS = { 'sim-bitcoin': 'BTC', 'sim-litecoin': 'LTC', 'sim-ethereum': 'USDC' } as const

for (const chain of SIMULATED_CHAINS)
  test(`a withdrawal to the guide’s address on ${chain} fails and comes back; one to another address does not`, async () => {
    const story = await tellPayouts(chain)
    const [asset, amount] = [COINS[chain], chain === 'sim-ethereum' ? '100' : '0.1']
    await story.earn(asset, 1_000_000n)
    const app = await testApp(story.gateway)
    const key = await testKey(story.gateway.db, story.account, SCOPES)
    const balance = async () => (await call(app, key, 'GET', '/balance')).data
    const before = await balance()
    const order = { asset, amount, destination_address: FAILING[chain] }
    const { status, data } = await call(app, key, 'POST', '/withdrawals', { body: order })
    assert.deepEqual([status, data.status], [201, 'requested'])
    await story.turn()
    const { data: failed } = await call(app, key, 'GET', `/withdrawals/${data.id}`)
    assert.deepEqual([failed.status, failed.failure_reason, failed.tx_hash], ['failed', 'sandbox', null])
    assert.deepEqual(await balance(), before)
    assert.deepEqual((await story.events()).slice(-1), ['payout.failed'])

    const other = await story.request(asset, amount)
    await story.turn()
    assert.notEqual((await story.now(other)).status, 'failed')
  })

test('a refund to it fails too, and can be asked for again', async () => {
  const story = await tellPayouts('sim-litecoin')
  const payment = await testPayment(story.gateway, story.account)
  await story.payAndConfirm(payment, payment.dueAtoms / 2n)
  const app = await testApp(story.gateway)
  const key = await testKey(story.gateway.db, story.account, SCOPES)
  const refund = (destination_address: string) =>
    call(app, key, 'POST', `/payments/${showId('pay', payment.id)}/refund`, { body: { destination_address } })
  const { data } = await refund(FAILING['sim-litecoin'])
  await story.turn()
  const { data: failed } = await call(app, key, 'GET', `/withdrawals/${data.id}`)
  assert.deepEqual([failed.status, failed.failure_reason], ['failed', 'sandbox'])
  const again = await refund(DESTINATIONS['sim-litecoin'])
  assert.equal(again.status, 201, again.text)
})

test('a live account’s is left alone', async () => {
  const story = await tellPayouts('sim-litecoin')
  const live = await testAccount(story.gateway, 'live')
  await story.gateway.db.transaction((tx) =>
    failWhereAsked(tx, live, {
      accountId: live.id,
      id: newId('wd'),
      chain: 'litecoin',
      destination: FAILING['sim-litecoin'],
    }),
  )
})
