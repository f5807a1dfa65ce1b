/** The hosted pages of a running application, as a browser without JavaScript sees them. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { tellStory } from '../../../test/story.ts'
import { invariant } from '../../core/errors.ts'
import { type SessionId, showId } from '../../core/ids.ts'
import { createSession, readCheckout, type SessionRequest } from '../../flows/checkout.ts'
import type { Payment } from '../../payments/payment.ts'

/** A price of 100 dollars is exactly one litecoin. */
const COIN = 100_000_000n

const story = await tellStory({ freshPerChain: 60 })
const { gateway, account } = story
const unlimited = { perSecond: 1_000_000, burst: 1_000_000 }
const app = await testApp(gateway, { hosted: { limits: { pages: unlimited, payments: unlimited } } })

async function open(request: Partial<SessionRequest> = {}): Promise<SessionId> {
  const session = await gateway.db.transaction((tx) =>
    createSession(gateway, tx, account, {
      amountMinor: 100_00n,
      currency: null,
      label: 'Order 7',
      reference: null,
      customerEmail: null,
      successUrl: null,
      cancelUrl: null,
      ...request,
    }),
  )
  return session.id
}

const pathOf = (id: SessionId) => `/checkout/${showId('cs', id)}`

async function get(path: string, headers: Record<string, string> = {}) {
  const answer = await app.inject({ method: 'GET', url: path, headers })
  return {
    status: answer.statusCode,
    headers: answer.headers,
    html: answer.body,
    state: /data-state="(\w+)"/.exec(answer.body)?.[1],
  }
}

async function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const answer = await app.inject({
    method: 'POST',
    url: path,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      ...headers,
    },
    payload: new URLSearchParams(fields).toString(),
  })
  return {
    status: answer.statusCode,
    location: answer.headers.location,
    html: answer.body,
    state: /data-state="(\w+)"/.exec(answer.body)?.[1],
  }
}

async function pick(id: SessionId, asset = 'LTC'): Promise<Payment> {
  const answer = await post(`${pathOf(id)}/coin`, { asset })
  assert.deepEqual([answer.status, answer.location], [303, pathOf(id)])
  const payment = (await readCheckout(gateway.db, id))?.payment
  invariant(payment, 'a coin was picked')
  return payment
}

const stateOf = async (id: SessionId) => (await get(pathOf(id))).state

test('a buyer picks a coin, pays, and sees each step on the page', async () => {
  const id = await open({ successUrl: 'https://shop.example/thanks?o=7&x=1' })
  const choice = await get(pathOf(id))
  assert.deepEqual([choice.status, choice.state], [200, 'choose'])
  assert.match(choice.html, /\$100\.00/)
  const payment = await pick(id)
  const waiting = await get(pathOf(id))
  assert.equal(waiting.state, 'waiting')
  assert.ok(waiting.html.includes(payment.address))
  assert.ok(waiting.html.includes(`litecoin:${payment.address}?amount=1`))
  assert.match(waiting.html, /<noscript><meta http-equiv="refresh"/)
  await story.pay(payment, COIN)
  await story.look()
  assert.equal(await stateOf(id), 'seen')
  await story.mine(1)
  await story.look()
  assert.match((await get(pathOf(id))).html, /1 of 6 confirmations/)
  assert.equal(await stateOf(id), 'confirming')
  await story.mine(5)
  await story.look()
  const paid = await get(pathOf(id))
  assert.equal(paid.state, 'paid')
  assert.ok(paid.html.includes('href="https://shop.example/thanks?o=7&amp;x=1"'))
})
