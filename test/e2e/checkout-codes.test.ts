/** The codes that buyers scan, read from pictures of the page by a decoder that is not the encoder's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account } from '../../src/accounts/account.ts'
import { insertPointOfSale } from '../../src/checkout/points-of-sale.sql.ts'
import type { Asset } from '../../src/core/assets.ts'
import { readId, type SessionId, showId } from '../../src/core/ids.ts'
import { readPayment } from '../../src/flows/payments/read-payment.ts'
import type { PaymentResource } from '../../src/payments/payment-resource.ts'
import { startBrowser } from '../browser.ts'
import { testAccount, testSession } from '../gateway.ts'
import { pathOf, testHosted } from '../hosted.ts'
import { openQrReader } from '../qr-reader.ts'

const COIN = 100_000_000n

const hosted = await testHosted()
const { story } = hosted
const { gateway } = story
const origin = await hosted.app.listen({ port: 0, host: '127.0.0.1' })
const browser = await startBrowser()
const codes = await openQrReader(browser)
const page = await browser.newPage({ locale: 'en-US' })

/** An account whose Ethereum wallets know. */
async function liveAccount(): Promise<Account> {
  await gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('ethereum', 'ETH', '1:x', 1, 'x', now(), now() + interval '1 hour') on conflict (chain) do nothing`,
  )
  return testAccount(gateway, 'live')
}

/** What the API says of a session's payment. */
async function depositOf(account: Account, id: SessionId): Promise<PaymentResource['deposit']> {
  const view = await readPayment(gateway, gateway.db, account.id, (await hosted.payment(id)).id)
  assert.ok(view)
  return view.deposit
}

for (const asset of ['BTC', 'LTC'] as const)
  test(`the code of ${asset} is the qr_data of the API, on every screen`, async () => {
    const id = await hosted.open()
    await hosted.pick(id, asset)
    await page.goto(origin + pathOf(id))
    const { qr_data, payment_uri } = await depositOf(story.account, id)
    assert.equal(await codes.read(page), qr_data)
    assert.equal(payment_uri, qr_data)
  })

for (const asset of ['ETH', 'USDC', 'USDT'] as const satisfies readonly Asset[])
  test(`the code of ${asset} is the payment_uri of the API; the one beside it the address alone`, async () => {
    const account = await liveAccount()
    const { id } = await testSession(gateway, account)
    await hosted.pick(id, asset)
    await page.goto(origin + pathOf(id))
    const { address, payment_uri } = await depositOf(account, id)
    assert.match(payment_uri ?? '', /^ethereum:0x[0-9a-fA-F]{40}@1[/?]/)
    assert.equal(await codes.read(page, '.code > .qr'), payment_uri)
    await page.locator('.code summary').click()
    assert.equal(await codes.read(page, '.code details .qr'), address)
  })

test('where no wallet knows the network the code is the address, and nothing that a wallet could take for ether', async () => {
  const id = await hosted.open()
  await hosted.pick(id, 'ETH')
  await page.goto(origin + pathOf(id))
  assert.equal(await codes.read(page), (await depositOf(story.account, id)).address)
})

test('the code of what is missing asks for what is missing', async () => {
  const id = await hosted.open()
  const payment = await hosted.pick(id)
  await story.pay(payment, COIN / 4n)
  await story.look()
  await page.goto(origin + pathOf(id))
  await page.locator('#content[data-state=lower]').waitFor()
  assert.equal(await codes.read(page), `litecoin:${payment.address}?amount=0.75`)
})

test("a counter's code leads to the buyer's own checkout, and after a coin it is that of the payment", async () => {
  const { id: pointId } = await gateway.db.transaction((tx) =>
    insertPointOfSale(tx, { accountId: story.account.id, name: 'Counter', currency: 'USD' }),
  )
  await page.goto(`${origin}/pos/${showId('pos', pointId)}`)
  await page.fill('#amount', '100')
  await page.getByRole('button', { name: 'Charge' }).click()
  await page.locator('#content[data-state=choose]').waitFor()
  const text = await codes.read(page)
  const sold = readId('cs', new URL(text).pathname.split('/').at(-1) ?? '')
  assert.ok(sold, text)
  assert.equal(new URL(text).pathname, pathOf(sold))
  assert.equal((await hosted.show(sold)).state, 'choose', 'nothing is chosen for the buyer yet')
  await page.getByRole('button', { name: 'Litecoin' }).click()
  await page.locator('#content[data-state=waiting]').waitFor()
  assert.equal(await codes.read(page), (await depositOf(story.account, sold)).qr_data)
})
