/** Where a refund may go is said by the buyer's own browser: who merely knows the page's address changes nothing of it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { bech32 } from '@scure/base'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { DESTINATIONS } from '../../../test/payout-story.ts'
import type { SessionId } from '../../core/ids.ts'
import { giveRefundAddress } from '../../flows/checkout/give-refund-address.ts'
import { rememberGiver } from './refund-giver.ts'

const COIN = 100_000_000n
const OWN = DESTINATIONS['sim-litecoin']
const THIEF = bech32.encode('tltc', [0, ...bech32.toWords(new Uint8Array(20).fill(7))])

const hosted = await testHosted({ freshPerChain: 60 })
const { story, open, post, pick, expire } = hosted
const { gateway } = story

/** A session whose coins came late. */
async function held() {
  const id = await open()
  const payment = await pick(id)
  await expire(payment)
  await story.payAndConfirm(payment, COIN)
  return { id, payment, address: async () => (await story.read(payment)).refund_address }
}

const give = (id: SessionId, address: string, cookie = '') =>
  post(`${pathOf(id)}/refund-address`, { address }, cookie === '' ? {} : { cookie })

const cookieOf = (page: Awaited<ReturnType<typeof give>>) =>
  String(page.headers['set-cookie'] ?? '').split(';')[0] ?? ''

test('who knows the id alone cannot change what was given; the browser that gave it can', async () => {
  const { id, address } = await held()
  const given = await give(id, OWN)
  assert.equal(given.status, 303)
  assert.match(
    String(given.headers['set-cookie']),
    new RegExp(`^beck_refund=[\\w-]{43}; Path=${pathOf(id)}; Max-Age=34560000; HttpOnly; SameSite=Lax$`),
  )
  const other = await held()
  const others = cookieOf(await give(other.id, OWN))
  for (const cookie of ['', 'beck_refund=', `beck_refund=${'A'.repeat(43)}`, others]) {
    const refused = await give(id, THIEF, cookie)
    assert.equal(refused.status, 409, cookie)
    assert.match(refused.text, /only the browser it was given in can change it\. Otherwise ask Shop/)
    assert.equal(refused.headers['set-cookie'], undefined)
    assert.equal(await address(), OWN)
  }
  const again = await give(id, OWN)
  assert.deepEqual([again.status, again.headers['set-cookie']], [303, undefined], 'the same proves nothing')
  const cookie = cookieOf(given)
  const changed = await give(id, THIEF, cookie)
  assert.equal(changed.status, 303)
  assert.equal(await address(), THIEF)
  assert.equal((await give(id, OWN, cookie)).status, 409, 'it changed what that address was proof of')
  assert.equal((await give(id, OWN, cookieOf(changed))).status, 303)
  assert.equal(await address(), OWN)
})

test('an address that is none is told apart from one that nothing comes back from', async () => {
  const { id, payment, address } = await held()
  const none = await give(id, 'nonsense')
  assert.equal(none.status, 400)
  assert.match(none.text, /That is not an address for LTC/)
  const gateways = (await story.read(payment)).deposit.address
  const lost = await give(id, gateways)
  assert.equal(lost.status, 400)
  assert.match(lost.text, /What is sent to that address would be lost/)
  assert.doesNotMatch(lost.text, /That is not an address/)
  assert.equal(await address(), null)
})

test('where too little came and is not confirmed yet nothing is asked for, and nothing is called safe', async () => {
  const id = await open()
  const payment = await pick(id)
  await story.pay(payment, COIN / 2n)
  await story.look()
  await story.endWindow(payment)
  const early = await hosted.show(id)
  assert.equal(early.state, 'lower_over')
  assert.match(early.text, /What arrived is still being confirmed\. Then Shop can complete or refund/)
  assert.doesNotMatch(early.text, /Where should a refund go|safe/)
  await give(id, OWN)
  assert.equal((await story.read(payment)).refund_address, null)
  await story.mine(6)
  await story.look()
  const held = await hosted.show(id)
  assert.match(held.text, /Your coins are safe.*Where should a refund go/)
  assert.equal((await give(id, OWN)).status, 303)
  assert.equal((await story.read(payment)).refund_address, OWN)
})

test('who was sent back what came late, and sent more, is not asked for an address that is not taken', async () => {
  const { id, payment } = await held()
  await hosted.refund(payment)
  await story.payAndConfirm(payment, COIN)
  const page = await hosted.show(id)
  assert.equal(page.state, 'late')
  assert.doesNotMatch(page.text, /Where should a refund go/)
  assert.match(page.text, /Refunded 0\.99\d* LTC/)
})

test('over https the browser keeps it within the page of a shop too, and sends it nowhere else', async () => {
  const { settings } = gateway
  const headers = new Map<string, string>()
  const reply = { header: (name: string, value: string) => headers.set(name, value) }
  const { id } = await held()
  const at = { settings: { ...settings, publicUrl: 'https://pay.example.com' } }
  rememberGiver(at, reply as never, id, 'proof')
  assert.match(headers.get('Set-Cookie') ?? '', /; HttpOnly; SameSite=None; Secure; Partitioned$/)
})

test('a writer of the database has no address given for a payment by a session of his own', async () => {
  const { payment, address } = await held()
  const his = await open()
  await gateway.db.query('update checkout_sessions set payment_id = $2 where id = $1', [his, payment.id])
  assert.notEqual((await give(his, THIEF)).status, 500)
  assert.equal(await address(), null)
  await gateway.db.query('update payments set checkout_session_id = $2 where id = $1', [payment.id, his])
  await assert.rejects(
    gateway.db.transaction((tx) => giveRefundAddress(gateway, tx, his, { address: THIEF, proof: '' })),
    /tampered/,
  )
  await assert.rejects(story.read(payment), /tampered/)
  const { rows } = await gateway.db.query<{ given: string | null }>(
    'select refund_address as given from checkout_sessions where id = $1',
    [his],
  )
  assert.equal(rows[0]?.given, null)
})
