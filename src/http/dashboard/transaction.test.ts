/** Where people of a merchant are sent to look at a transaction. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testHosted } from '../../../test/hosted.ts'
import { showId, type WithdrawalId } from '../../core/ids.ts'

test('what came and what went is looked at in the explorer of its network, and in none while coins are simulated', async () => {
  const hosted = await testHosted({ hosted: { networks: { litecoin: 'testnet' } } })
  const { gateway, account } = hosted.story
  const payment = await hosted.pick(await hosted.open())
  await hosted.expire(payment)
  const hash = await hosted.story.payAndConfirm(payment, 100_000_000n)
  await hosted.refund(payment)
  const { rows } = await gateway.db.query<{ id: WithdrawalId }>(
    `update withdrawals set status = 'broadcast', broadcast_at = now(), tx_hash = $1 returning id`,
    ['ab'.repeat(32)],
  )
  const person = await testPerson(gateway, hosted.app, { account, role: 'owner' })
  const pages = [
    [`payments/${showId('pay', payment.id)}`, hash],
    [`withdrawals/${showId('wd', rows[0]?.id ?? assert.fail())}`, 'ab'.repeat(32)],
  ] as const
  for (const isLive of [false, true]) {
    await gateway.db.query('update accounts set mode = $2 where id = $1', [
      account.id,
      isLive ? 'live' : 'test',
    ])
    for (const [path, transaction] of pages) {
      const { html } = await person.get(`${homeOf(account)}/${path}`)
      assert.ok(html.includes(transaction), path)
      const link = `<a href="https://litecoinspace.org/testnet/tx/${transaction}" target="_blank" rel="noopener noreferrer">`
      assert.equal(html.includes(link), isLive, path)
      assert.equal(html.includes('litecoinspace'), isLive, path)
    }
  }
})
