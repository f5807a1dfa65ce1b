/** Coins that come after the price was left: what the buyer is told of them, and that he is not asked to pay twice. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { showId } from '../../core/ids.ts'
import { findBuyerTransaction } from '../../flows/checkout/find-buyer-transaction.sql.ts'

const COIN = 100_000_000n

const hosted = await testHosted()
const { story, open, get, post, pick, show, stateOf, expire } = hosted

const look = () => story.look()

test('"I already paid": the buyer names a transaction and learns what happened', async () => {
  const id = await open()
  const payment = await pick(id)
  await expire(payment)
  const ask = async (tx: string) =>
    (await get(`${pathOf(id)}/transaction?${new URLSearchParams({ id: tx })}`)).text
  assert.match(await ask('what?'), /That is not a transaction id/)
  assert.match(await ask('ab'.repeat(32)), /We have not seen this transaction/)
  const txid = await story.pay(payment, COIN)
  await look()
  assert.equal(await stateOf(id), 'late')
  // Of a session whose price was renewed before, so that its page still asks.
  const other = await open()
  const old = await pick(other)
  await expire(old)
  await pick(other)
  assert.match(await ask(txid), /arrived late/)
  const late = await story.pay(old, COIN)
  await look()
  const found = await get(`${pathOf(other)}/transaction?id=https://explorer.example/tx/${late}`)
  assert.equal(found.state, 'waiting')
  await expire(await hosted.payment(other))
  const search = async (tx: string) => (await get(`${pathOf(other)}/transaction?id=${tx}`)).text
  assert.match(await search(late), /We see this transaction/)
  assert.match(await search(txid), /We have not seen this transaction/, "another session's transaction")
  await story.mine(6)
  await look()
  assert.match(await search(late.toUpperCase()), /held safely until Shop accepts or refunds it/)
})

test('"I already paid" finds ether that a contract passed on by the hash that the page lists', async () => {
  const id = await open()
  const payment = await pick(id)
  const txid = await story.pay(payment, COIN)
  await look()
  // Recorded from the address's balance first, as of a block, and explained by its transaction later.
  await story.gateway.db.query(
    `update deposits set tx_key = 'internal:' || tx_key where account_id = $1 and payment_id = $2`,
    [payment.accountId, payment.id],
  )
  const { rows } = await story.gateway.db.query<{ hash: string }>(
    'select tx_hash as hash from deposits where account_id = $1 and payment_id = $2',
    [payment.accountId, payment.id],
  )
  assert.equal(rows[0]?.hash, txid)
  const found = await findBuyerTransaction(story.gateway.db, id, txid)
  assert.equal(found?.status, 'seen')
  assert.equal(await findBuyerTransaction(story.gateway.db, await open(), txid), null)
})

test('what arrives late is safe, and says so', async () => {
  const id = await open()
  const payment = await pick(id)
  await expire(payment)
  await story.pay(payment, COIN)
  await look()
  const late = await show(id)
  assert.equal(late.state, 'late')
  assert.match(late.text, /Received 1 LTC/)
  assert.ok(late.text.includes(showId('pay', payment.id)))
})

test('a new price asked for on a page from before the coins came leads to what became of them', async () => {
  const id = await open()
  const payment = await pick(id)
  await expire(payment)
  assert.equal(await stateOf(id), 'expired')
  await story.pay(payment, COIN)
  await look()
  for (const asset of ['LTC', 'BTC']) {
    const refused = await post(`${pathOf(id)}/coin`, { asset })
    assert.deepEqual([refused.status, refused.location], [303, pathOf(id)])
  }
  assert.equal(await stateOf(id), 'late')
  assert.equal((await hosted.payment(id)).id, payment.id)
})

test('a part that was on its way when the buyer took another coin is told of before he pays again, until it is refunded', async () => {
  const id = await open()
  const first = await pick(id)
  const txid = await story.pay(first, COIN / 2n)
  const second = await pick(id, 'BTC')
  const versions = [(await show(id)).html.match(/data-version="([^"]+)"/)?.[1]]
  await look()
  const waiting = await show(id)
  versions.push(waiting.html.match(/data-version="([^"]+)"/)?.[1])
  assert.notEqual(versions[0], versions[1], 'the open page hears of it')
  assert.equal(waiting.state, 'waiting')
  assert.ok(waiting.text.includes(second.address))
  const said = `0.5 LTC arrived for an earlier price of this checkout. Before you pay anything more, ask Shop about it, and name the payment number ${showId('pay', first.id)} .`
  assert.ok(waiting.text.startsWith(said), waiting.text)
  assert.ok((await get(`${pathOf(id)}/coins`)).text.startsWith(said))
  assert.match((await get(`${pathOf(id)}/transaction?id=${txid}`)).text, /0\.5 LTC arrived/)
  const other = await open()
  await pick(other)
  assert.doesNotMatch((await show(other)).text, /arrived/, "another session's coins")

  await story.mine(6)
  await look()
  assert.ok((await show(id)).text.startsWith(said), 'held')
  await hosted.refund(first)
  assert.doesNotMatch((await show(id)).text, /arrived/)
})

test('the rest that came late makes the payment late, not short', async () => {
  const id = await open()
  const payment = await pick(id)
  await story.pay(payment, 30_000_000n)
  await look()
  await story.endWindow(payment)
  await story.pay(payment, 20_000_000n)
  await look()
  const short = await show(id)
  assert.equal(short.state, 'lower_over')
  assert.match(short.text, /Needed 1 LTC Received 0\.5 LTC/)
  await story.pay(payment, 50_000_000n)
  await look()
  const late = await show(id)
  assert.equal(late.state, 'late')
  assert.match(late.text, /Needed 1 LTC Received 1 LTC/)
})

test('what was refunded is said to be on its way back, and nobody is told to ask for it', async () => {
  const id = await open()
  const payment = await pick(id)
  await expire(payment)
  await story.payAndConfirm(payment, COIN)
  assert.equal(await stateOf(id), 'late')
  await hosted.refund(payment)
  const page = await show(id)
  assert.equal(page.state, 'refunded')
  assert.match(page.text, /Payment refunded Shop is sending your coins back/)
  assert.doesNotMatch(page.text, /ask Shop/)
})

test('who was sent a part back within the window is told so, and then asked for the whole price, not for the rest', async () => {
  const id = await open()
  const payment = await pick(id)
  await story.payAndConfirm(payment, COIN / 2n)
  const lower = await show(id)
  assert.equal(lower.state, 'lower')
  assert.match(lower.text, /0\.5 LTC of 1 LTC arrived/)
  await hosted.refund(payment)
  assert.equal(await stateOf(id), 'refunded')
  await story.pay(payment, COIN / 4n)
  await look()
  const again = await show(id)
  assert.equal(again.state, 'lower')
  assert.match(again.text, /0\.25 LTC of 1 LTC arrived/)
  assert.match(again.text, /Still missing 0\.75 LTC/)
  await story.pay(payment, COIN - COIN / 4n)
  await look()
  assert.equal(await stateOf(id), 'seen')
  await story.mine(6)
  await look()
  assert.equal(await stateOf(id), 'paid')
})
