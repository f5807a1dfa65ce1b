/** What buyers see where an account was closed: that nothing is taken here, and the payment they began to its end. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testSession } from '../../../test/gateway.ts'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { insertPaymentLink, setPaymentLinkActive } from '../../checkout/payment-links.sql.ts'
import { insertPointOfSale } from '../../checkout/points-of-sale.sql.ts'
import { readId, showId } from '../../core/ids.ts'
import { closeAccount } from '../../flows/accounts/close-account.ts'

const hosted = await testHosted()
const { get, post, story } = hosted
const { gateway, account } = story
const CLOSED = /takes no payments here any more/
const BROWSER = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

test('links, counters and unpicked checkouts say so, and a payment that was begun is paid', async () => {
  const { link, point } = await gateway.db.transaction(async (tx) => ({
    link: await insertPaymentLink(tx, {
      accountId: account.id,
      label: 'Tea',
      amountMinor: 100_00n,
      currency: 'USD',
    }),
    point: await insertPointOfSale(tx, { accountId: account.id, name: 'Counter', currency: 'USD' }),
  }))
  const counter = `/pos/${showId('pos', point.id)}`
  const sale = (await post(counter, { amount: '100' })).location ?? assert.fail('a sale')
  const [unpicked, picked] = [await testSession(gateway, account), await testSession(gateway, account)]
  const pathTo = ({ id }: typeof picked) => `/checkout/${showId('cs', id)}`
  await post(`${pathTo(picked)}/coin`, { asset: 'LTC' })
  await gateway.db.transaction((tx) => closeAccount(tx, account.id, 'close'))

  const shut = [
    await get(`/pay/${showId('plink', link.id)}`, BROWSER),
    await get(counter),
    await post(counter, { amount: '100' }),
    await post(`${sale}/coin`, { asset: 'LTC' }),
    await get(pathTo(unpicked)),
    await post(`${pathTo(unpicked)}/coin`, { asset: 'LTC' }),
    await post(`${pathTo(picked)}/coin`, { asset: 'BTC' }),
  ]
  for (const [place, { status, text }] of shut.entries()) {
    assert.equal(status, 410, `${place}`)
    assert.match(text, CLOSED, `${place}`)
    assert.doesNotMatch(text, /charged|arrived/, `${place}`)
  }
  assert.equal((await get(`${counter}/sales`)).status, 200)
  assert.equal((await get(pathTo(picked))).state, 'waiting')
  const payment = await hosted.payment(picked.id)
  assert.equal(payment.asset, 'LTC', 'a refused change leaves what was quoted')
  await story.payAndConfirm(payment, payment.dueAtoms)
  assert.match((await get(pathTo(picked))).text, /paid/i)
})

test('a buyer whose coins came for a coin that he had left is told of them first, and led back to what he took last', async () => {
  await gateway.db.transaction((tx) => closeAccount(tx, account.id, 'reopen'))
  const [expired, chosen] = [await hosted.open(), await hosted.open()]
  const left = [await hosted.pick(expired), await hosted.pick(chosen)] as const
  await hosted.expire(left[0])
  const second = await hosted.pick(expired)
  await hosted.pick(chosen, 'BTC')
  for (const form of ['cancel', 'reopen']) await post(`${pathOf(chosen)}/${form}`, {})
  assert.equal(await hosted.stateOf(chosen), 'choose')
  for (const payment of left) await story.payAndConfirm(payment, payment.dueAtoms / 2n)
  await hosted.expire(second)
  await gateway.db.transaction((tx) => closeAccount(tx, account.id, 'close'))

  const cases = [
    { id: expired, state: 'expired', payment: left[0], seen: await get(`${pathOf(expired)}/coins`) },
    {
      id: expired,
      state: 'expired',
      payment: left[0],
      seen: await post(`${pathOf(expired)}/coin`, { asset: 'BTC' }),
    },
    { id: chosen, state: 'closed', payment: left[1], seen: await get(pathOf(chosen)) },
    {
      id: chosen,
      state: 'closed',
      payment: left[1],
      seen: await post(`${pathOf(chosen)}/coin`, { asset: 'LTC' }),
    },
  ]
  for (const [place, { id, state, payment, seen }] of cases.entries()) {
    assert.equal(seen.status, 410, `${place}`)
    assert.match(seen.text, CLOSED, `${place}`)
    assert.doesNotMatch(seen.text, /charged/, `${place}`)
    const said = `0.5 LTC arrived for an earlier price of this checkout. Before you pay anything more, ask Shop about it, and name the payment number ${showId('pay', payment.id)} .`
    assert.ok(seen.text.startsWith(said), seen.text)
    assert.equal(await hosted.stateOf(id), state)
    assert.equal(seen.html.includes(`href="${pathOf(id)}"`), state === 'expired', `${place}`)
  }
  assert.match((await hosted.show(expired)).text, /0\.5 LTC arrived/)
})

test('so is one whose payment link was switched off meanwhile', async () => {
  await gateway.db.transaction((tx) => closeAccount(tx, account.id, 'reopen'))
  const link = await gateway.db.transaction((tx) =>
    insertPaymentLink(tx, { accountId: account.id, label: 'Tea', amountMinor: 100_00n, currency: 'USD' }),
  )
  const path = (await get(`/pay/${showId('plink', link.id)}`, BROWSER)).location ?? assert.fail('a checkout')
  const id = readId('cs', path.split('/').at(-1) ?? '') ?? assert.fail(path)
  const left = await hosted.pick(id)
  await hosted.pick(id, 'BTC')
  await story.payAndConfirm(left, left.dueAtoms / 2n)
  await gateway.db.transaction((tx) => setPaymentLinkActive(tx, account.id, link.id, false))
  const { status, text, html } = await post(`${path}/coin`, { asset: 'LTC' })
  assert.equal(status, 410)
  assert.match(text, /^0\.5 LTC arrived .* This payment link is switched off/)
  assert.ok(html.includes(`href="${path}"`))
})
