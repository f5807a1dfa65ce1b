import assert from 'node:assert/strict'
import test from 'node:test'
import { testPayment, testSession } from '../../../test/gateway.ts'
import { TEST_RATES } from '../../../test/rates.ts'
import { type Story, tellStory } from '../../../test/story.ts'
import {
  findLinkForVisitor,
  insertPaymentLink,
  setPaymentLinkActive,
} from '../../checkout/payment-links.sql.ts'
import { ASSET_FACTS, ASSETS, type Asset } from '../../core/assets.ts'
import { invariant, Refusal } from '../../core/errors.ts'
import { newPublicId, type SessionId } from '../../core/ids.ts'
import type { Payment } from '../../payments/payment.ts'
import { lockPayment } from '../../payments/payments.sql.ts'
import { fixedRates } from '../../rates/fixed.ts'
import { changeAccount } from '../accounts/change-account.ts'
import { acceptPayment } from '../payments/resolve-payment.ts'
import {
  type Checkout,
  cancelCheckout,
  openPaymentLink,
  pickCoin,
  readCheckout,
  type SessionRequest,
} from './checkout.ts'
import { offerCoins } from './offer-coins.ts'
import { checkoutUrl, paymentLinkUrl } from './page-urls.ts'

/** A price of 100 dollars is exactly one litecoin. */
const COIN = 100_000_000n

const inTx = <R>(story: Story, work: Parameters<typeof story.gateway.db.transaction<R>>[0]) =>
  story.gateway.db.transaction<R>(work)

const start = (story: Story, request: Partial<SessionRequest> = {}) =>
  testSession(story.gateway, story.account, { reference: 'order-7', ...request })

const pick = (
  story: Story,
  id: SessionId,
  asset: Asset = 'LTC',
  typed: { amountMinor?: bigint; email?: string } = {},
) =>
  inTx(story, (tx) =>
    pickCoin(story.gateway, tx, id, {
      asset,
      amountMinor: typed.amountMinor ?? null,
      email: typed.email ?? null,
    }),
  )

async function look(story: Story, id: SessionId): Promise<Checkout> {
  const checkout = await readCheckout(story.gateway.db, id)
  invariant(checkout, 'the session is there')
  return checkout
}

/** The chain must have been seen after the window's end; clocks of a millisecond may need a second look. */
async function expire(story: Story, payment: Payment): Promise<void> {
  await story.endWindow(payment)
  while ((await story.read(payment)).status === 'pending') await story.look()
  assert.equal((await story.read(payment)).status, 'expired')
}

const refuses = (reason: string) => (error: unknown) => error instanceof Refusal && error.reason === reason

test('a session is open until its payment is paid, and complete with it', async () => {
  const story = await tellStory()
  const { id } = await start(story, { customerEmail: 'ann@shop.example' })
  assert.deepEqual([(await look(story, id)).status, (await look(story, id)).payment], ['open', null])

  const payment = await pick(story, id)
  assert.equal(payment.dueAtoms, COIN)
  assert.equal(payment.reference, 'order-7')
  assert.equal(payment.customerEmail, 'ann@shop.example')
  assert.equal(payment.checkoutSessionId, id)

  await story.pay(payment, COIN)
  await story.look()
  assert.equal((await look(story, id)).status, 'open')
  await story.mine(6)
  await story.look()
  assert.equal((await look(story, id)).status, 'complete')
  await assert.rejects(pick(story, id), refuses('session_ended'))

  await story.reorganise(6)
  await story.look()
  assert.equal((await look(story, id)).status, 'open', 'what the chain takes back is not complete')
})

test('picking the same coin again, twice at once too, makes one payment', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const made = await Promise.all([pick(story, id), pick(story, id), pick(story, id)])
  assert.equal(new Set(made.map((payment) => payment.id)).size, 1)
  assert.deepEqual(await story.events(), ['payment.created'])
})

test('another coin cancels the payment that was left, whose address stays watched', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const first = await pick(story, id)
  const second = await pick(story, id, 'BTC')
  assert.equal((await story.read(first)).status, 'cancelled')
  assert.equal((await look(story, id)).payment?.id, second.id)
  await story.payAndConfirm(first, COIN / 2n)
  assert.equal((await story.read(first)).deposits.length, 1)
  assert.equal(await story.balance('unresolved'), COIN / 2n, 'a part pays nothing')
  await story.payAndConfirm(first, COIN / 2n)
  assert.equal((await story.read(first)).status, 'completed')
  assert.deepEqual(
    (await look(story, id)).payment?.id,
    first.id,
    'all of it is what the session was paid with',
  )
  assert.equal((await story.read(second)).status, 'cancelled')
  assert.deepEqual(await story.events(), [
    'payment.created',
    'payment.created',
    'payment.confirming',
    'payment.completed',
  ])
  await story.proveBooks()
})

test('of two coins that were left and paid in one block, one is taken and the other is held', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const first = await pick(story, id)
  await pick(story, id, 'BTC')
  const third = await pick(story, id)
  const present = await pick(story, id, 'BTC')
  for (const each of [first, third]) await story.pay(each, COIN)
  await story.mine(6)
  await story.look()
  const statuses = [(await story.read(first)).status, (await story.read(third)).status]
  assert.deepEqual(statuses.toSorted(), ['cancelled', 'completed'])
  assert.equal((await story.read(present)).status, 'cancelled')
  assert.equal(await story.balance('unresolved'), COIN, 'what nobody asked for is held')
  const taken = statuses[0] === 'completed' ? first : third
  assert.equal((await look(story, id)).payment?.id, taken.id)
  assert.equal((await story.events()).filter((type) => type === 'payment.completed').length, 1)
  await story.proveBooks()
})

test('once funds were seen neither the coin nor the checkout is given up', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const payment = await pick(story, id)
  await story.pay(payment, COIN / 2n)
  await story.look()
  await assert.rejects(pick(story, id, 'BTC'), refuses('payment_in_progress'))
  await assert.rejects(
    inTx(story, (tx) => cancelCheckout(tx, id)),
    refuses('payment_in_progress'),
  )
  assert.equal((await look(story, id)).payment?.id, payment.id)
})

test('after the window the same coin is quoted anew', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const first = await pick(story, id)
  await story.endWindow(first)
  const second = await pick(story, id)
  assert.notEqual(second.id, first.id)

  await expire(story, second)
  assert.equal((await look(story, id)).status, 'open')
  const third = await pick(story, id)
  assert.equal(third.status, 'pending')
})

test('a buyer who picks a coin while what he paid is being accepted does not wait for it, nor it for him', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const payment = await pick(story, id)
  await story.pay(payment, COIN / 2n)
  await story.mine(6)
  await story.look()
  assert.equal((await look(story, id)).payment?.status, 'underpaid')
  await inTx(story, async (tx) => {
    assert.ok(await lockPayment(tx, payment.accountId, payment.id))
    await assert.rejects(pick(story, id, 'BTC'), refuses('payment_in_progress'))
    await acceptPayment(story.gateway, tx, story.account, payment.id)
  })
  assert.equal((await look(story, id)).status, 'complete')
})

test('a payment that came late is not left for a new price: nobody is asked to pay twice', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const late = await pick(story, id)
  await expire(story, late)
  await story.pay(late, COIN)
  await story.look()
  for (const asset of ['LTC', 'BTC'] as const)
    await assert.rejects(pick(story, id, asset), refuses('payment_in_progress'))
  await assert.rejects(
    inTx(story, (tx) => cancelCheckout(tx, id)),
    refuses('payment_in_progress'),
  )
  assert.equal((await look(story, id)).payment?.id, late.id)
})

test('a session without a coin ends after 24 hours, and each coin picked begins them anew', async () => {
  const story = await tellStory()
  const { id, createdAt, expiresAt } = await start(story)
  assert.equal(expiresAt.getTime() - createdAt.getTime(), 24 * 60 * 60 * 1000)
  const age = (sql: string) =>
    story.gateway.db.query(`update checkout_sessions set ${sql} where id = $1`, [id])
  await age("expires_at = now() + interval '1 minute'")
  const payment = await pick(story, id)
  assert.ok((await look(story, id)).session.expiresAt.getTime() > Date.now() + 23 * 60 * 60 * 1000)
  await age('expires_at = now()')
  assert.equal((await look(story, id)).status, 'open', 'a payment that may still be paid keeps it open')
  await expire(story, payment)
  assert.equal((await look(story, id)).status, 'expired')
  await assert.rejects(pick(story, id), refuses('session_ended'))
})

test('a buyer who gives up ends the session and its pending payment', async () => {
  const story = await tellStory()
  const { id } = await start(story)
  const payment = await pick(story, id)
  await inTx(story, (tx) => cancelCheckout(tx, id))
  assert.equal((await look(story, id)).status, 'cancelled')
  assert.equal((await story.read(payment)).status, 'cancelled')
  await assert.rejects(pick(story, id), refuses('session_ended'))
  await assert.rejects(
    inTx(story, (tx) => cancelCheckout(tx, id)),
    refuses('session_ended'),
  )
})

test('a session without an amount asks for one, and keeps what was typed', async () => {
  const story = await tellStory()
  const { id } = await start(story, { amountMinor: null, currency: 'EUR' })
  await assert.rejects(pick(story, id), refuses('amount_required'))
  await assert.rejects(pick(story, id, 'LTC', { amountMinor: 49n }), refuses('amount_below_minimum'))
  await assert.rejects(pick(story, id, 'LTC', { amountMinor: 100_000_001n }), refuses('amount_above_maximum'))
  const payment = await pick(story, id, 'LTC', { amountMinor: 45_00n, email: 'bob@shop.example' })
  assert.deepEqual(
    [payment.fiatMinor, payment.fiatCurrency, payment.customerEmail],
    [45_00n, 'EUR', 'bob@shop.example'],
  )
  const changed = await pick(story, id, 'ETH')
  assert.deepEqual([changed.fiatMinor, changed.customerEmail], [45_00n, 'bob@shop.example'])
})

test('the price and email of a session are not the buyer’s to change', async () => {
  const story = await tellStory()
  const { id } = await start(story, { customerEmail: 'ann@shop.example' })
  const payment = await pick(story, id, 'LTC', { amountMinor: 1_00n, email: 'eve@shop.example' })
  assert.deepEqual([payment.fiatMinor, payment.customerEmail], [100_00n, 'ann@shop.example'])
})

test('redirects are the session’s own, else the account’s, else none', async () => {
  const story = await tellStory()
  const [own, none] = [await start(story, { successUrl: 'https://shop.example/a' }), await start(story)]
  assert.deepEqual(
    [(await look(story, own.id)).successUrl, (await look(story, none.id)).successUrl],
    ['https://shop.example/a', null],
  )
  await story.gateway.db.query('update accounts set success_url = $2, cancel_url = $3 where id = $1', [
    story.account.id,
    'https://shop.example/thanks',
    'https://shop.example/back',
  ])
  const [ownNow, noneNow] = [await look(story, own.id), await look(story, none.id)]
  assert.deepEqual(
    [ownNow.successUrl, ownNow.cancelUrl],
    ['https://shop.example/a', 'https://shop.example/back'],
  )
  assert.equal(noneNow.successUrl, 'https://shop.example/thanks')
})

test('each visit to a link counts a use and starts a session of its price', async () => {
  const story = await tellStory()
  const { db } = story.gateway
  const link = await inTx(story, (tx) =>
    insertPaymentLink(tx, {
      accountId: story.account.id,
      label: 'Coffee',
      amountMinor: 4_50n,
      currency: 'GBP',
    }),
  )
  const sessions = await Promise.all(
    Array.from({ length: 5 }, () => inTx(story, (tx) => openPaymentLink(tx, link.id))),
  )
  assert.equal(new Set(sessions.map((session) => session.id)).size, 5)
  assert.equal((await findLinkForVisitor(db, link.id))?.uses, 5n)
  const [session] = sessions
  invariant(session, 'five were started')
  assert.deepEqual(
    [session.amountMinor, session.currency, session.label, session.paymentLinkId],
    [4_50n, 'GBP', 'Coffee', link.id],
  )
  const payment = await pick(story, session.id)
  assert.equal(payment.fiatMinor, 4_50n)
  assert.equal(paymentLinkUrl(story.gateway, link.id).startsWith('http://127.0.0.1:8080/pay/plink_'), true)
  assert.equal(checkoutUrl(story.gateway, session.id).startsWith('http://127.0.0.1:8080/checkout/cs_'), true)
})

test('a disabled link starts nothing, and what it started takes no new payment', async () => {
  const story = await tellStory()
  const link = await inTx(story, (tx) =>
    insertPaymentLink(tx, { accountId: story.account.id, label: 'Tea', amountMinor: 4_50n, currency: 'USD' }),
  )
  const [unpicked, picked] = [
    await inTx(story, (tx) => openPaymentLink(tx, link.id)),
    await inTx(story, (tx) => openPaymentLink(tx, link.id)),
  ]
  const payment = await pick(story, picked.id)
  await inTx(story, (tx) => setPaymentLinkActive(tx, story.account.id, link.id, false))
  await assert.rejects(
    inTx(story, (tx) => openPaymentLink(tx, link.id)),
    refuses('payment_link_disabled'),
  )
  assert.equal((await findLinkForVisitor(story.gateway.db, link.id))?.uses, 2n)
  await assert.rejects(pick(story, unpicked.id), refuses('payment_link_disabled'))
  assert.equal((await pick(story, picked.id)).id, payment.id, 'what was quoted may be paid')
  await assert.rejects(pick(story, picked.id, 'BTC'), refuses('payment_link_disabled'))
  assert.equal((await story.read(payment)).status, 'pending', 'and a refused change leaves it as it was')
  await assert.rejects(
    inTx(story, (tx) => openPaymentLink(tx, newPublicId('plink'))),
    refuses('payment_link_not_found'),
  )
})

test('an unknown session is nothing to anybody', async () => {
  const story = await tellStory()
  const id = newPublicId('cs')
  assert.equal(await readCheckout(story.gateway.db, id), null)
  await assert.rejects(pick(story, id), refuses('session_not_found'))
})

test('every coin is offered at its price of now, and one that cannot be taken without', async () => {
  const story = await tellStory()
  const price = { fiatMinor: 100_00n, currency: 'USD' } as const
  const offers = await offerCoins(story.gateway, story.gateway.db, story.account, price)
  assert.deepEqual(
    offers.map(({ asset, amount }) => [asset, amount]),
    [
      ['BTC', '0.00153847'],
      ['LTC', '1'],
      ['ETH', '0.04'],
      ['USDC', '100'],
      ['USDT', '100'],
    ],
  )
  const live = { ...story.account, mode: 'live' as const }
  const none = await offerCoins(story.gateway, story.gateway.db, live, price)
  assert.deepEqual(none, [], 'no network was ever set up')
  await story.gateway.db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ('bitcoin', 'BTC', 'x', 1, 'x', now(), now() - interval '1 hour')`,
  )
  const blind = await offerCoins(story.gateway, story.gateway.db, live, price)
  assert.deepEqual(
    blind.map(({ asset, amount }) => [asset, amount]),
    [['BTC', null]],
  )
})

test('a price that is dust of a coin is not sold for it: what cannot be sent never pays', async () => {
  const story = await tellStory()
  const dear = fixedRates(TEST_RATES.replace('BTC/USD=65000', 'BTC/USD=171000'))
  const gateway = { ...story.gateway, rates: { live: dear, test: dear } }
  const taken = async (fiatMinor: bigint) =>
    (await offerCoins(gateway, gateway.db, story.account, { fiatMinor, currency: 'USD' }))
      .filter(({ amount }) => amount !== null)
      .map(({ asset }) => asset)
  assert.deepEqual(await taken(50n), ['LTC', 'ETH', 'USDC', 'USDT'])
  assert.deepEqual(await taken(51n), [...ASSETS])
  const sold = (fiatMinor: bigint) => testPayment(gateway, story.account, { asset: 'BTC', fiatMinor })
  await assert.rejects(sold(50n), refuses('amount_below_minimum'))
  assert.ok((await sold(51n)).dueAtoms >= ASSET_FACTS.BTC.dustAtoms)
})

test('buyers pick among the coins of the account and of the session', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const some = await inTx(story, (tx) =>
    changeAccount(tx, account.id, { offeredAssets: ['ltc', 'BTC', 'ETH'] }),
  )
  assert.deepEqual(some.offeredAssets, ['BTC', 'LTC', 'ETH'])
  const { id } = await testSession(gateway, some, { offeredAssets: ['LTC', 'USDT'] })
  const price = { fiatMinor: 100_00n, currency: 'USD' } as const
  const offered = async (ofSession: readonly Asset[] | null) =>
    (await offerCoins(gateway, gateway.db, some, price, ofSession)).map(({ asset }) => asset)
  assert.deepEqual([await offered(null), await offered(['LTC', 'USDT'])], [['BTC', 'LTC', 'ETH'], ['LTC']])
  for (const asset of ['BTC', 'USDT'] as const)
    await assert.rejects(pick(story, id, asset), refuses('coin_not_offered'))
  assert.equal((await pick(story, id, 'LTC')).asset, 'LTC')
  await assert.rejects(testSession(gateway, some, { offeredAssets: ['USDT'] }), refuses('coins_not_offered'))
  await assert.rejects(
    inTx(story, (tx) => changeAccount(tx, account.id, { offeredAssets: ['DOGE'] })),
    refuses('invalid_coins'),
  )
})
