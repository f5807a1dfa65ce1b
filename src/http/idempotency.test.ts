import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { IDEMPOTENCY_KEYS } from '../../test/idempotency-keys.ts'
import { forgetOldAnswers } from '../accounts/idempotency-keys.sql.ts'
import { Refusal } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import { readIdempotencyKey } from './idempotency.ts'
import { write } from './route.ts'
import { Fields } from './schemas.ts'
import { Type } from './type.ts'

const gateway = await testGateway({ freshPerChain: 60 })
/** What the route of the tests does next, and how often it was run. */
const plan: (() => Promise<unknown>)[] = []
let runs = 0
const planned = write('POST /planned', {
  scope: 'payments:write',
  summary: 'does what the test says',
  recordedByRow: true,
  body: Fields({ n: Type.Optional(Type.Number()) }),
  data: Fields({ run: Type.Number() }),
  async write({ tx, account }) {
    const run = ++runs
    await tx.query('update accounts set name = $2 where id = $1', [account.id, `run ${run}`])
    await plan.shift()?.()
    return { run }
  },
})
const app = await testApp(gateway, { routes: [planned] })
const merchant = await testMerchant(gateway.db)
const post = (path: string, idempotencyKey: string, body: unknown = {}, key = merchant.key) =>
  call(app, key, 'POST', path, { body, headers: { 'idempotency-key': idempotencyKey } })
const payment = { asset: 'LTC', fiat_amount: 12.5, reference: 'one' }
const countPayments = async () => (await gateway.db.query('select from payments')).rowCount

test('a repeated request makes one payment and gets the same bytes', async () => {
  const first = await post('/payments', 'order-1', payment)
  assert.equal(first.status, 201)
  assert.equal(first.headers['idempotent-replayed'], undefined)
  const second = await post('/payments', 'order-1', payment)
  assert.equal(second.status, 201)
  assert.equal(second.headers['idempotent-replayed'], 'true')
  assert.equal(second.text, first.text)
  assert.equal(await countPayments(), 1)
})

test('100 parallel requests with one key make one payment and get the same bytes', async () => {
  const before = await countPayments()
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => post('/payments', 'parallel', { ...payment, reference: 'parallel' })),
  )
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]))
  assert.equal(new Set(answers.map((answer) => answer.text)).size, 1)
  assert.equal(answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined).length, 1)
  assert.equal(await countPayments(), before + 1)
})

test('with a key a request waits for what it needs beside the key as long as without one', async () => {
  const { key, account } = await testMerchant(gateway.db)
  const isHeld = Promise.withResolvers<void>()
  const holding = gateway.db.transaction(async (tx) => {
    await tx.query('select from accounts where id = $1 for update', [account.id])
    isHeld.resolve()
    // Longer than for a key that another request has.
    await pause(5_500)
  })
  await isHeld.promise
  const answers = await Promise.all([
    post('/payments', 'waits', payment, key),
    post('/planned', 'waits too', {}, key),
  ])
  await holding
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 200],
  )
})

test('the key belongs to one request of one account', async () => {
  await post('/payments', 'mine', payment)
  for (const [path, body] of [
    ['/payments', { ...payment, fiat_amount: 12.51 }],
    ['/planned', payment],
  ] as const) {
    const answer = await post(path, 'mine', path === '/planned' ? {} : body)
    assert.deepEqual([answer.status, answer.error.reason], [409, 'idempotency_key_reused'])
  }
  const other = await testMerchant(gateway.db)
  const answer = await post('/payments', 'mine', payment, other.key)
  assert.equal(answer.status, 201)
  assert.equal(answer.headers['idempotent-replayed'], undefined)
})

test('a request while the first one runs too long is answered with 409', async () => {
  let finish = () => {}
  const running = new Promise<void>((resolve) => {
    plan.push(() => {
      resolve()
      return new Promise((done) => {
        finish = () => done(undefined)
      })
    })
  })
  const first = post('/planned', 'slow')
  await running
  const second = await post('/planned', 'slow')
  assert.deepEqual([second.status, second.error.reason], [409, 'idempotency_key_in_flight'])
  finish()
  assert.equal((await first).status, 200)
  const third = await post('/planned', 'slow')
  assert.equal(third.headers['idempotent-replayed'], 'true')
})

const refuse = (kind: ConstructorParameters<typeof Refusal>[0]) => async () => {
  throw new Refusal(kind, 'for_the_test', 'refused')
}
for (const [kind, status, stored] of [
  ['unprocessable', 422, true],
  ['conflict', 409, true],
  ['not_found', 404, true],
  ['invalid', 400, false],
  ['unavailable', 503, false],
] as const) {
  test(`a refusal with ${status} is ${stored ? 'replayed' : 'not stored: the request may be sent again'}`, async () => {
    const before = runs
    const name = async () =>
      (
        await gateway.db.query<{ name: string }>('select name from accounts where id = $1', [
          merchant.account.id,
        ])
      ).rows[0]?.name
    const nameBefore = await name()
    plan.push(refuse(kind))
    const first = await post('/planned', `refused-${kind}`)
    assert.deepEqual([first.status, first.error.reason], [status, 'for_the_test'])
    assert.equal(await name(), nameBefore)
    const second = await post('/planned', `refused-${kind}`)
    assert.equal(second.headers['idempotent-replayed'], stored ? 'true' : undefined)
    if (stored) assert.equal(second.text, first.text)
    else assert.equal(second.status, 200)
    assert.equal(runs, before + (stored ? 1 : 2))
  })
}

test('a failure inside is not stored and leaves no effect', async () => {
  plan.push(async () => {
    throw new Error('broken')
  })
  assert.equal((await post('/planned', 'failed')).status, 500)
  assert.equal((await post('/planned', 'failed')).status, 200)
})

test('a body that does not fit the schema does not use the key up', async () => {
  assert.equal((await post('/payments', 'corrected', { ...payment, asset: 'btc' })).status, 400)
  assert.equal((await post('/payments', 'corrected', payment)).status, 201)
})

test('after 24 hours a key is free again, and its answer is forgotten', async () => {
  const first = await post('/planned', 'old')
  await post('/planned', 'young')
  const age = (key: string, hours: number) =>
    gateway.db.query(
      'update idempotency_keys set created_at = now() - make_interval(hours => $2) where key = $1',
      [key, hours],
    )
  await age('old', 25)
  await age('young', 23)
  const again = await post('/planned', 'old', { n: 1 })
  assert.equal(again.headers['idempotent-replayed'], undefined)
  assert.notEqual(again.data.run, first.data.run)
  assert.equal((await post('/planned', 'young')).headers['idempotent-replayed'], 'true')
  await age('old', 25)
  assert.equal(await forgetOldAnswers(gateway.db, 100), 1)
})

test('a secret that is shown once rests sealed', async () => {
  const body = { url: 'https://shop.example/hook', events: ['payment.completed'] }
  const first = await post('/webhooks', 'hook', body)
  assert.match(first.data.secret, /^whsec_/)
  assert.equal((await post('/webhooks', 'hook', body)).text, first.text)
  const { rows } = await gateway.db.query<{ dump: string }>(
    `select string_agg(encode(response_body, 'escape'), ' ') as dump from idempotency_keys`,
  )
  assert.ok(rows[0]?.dump && !rows[0].dump.includes('whsec_'))
})

test('a key that is empty, too long or not one line of ASCII is refused', async () => {
  for (const key of ['', 'x'.repeat(256), 'schlüssel', 'a\tb']) {
    const answer = await post('/planned', key)
    assert.deepEqual([answer.status, answer.error.reason], [400, 'invalid_idempotency_key'])
  }
  assert.equal((await post('/planned', 'x'.repeat(255))).status, 200)
})

test('the clients send no key that Beck refuses, and refuse none that it takes', () => {
  for (const [key, isTaken] of IDEMPOTENCY_KEYS) {
    const read = () =>
      readIdempotencyKey({ headers: { 'idempotency-key': key }, rawHeaders: ['Idempotency-Key', key] })
    if (isTaken) assert.equal(read(), key)
    else assert.throws(read, { reason: 'invalid_idempotency_key' }, JSON.stringify(key))
  }
})
