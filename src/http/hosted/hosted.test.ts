/** Every state of the checkout on a running application, as a browser without JavaScript sees it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testSession } from '../../../test/gateway.ts'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { MAINNET_TOKENS } from '../../core/assets.ts'
import { newPublicId, showId } from '../../core/ids.ts'
import { acceptPayment } from '../../flows/payments/resolve-payment.ts'

const COIN = 100_000_000n

const hosted = await testHosted()
const { story, open, get, post, pick, show, stateOf, expire } = hosted
const { gateway } = story

const look = () => story.look()

test('a buyer picks a coin, pays, and sees each step; the receipt leads on to success_url', async () => {
  const id = await open({ successUrl: 'https://shop.example/thanks?o=7&x=1' })
  const choice = await show(id)
  assert.deepEqual([choice.status, choice.state], [200, 'choose'])
  assert.match(choice.text, /\$100\.00 Order 7/)
  assert.match(choice.text, /Litecoin LTC Litecoin simulated 1 LTC/)
  assert.match(choice.text, /Bitcoin BTC Bitcoin simulated 0\.00153847 BTC/)

  const payment = await pick(id)
  const waiting = await show(id)
  assert.equal(waiting.state, 'waiting')
  assert.ok(waiting.text.includes(payment.address))
  assert.ok(waiting.html.includes(`href="litecoin:${payment.address}?amount=1"`))
  assert.match(waiting.html, /<svg class="qr"/)
  assert.match(waiting.html, /<noscript><meta http-equiv="refresh" content="15"><\/noscript>/)
  assert.match(waiting.text, /Time left: 30 minutes/)

  const txid = await story.pay(payment, COIN)
  await look()
  const seen = await show(id)
  assert.equal(seen.state, 'seen')
  assert.ok(seen.text.includes(txid))
  assert.ok(!seen.text.includes(payment.address), 'nothing more is to be sent there')

  await story.mine(2)
  await look()
  const confirming = await show(id)
  assert.equal(confirming.state, 'confirming')
  assert.match(confirming.text, /2 of 6 confirmations/)

  await story.mine(4)
  await look()
  const paid = await show(id)
  assert.equal(paid.state, 'paid')
  assert.ok(paid.html.includes('href="https://shop.example/thanks?o=7&amp;x=1"'))
  assert.match(paid.text, /Receipt For Order 7 Amount \$100\.00 Paid 1 LTC/)
  assert.doesNotMatch(paid.html, /data-version="|http-equiv="refresh"/)
})

test('too little: what is missing with its code; the rest completes the payment', async () => {
  const id = await open()
  const payment = await pick(id)
  await story.pay(payment, 30_000_000n)
  await look()
  const lower = await show(id)
  assert.equal(lower.state, 'lower')
  assert.match(lower.text, /0\.3 LTC of 1 LTC arrived/)
  assert.ok(lower.html.includes(`litecoin:${payment.address}?amount=0.7"`))
  assert.match(lower.text, /Time left/)
  await story.pay(payment, 70_000_000n)
  await look()
  assert.equal(await stateOf(id), 'seen')
  await story.mine(6)
  await look()
  assert.equal(await stateOf(id), 'paid')
})

test('too little when the time is up: nothing more is asked for, and the merchant can settle it', async () => {
  const id = await open({ cancelUrl: 'https://shop.example/cart' })
  const payment = await pick(id)
  await story.pay(payment, 30_000_000n)
  await look()
  await story.endWindow(payment)
  const over = await show(id)
  assert.equal(over.state, 'lower_over')
  assert.match(over.text, /please send nothing more/)
  assert.ok(over.text.includes(showId('pay', payment.id)))
  assert.ok(!over.text.includes(payment.address))
})

test('too much is paid, and the difference is named', async () => {
  const id = await open()
  const payment = await pick(id)
  await story.pay(payment, 150_000_000n)
  await story.mine(6)
  await look()
  const higher = await show(id)
  assert.equal(higher.state, 'higher')
  assert.match(higher.text, /Needed 1 LTC Received 1\.5 LTC Difference 0\.5 LTC/)
  assert.match(higher.text, /Ask Shop about the difference/)
  await hosted.refund(payment)
  const back = await show(id)
  assert.equal(back.state, 'higher')
  assert.match(back.text, /Your order is paid, and Shop is sending 0\.49\d* LTC back/)
  assert.match(back.text, /Refunded 0\.49\d* LTC To your address tltc1/)
  assert.doesNotMatch(back.text, /Where should a refund go|ask Shop/i)
})

test('a shortfall that the merchant accepted is not called too little to ask for', async () => {
  const id = await open()
  const payment = await pick(id)
  await story.payAndConfirm(payment, 30_000_000n)
  await story.endWindow(payment)
  await look()
  await gateway.db.transaction((tx) => acceptPayment(gateway, tx, story.account, payment.id))
  const paid = await show(id)
  assert.equal(paid.state, 'paid')
  assert.match(paid.text, /Paid 0\.3 LTC/)
  assert.doesNotMatch(paid.text, /less arrived/)
})

test('an expired price is renewed with one click, at a fresh address', async () => {
  const id = await open()
  const first = await pick(id)
  await story.endWindow(first)
  assert.equal(await stateOf(id), 'ending')
  await expire(first)
  const expired = await show(id)
  assert.equal(expired.state, 'expired')
  assert.ok(!expired.html.includes(first.address))
  const second = await pick(id)
  assert.notEqual(second.address, first.address)
  assert.equal(await stateOf(id), 'waiting')
})

test('the coin may be changed while nothing was seen; the address left behind stays watched', async () => {
  const id = await open()
  const first = await pick(id, 'LTC')
  const coins = await get(`${pathOf(id)}/coins`)
  assert.equal(coins.state, 'choose')
  assert.match(coins.text, /Keep paying with LTC/)
  const second = await pick(id, 'BTC')
  assert.equal(second.asset, 'BTC')
  assert.equal((await story.read(first)).status, 'cancelled')
  assert.ok((await show(id)).text.includes(second.address))

  const busy = await open()
  const payment = await pick(busy)
  await story.pay(payment, COIN)
  await look()
  const refused = await post(`${pathOf(busy)}/coin`, { asset: 'BTC' })
  assert.deepEqual([refused.status, refused.location], [303, pathOf(busy)])
  const away = await get(`${pathOf(busy)}/coins`)
  assert.deepEqual([away.status, away.location], [303, pathOf(busy)])
  assert.equal((await hosted.payment(busy)).id, payment.id)
})

test('a cancelled checkout leads back to the shop, and can not be paid any more', async () => {
  const id = await open({ cancelUrl: 'https://shop.example/cart' })
  const payment = await pick(id)
  const cancelled = await post(`${pathOf(id)}/cancel`, {})
  assert.deepEqual([cancelled.status, cancelled.location], [303, pathOf(id)])
  const page = await show(id)
  assert.equal(page.state, 'cancelled')
  assert.match(page.html, /href="https:\/\/shop\.example\/cart" data-return data-returning=/)
  assert.equal((await story.read(payment)).status, 'cancelled')
  await post(`${pathOf(id)}/coin`, { asset: 'BTC' })
  assert.equal(await stateOf(id), 'cancelled')
})

test('who cancels without a script is led to cancel_url at once; a script, and a frame, are not', async () => {
  const cancel = async (dest: string, cancelUrl?: string) => {
    const id = await open(cancelUrl ? { cancelUrl } : {})
    await pick(id)
    const { status, state, headers, location } = await post(
      `${pathOf(id)}/cancel`,
      {},
      { 'sec-fetch-dest': dest },
    )
    return { status, state, refresh: headers.refresh, isBack: location === pathOf(id) }
  }
  const cart = 'https://shop.example/cart?a=1'
  const led = { status: 200, state: 'cancelled', refresh: `0; url=${cart}`, isBack: false }
  assert.deepEqual(await cancel('document', cart), led)
  const stays = { status: 303, state: undefined, refresh: undefined, isBack: true }
  assert.deepEqual(await cancel('empty', cart), stays)
  assert.deepEqual(await cancel('iframe', cart), stays)
  assert.deepEqual(await cancel('document'), stays)
  const id = await open({ cancelUrl: cart })
  await story.pay(await pick(id), 100_000_000n)
  await look()
  const seen = await post(`${pathOf(id)}/cancel`, {}, { 'sec-fetch-dest': 'document' })
  assert.deepEqual([seen.status, seen.location], [303, pathOf(id)], 'nothing was cancelled')
})

test('a session that was left alone for a day has ended', async () => {
  const id = await open()
  await gateway.db.query(`update checkout_sessions set expires_at = now() where id = $1`, [id])
  assert.equal(await stateOf(id), 'ended')
})

test('a replaced payment says so; within the window it waits again', async () => {
  const id = await open()
  const payment = await pick(id)
  const txid = await story.pay(payment, COIN)
  await look()
  assert.equal(await stateOf(id), 'seen')
  await story.replace(txid)
  await look()
  assert.equal(await stateOf(id), 'waiting')
  const again = await story.pay(payment, COIN)
  await look()
  await story.endWindow(payment)
  await story.replace(again)
  await look()
  assert.equal(await stateOf(id), 'replaced')
})

test('where no wallet knows the network the code holds the address alone, and says so; a token is warned of', async () => {
  for (const asset of ['USDC', 'ETH']) {
    const id = await open()
    await pick(id, asset)
    const page = await show(id)
    assert.doesNotMatch(page.html, /href="ethereum:|Open in wallet/)
    assert.match(page.text, /The code holds the address alone: enter the amount yourself/)
    assert.equal(page.text.includes(`Ethereum (ERC-20) simulated, ${asset} only`), asset === 'USDC')
  }
  const account = await testAccount(gateway, 'live')
  await gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('ethereum', 'ETH', '1:x', 1, 'x', now(), now() + interval '1 hour')`,
  )
  for (const [asset, link] of [
    ['ETH', (address: string) => `ethereum:${address}@1?value=40000000000000000`],
    [
      'USDT',
      (address: string) =>
        `ethereum:${MAINNET_TOKENS.USDT}@1/transfer?address=${address}&amp;uint256=100000000`,
    ],
  ] as const) {
    const { id } = await testSession(gateway, account)
    const { address } = await pick(id, asset)
    const page = await show(id)
    assert.ok(page.html.includes(`href="${link(address)}"`), page.html)
    assert.match(page.text, /Code with the address alone If your wallet shows another recipient/)
    // No wallet has a network called `Ethereum (ERC-20) mainnet`.
    assert.match(page.html, /data-chain="[^"]* Ethereum mainnet[ ,.]/)
  }
})

test('unknown sessions and links are told kindly, whatever stands in their place', async () => {
  const unknown = [newPublicId('cs'), newPublicId('cs')].map((id) => pathOf(id))
  const more = ['/checkout/nonsense', `/checkout/${'x'.repeat(900)}`, '/pay/nonsense', '/pay/', '/checkout/']
  for (const path of [...unknown, ...more, `${unknown[0]}/x`, `${pathOf(await open())}/`]) {
    const page = await get(path)
    assert.deepEqual([page.status, page.state], [404, 'unknown'])
    assert.match(page.text, /There is nothing here/)
  }
  assert.equal((await post(`${unknown[0]}/coin`, { asset: 'LTC' })).status, 404)
  assert.equal((await post(`${unknown[0]}/cancel`, {})).status, 404)
  assert.equal((await get(`${unknown[0]}/events`)).status, 404)
})

test('an address that was not derived here is never shown', async () => {
  const id = await open()
  const payment = await pick(id)
  const thief = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kw6hpla'
  await gateway.db.query('update payments set address = $2 where id = $1', [payment.id, thief])
  const page = await show(id)
  assert.deepEqual([page.status, page.state], [500, 'unavailable'])
  assert.ok(!page.html.includes(thief))
})
