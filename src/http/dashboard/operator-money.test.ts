/** The operator's page of his own money: what can be taken out is shown, taken only behind a fresh confirmation, and recorded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testApp } from '../../../test/api.ts'
import { codeOf, hiddenField, testPerson } from '../../../test/dashboard.ts'
import { testCause } from '../../../test/gateway.ts'
import { COIN, OURS, openScene } from '../../../test/live-scene.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { findAccount } from '../../accounts/accounts.sql.ts'
import { GATEWAY } from '../../core/gateway-account.ts'
import { showId } from '../../core/ids.ts'
import { readOwnBalances, requestOwnPayout } from '../../flows/withdrawals/request-own-payout.ts'
import { post } from '../../ledger/post.sql.ts'

const PAGE = '/dashboard/operator/money'

test('one that waits is called back however many came after it', async () => {
  const scene = await openScene()
  const { gateway } = scene
  await gateway.db.transaction((tx) =>
    post(tx, {
      accountId: GATEWAY,
      chain: 'bitcoin',
      cause: testCause('fees'),
      transfers: [{ asset: 'BTC', debit: 'wallet', credit: 'fees', atoms: COIN }],
    }),
  )
  const take = () =>
    gateway.db.transaction((tx) =>
      requestOwnPayout(gateway, tx, {
        kind: 'fees',
        mode: 'live',
        asset: 'BTC',
        amount: '0.01',
        destination: OURS,
      }),
    )
  const first = await take()
  for (let count = 0; count < 12; count++) await take()
  const operator = await testPerson(gateway, await testApp(gateway), { isOperator: true })
  const cancelled = await operator.post(`${PAGE}/pay-outs/${showId('wd', first.id)}/cancel`)
  assert.equal(cancelled.location, `${PAGE}?done=withdrawal-cancelled`)
  assert.ok((await scene.now(first)).cancelWanted)
})

test('fees are shown, paid out behind a code of the operator’s, cancelled, and set for an account', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { gateway, account } = story
  await story.earn('LTC', 5_000_000n)
  const operator = await testPerson(gateway, await testApp(gateway), { isOperator: true, factor: 'password' })
  const setup = await operator.get('/dashboard/me/totp')
  const secret = /data-copy="([A-Z2-7]{32})"/.exec(setup.html)?.[1] ?? assert.fail(setup.text)
  await operator.post('/dashboard/me/totp', { code: codeOf(secret, -1) })

  const page = await operator.get(PAGE)
  assert.match(page.text, /Fees earned .* 5 LTC/)
  assert.match(page.html, /value="fees test LTC"/)
  const form = { of: 'fees test LTC', amount: '2', destination_address: DESTINATIONS['sim-litecoin'] }
  const beyond = await operator.post(`${PAGE}/pay-outs`, { ...form, amount: '6' })
  assert.deepEqual(
    [beyond.status, hiddenField(beyond, 'challenge')],
    [422, ''],
    'nobody confirms what cannot be',
  )
  assert.match(beyond.text, /Amount : exceeds the 5 LTC that can be taken out/)
  const asked = await operator.post(`${PAGE}/pay-outs`, form)
  assert.match(asked.text, /Send .* LTC of fees to/)
  const { rowCount: none } = await gateway.db.query('select from withdrawals')
  assert.equal(none, 0, 'nothing is asked for before it is confirmed')
  const confirmed = await operator.post(`${PAGE}/pay-outs`, {
    ...form,
    challenge: hiddenField(asked, 'challenge'),
    code: codeOf(secret),
  })
  assert.deepEqual([confirmed.status, confirmed.location], [303, `${PAGE}?done=withdrawn`])
  const { rows } = await gateway.db.query<{ id: string; amount_atoms: bigint }>(
    "select id, amount_atoms from withdrawals where kind = 'fees'",
  )
  assert.equal(rows[0]?.amount_atoms, 200_000_000n)
  const listed = await operator.get(PAGE)
  const id = /wd_[0-9a-z]{26}/.exec(listed.html)?.[0] ?? assert.fail('it is listed')

  const cancelled = await operator.post(`${PAGE}/pay-outs/${id}/cancel`)
  assert.equal(cancelled.location, `${PAGE}?done=withdrawal-cancelled`)
  await story.turn()
  const [balance] = await readOwnBalances(gateway.db, { chain: 'sim-litecoin', asset: 'LTC' })
  assert.deepEqual([balance?.fees, balance?.leaving], [500_000_000n, 0n])

  const tooMuch = await operator.post(`${PAGE}/fees`, { account: showId('acct', account.id), fee: '10.01' })
  assert.equal(tooMuch.status, 400)
  const set = await operator.post(`${PAGE}/fees`, { account: showId('acct', account.id), fee: '0.5' })
  assert.equal(set.location, `${PAGE}?done=saved`)
  assert.equal((await findAccount(gateway.db, account.id))?.feeBps, 50)
  await operator.post(`${PAGE}/fees`, { account: showId('acct', account.id), fee: '' })
  assert.equal((await findAccount(gateway.db, account.id))?.feeBps, null)
  const { rows: acts } = await gateway.db.query<{ action: string; before: unknown; after: unknown }>(
    "select action, before, after from audit_log where action like 'fees.%' or action = 'account.change' order by at, id",
  )
  assert.deepEqual(
    acts.map(({ action }) => action),
    ['fees.pay_out', 'fees.cancel', 'account.change', 'account.change'],
  )
  assert.deepEqual(
    acts.slice(2).map(({ before, after }) => [before, after]),
    [
      [{ fee_bps: null }, { fee_bps: 50 }],
      [{ fee_bps: 50 }, { fee_bps: null }],
    ],
  )
})
