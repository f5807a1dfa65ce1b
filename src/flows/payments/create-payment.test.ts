import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import type { Account } from '../../accounts/account.ts'
import { Refusal, unavailable } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import { pause } from '../../core/pause.ts'
import type { Queryable } from '../../db/database.ts'
import { fillAddressPool } from '../../wallets/address-pool.sql.ts'
import { changeAccount } from '../accounts/change-account.ts'
import { openDatabaseClock } from '../database-clock.ts'
import { draftPayment, type PaymentDraft, type PaymentRequest, recordPayment } from './create-payment.ts'

const gateway = await testGateway({ freshPerChain: 120, connectionsMax: 20 })
const REQUEST = {
  asset: 'LTC',
  fiatMinor: 10_000n,
  fiatCurrency: 'USD',
  reference: null,
  customerEmail: null,
  metadata: null,
} as const
/** One payment, as the API makes it. */
const sell = (
  of: typeof gateway,
  account: Account,
  request: PaymentRequest = REQUEST,
  change: (draft: PaymentDraft) => PaymentDraft = (draft) => draft,
): Promise<PaymentDraft> =>
  of.db.transaction(
    async (tx) => {
      const draft = change(await draftPayment(of, account, request))
      await recordPayment(of, tx, draft, null)
      return draft
    },
    { oneStatement: true },
  )
/** A database that tells a time and nothing else. */
const telling = (time: () => Date): Queryable => ({
  query: (async () => ({ rows: [{ now: time() }], rowCount: 1 })) as never,
})
const count = async (table: string) => (await gateway.db.query(`select from ${table}`)).rowCount

test("a process whose idea of the time is off looks at the database's clock again before it sells", async () => {
  const account = await testAccount(gateway)
  let reads = 0
  const late = {
    ...gateway,
    databaseTime: async () =>
      new Date((await gateway.databaseTime()).getTime() - (reads++ === 0 ? 3_600_000 : 0)),
  }
  const before = Date.now()
  const { payment } = await sell(late, account)
  assert.equal(reads, 2)
  assert.ok(payment.createdAt.getTime() >= before - 1_000)
  assert.equal(payment.expiresAt.getTime() - payment.createdAt.getTime(), 30 * 60_000)
  assert.equal(await count('payments'), 1)
  assert.equal(await count('addresses where issued_at is not null'), 1)
})

test('a payment whose statement takes seconds is made all the same, and at once', async () => {
  const own = await testGateway({ freshPerChain: 10, chains: ['sim-litecoin'] })
  const account = await testAccount(own)
  await own.db.query(`create function wait() returns trigger language plpgsql as $$
    begin perform pg_sleep(1.2); return new; end $$`)
  await own.db.query(
    'create trigger slow before update on addresses for each row when (new.issued_at is not null) execute function wait()',
  )
  let reads = 0
  const counting = {
    ...own,
    databaseTime() {
      reads++
      return own.databaseTime()
    },
  }
  const { payment } = await sell(counting, account)
  assert.equal(reads, 1)
  const { rows } = await own.db.query('select id from payments')
  assert.deepEqual(rows, [{ id: payment.id }])
})

for (const [whose, offMs, looks] of [
  ['half a minute old', -30_000, 1],
  ['two minutes old', -120_000, 2],
  ['a minute ahead', 60_000, 2],
] as const)
  test(`a time that is ${whose} is ${looks === 1 ? 'a payment’s' : 'looked up again'}`, async () => {
    const account = await testAccount(gateway)
    let reads = 0
    const off = {
      ...gateway,
      databaseTime: async () =>
        new Date((await gateway.databaseTime()).getTime() + (reads++ === 0 ? offMs : 0)),
    }
    await sell(off, account)
    assert.equal(reads, looks)
  })

test("the carried reading of the database's clock is never ahead of it", async () => {
  let steadyMs = 0
  // The answer takes a second, and tells the time of when it was asked, or of when it was answered.
  for (const toldMs of [0, 1_000]) {
    const db = telling(() => {
      const now = new Date(1e12 + steadyMs + toldMs)
      steadyMs += 1_000
      return now
    })
    const clock = openDatabaseClock(db, () => steadyMs)
    const told = (await clock()).getTime()
    const isMs = 1e12 + steadyMs
    assert.ok(told <= isMs && told >= isMs - 1_000, String(isMs - told))
  }
})

test("the carried reading of the database's clock never strays", async () => {
  let steadyMs = 0
  let asked = 0
  const clock = openDatabaseClock(
    telling(() => new Date(1e12 + asked++)),
    () => steadyMs,
  )
  assert.equal((await clock()).getTime(), 1e12)
  steadyMs = 200
  assert.equal((await clock()).getTime(), 1e12 + 200)
  steadyMs = 300
  assert.equal((await clock()).getTime(), 1e12 + 1, 'a reading is too old after a quarter of a second')
  assert.equal(asked, 2)
})

test('buyers of one new email who pay at once are one customer', async () => {
  const { key, account } = await testMerchant(gateway.db)
  const app = await testApp(gateway)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      call(app, key, 'POST', '/payments', {
        body: {
          asset: 'LTC',
          fiat_amount: 20,
          customer_email: index % 2 ? 'new@example.com' : 'NEW@example.com',
        },
      }),
    ),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(await count(`payments where account_id = '${account.id}' and customer_id is not null`), 12)
  assert.equal(await count(`customers where account_id = '${account.id}'`), 1)
})

test('a request whose key is taken writes nothing, and is answered though no rate is left', async () => {
  const { key } = await testMerchant(gateway.db)
  const rateless = { ...gateway, rates: { ...gateway.rates } }
  const app = await testApp(rateless)
  const ask = (body: object) =>
    call(app, key, 'POST', '/payments', { body, headers: { 'idempotency-key': 'one' } })
  const body = { asset: 'LTC', fiat_amount: 20 }
  const first = await ask(body)
  assert.equal(first.status, 201)
  const before = [
    await count('payments'),
    await count('customers'),
    await count('addresses where issued_at is not null'),
  ]
  const other = await ask({ ...body, customer_email: 'other@example.com' })
  assert.deepEqual([other.status, other.error.reason], [409, 'idempotency_key_reused'])
  rateless.rates.test = {
    rate: () => {
      throw unavailable('no_rate', 'for the test')
    },
    ageMs: () => null,
    sources: () => [],
  }
  assert.equal((await ask(body)).text, first.text)
  assert.deepEqual(
    [await count('payments'), await count('customers'), await count('addresses where issued_at is not null')],
    before,
  )
})

test('a payment that meets an empty pool waits for the addresses that are being derived', async () => {
  const scarce = await testGateway({ freshPerChain: 1, chains: ['sim-litecoin'] })
  const { key } = await testMerchant(scarce.db)
  const app = await testApp(scarce)
  const ask = () => call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 20 } })
  assert.equal((await ask()).status, 201)
  const waiting = ask()
  await fillAddressPool(scarce.db, scarce.secrets, { fresh: 1, change: 4 })
  assert.equal((await waiting).status, 201)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.error.reason], [503, 'no_address'])
})

test('what goes wrong with one payment leaves the addresses of the others set aside; those of a retired wallet are dropped', async () => {
  const own = await testGateway({ freshPerChain: 30, chains: ['sim-litecoin'] })
  const account = await testAccount(own)
  const positionOf = async (of: typeof own) => (await sell(of, account)).fresh.position
  const first = await positionOf(own)
  const wrong = { ...own, databaseTime: async () => new Date(0) }
  await assert.rejects(positionOf(wrong), { name: 'OutsideFailure', retryable: true })
  // Five attempts, each with an address of its own, out of those that were set aside: none was asked for in vain.
  assert.equal(await positionOf(own), first + 6n)
  await own.db.query("update wallets set retired_at = now() where chain = 'sim-litecoin'")
  await assert.rejects(positionOf(own), { reason: 'no_address' }, 'nothing is left of what was set aside')
})

test('a payment that cannot be made of what was read is refused for what is different', async () => {
  const account = await testAccount(gateway)
  const request = { ...REQUEST, customerEmail: 'old@example.com' }
  await sell(gateway, account, request)
  const made = await count(`payments where account_id = '${account.id}'`)
  const ofPayment = (fields: Partial<PaymentDraft['payment']>) => (draft: PaymentDraft) => ({
    ...draft,
    payment: { ...draft.payment, ...fields },
  })
  for (const [what, change] of [
    ['time', ofPayment({ createdAt: new Date(0) })],
    ['customer', ofPayment({ customerId: newId('cus') })],
    ['address', (draft: PaymentDraft) => ({ ...draft, fresh: { ...draft.fresh, mac: Buffer.alloc(32) } })],
  ] as const)
    await assert.rejects(sell(gateway, account, request, change), ({ cause }: Error) => {
      assert.match(String(cause), new RegExp(`the ${what} of a payment is`))
      return true
    })
  assert.equal(await count(`payments where account_id = '${account.id}'`), made)
})

test('payments of one moment that hinder each other are each recorded once', async () => {
  const { key, account } = await testMerchant(gateway.db)
  const app = await testApp(gateway)
  const sent = Array.from({ length: 24 }, (_, index) => ({
    body: {
      asset: 'LTC',
      fiat_amount: 20 + index,
      reference: `"a" \\ {b} ${index}`,
      metadata: { 'c"': `d\\e, ${index}` },
      ...(index % 6 === 5 ? { customer_email: `new${index % 4}@example.com` } : {}),
    },
    // One of them comes three times under its key.
    headers: index % 3 === 0 ? { 'idempotency-key': `key ${Math.max(index, 6)}` } : {},
  }))
  sent[0] = sent[3] = sent[6] as (typeof sent)[0]
  const answers = await Promise.all(sent.map((each) => call(app, key, 'POST', '/payments', each)))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set([0, 3, 6].map((index) => answers[index]?.text)).size, 1)
  const made = answers.map(({ data }) => data)
  assert.equal(new Set(made.map(({ id }) => id)).size, 22)
  assert.equal(new Set(made.map(({ deposit }) => deposit.address)).size, 22)
  for (const [index, data] of made.entries()) {
    const { data: shown } = await call(app, key, 'GET', `/payments/${data.id}`)
    assert.equal(shown.reference, sent[index]?.body.reference)
    assert.deepEqual(shown.metadata, sent[index]?.body.metadata)
    assert.equal(shown.deposit.address, data.deposit.address)
  }
  assert.equal(await count(`payments where account_id = '${account.id}'`), 22)
  assert.equal(await count(`events where account_id = '${account.id}'`), 22)
})

test('a key that is free is not kept waiting by one behind it that somebody holds', async () => {
  const account = await testAccount(gateway)
  const drafts = [
    await draftPayment(gateway, account, REQUEST),
    await draftPayment(gateway, account, REQUEST),
  ]
  const keys = ['a', 'b']
  const second = await gateway.db.transaction(async (holder) => {
    await holder.query(
      "insert into idempotency_keys (account_id, key, request_hash) values ($1, 'b', sha256('x'))",
      [account.id],
    )
    // Sent in one breath, they travel together, in the order of their keys.
    const [first, held] = drafts.map((draft, index) => {
      const keyed = {
        accountId: account.id,
        key: keys[index] ?? '',
        requestHash: Buffer.alloc(32),
        status: 201,
        sealedBody: Buffer.alloc(1),
        waitMs: 5_000,
      }
      return gateway.db.transaction((tx) => recordPayment(gateway, tx, draft, keyed), {
        oneStatement: true,
        group: account.id,
      })
    })
    assert.deepEqual(await Promise.race([first, pause(3_000)]), { taken: false, deliveries: 0 })
    return { held }
  })
  assert.deepEqual(await second.held, { taken: true, deliveries: 0 })
})

test('keys that somebody holds keep nobody else waiting', async () => {
  const { key, account } = await testMerchant(gateway.db)
  const app = await testApp(gateway)
  const ask = (headers: Record<string, string> = {}) =>
    call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 20 }, headers })
  assert.equal((await ask()).status, 201)
  const keys = ['held 1', 'held 2', 'held 3', 'held 4']
  await gateway.db.transaction(async (tx) => {
    await tx.query(
      "insert into idempotency_keys (account_id, key, request_hash) select $1, unnest($2::text[]), sha256('x')",
      [account.id, keys],
    )
    let answered = 0
    const held = keys.map(async (each, index) => {
      // One after the other, so that they do not travel together.
      await pause(index * 100)
      const answer = await ask({ 'idempotency-key': each })
      answered++
      return answer
    })
    await pause(keys.length * 100)
    const others = await Promise.all([ask(), ask(), ask(), ask({ 'idempotency-key': 'free' })])
    assert.deepEqual(new Set(others.map(({ status }) => status)), new Set([201]))
    assert.equal(answered, 0)
    for (const answer of await Promise.all(held))
      assert.equal(answer.status, 409, 'they are told so when five seconds are over')
  })
})

test('a process that still believes the currency before makes no payment in it, and the first payment keeps the currency', async () => {
  const gateway = await testGateway()
  const before = await testAccount(gateway)
  await gateway.db.transaction((tx) => changeAccount(tx, before.id, { currency: 'EUR' }))
  await assert.rejects(
    testPayment(gateway, before),
    (error: unknown) => error instanceof Refusal && error.reason === 'temporarily_unavailable',
  )
  const { rows } = await gateway.db.query('select from payments where account_id = $1', [before.id])
  assert.equal(rows.length, 0)
  await testPayment(gateway, { ...before, currency: 'EUR' })
  // Not even past the flow that refuses it.
  await assert.rejects(
    gateway.db.query(`update accounts set currency = 'USD' where id = $1`, [before.id]),
    /payments_account_id_settlement_currency_fkey/,
  )
})
