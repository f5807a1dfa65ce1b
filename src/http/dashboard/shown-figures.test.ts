/** What is confirmed is what was shown: where less would arrive by then, it is shown and asked anew, and nothing is asked for. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { hiddenField, homeOf, testPerson, type Visitor } from '../../../test/dashboard.ts'
import { testPayment } from '../../../test/gateway.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { showId } from '../../core/ids.ts'
import { storeFeeRates } from '../../treasury/fee-rates.sql.ts'
import { hashPassword } from '../../users/password.ts'

const CODE = 'quiet amber lantern'
const story = await tellPayouts('sim-litecoin')
const { gateway, account } = story
const { db } = gateway
await story.earn('LTC', 5_000_000n)
const late = await testPayment(gateway, account)
await story.endWindow(late)
await story.mine(1)
await story.look()
await story.payAndConfirm(late, late.dueAtoms)
const app = await testApp(gateway)
const owner = await testPerson(gateway, app, { account, role: 'owner' })
const operator = await testPerson(gateway, app, { isOperator: true })
await db.query('update users set password_hash = $1', [await hashPassword(CODE)])
const home = homeOf(account)
const to = DESTINATIONS['sim-litecoin']
const rateIs = (rate: bigint) => storeFeeRates(db, 'sim-litecoin', { rate, priorityRate: 0n })
const asked = async () => (await db.query('select 1 from withdrawals')).rows.length

const LINES = `${to},0.5,LTC\n${to},0.25,LTC`
const ACTS: Readonly<Record<string, { by: Visitor; path: string; form: Record<string, string> }>> = {
  'a withdrawal': {
    by: owner,
    path: `${home}/withdrawals`,
    form: { asset: 'LTC', amount: '1', destination_address: to },
  },
  'a bulk payout': {
    by: owner,
    path: `${home}/withdrawals/batches`,
    form: { name: 'Salaries', payouts: LINES },
  },
  'a refund': {
    by: owner,
    path: `${home}/payments/${showId('pay', late.id)}/refund`,
    form: { amount: '0.1', destination_address: to },
  },
  'a payout of fees': {
    by: operator,
    path: '/dashboard/operator/money/pay-outs',
    form: { of: 'fees test LTC', amount: '0.1', destination_address: to },
  },
}

for (const [name, { by, path, form }] of Object.entries(ACTS))
  test(`${name} is confirmed as it was shown, or shown again`, async () => {
    const before = await asked()
    const send = (page: Awaited<ReturnType<Visitor['get']>>, shown = hiddenField(page, 'shown')) =>
      by.post(path, { ...form, shown, challenge: hiddenField(page, 'challenge'), code: CODE })
    await rateIs(10_000n)
    const first = await by.post(path, form)
    assert.equal(first.status, 200, first.text)
    assert.match(hiddenField(first, 'shown'), /^LTC \d+ \d+$/)
    await rateIs(100_000n)
    const again = await send(first)
    assert.equal(again.status, 409, again.text)
    assert.match(again.text, /Check and confirm Less would arrive now than you were shown/)
    assert.notEqual(hiddenField(again, 'shown'), hiddenField(first, 'shown'))
    assert.equal(await asked(), before)
    // With a password alone, the operator comes no further.
    if (by === operator) return
    assert.equal((await send(again, 'LTC none')).status, 409, 'what no page of ours wrote')
    const page = await by.post(path, form)
    // The network’s own ups and downs ask nobody twice, and a better price nobody at all.
    await rateIs(110_000n)
    const done = await send(page)
    assert.equal(done.status, 303, done.text)
    assert.ok((await asked()) > before)
  })

test('cheaper than it was shown is no reason to ask again', async () => {
  await rateIs(100_000n)
  const { path, form } = ACTS['a withdrawal'] ?? assert.fail()
  const page = await owner.post(path, form)
  await rateIs(10_000n)
  const fields = { shown: hiddenField(page, 'shown'), challenge: hiddenField(page, 'challenge'), code: CODE }
  assert.equal((await owner.post(path, { ...form, ...fields })).status, 303)
})
