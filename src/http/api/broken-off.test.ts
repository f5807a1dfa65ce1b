/** Payments without a key whose connection breaks while PostgreSQL is at them. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'
import { gatewayOn } from '../../../test/gateway-on.ts'
import { severedDatabase } from '../../../test/severed-database.ts'
import { TEST_SECRETS } from '../../../test/wallet.ts'
import { pause } from '../../core/pause.ts'
import { oneRow } from '../../db/rows.ts'

const { db } = await testGateway()
const severed = await severedDatabase(db.url)
const app = await testApp(gatewayOn(severed, TEST_SECRETS))
const { account, key } = await testMerchant(db)

const sell = () => call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 49.99 } })

const countMade = () =>
  oneRow<{ payments: bigint; addresses: bigint; events: bigint }>(
    db,
    `select (select count(*) from payments where account_id = $1) as payments,
       (select count(*) from addresses where account_id = $1) as addresses,
       (select count(*) from events where account_id = $1) as events`,
    [account.id],
  )

const waitingMany = async (many: bigint) => {
  for (;;) {
    const { waiting } = await oneRow<{ waiting: bigint }>(
      db,
      `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (waiting >= many) return
    await pause(20)
  }
}

/** Runs while nothing can be written of payments, which can be read. */
const whileHeld = (work: () => Promise<void>) =>
  db.transaction(async (tx) => {
    await tx.query('lock table payments in share mode')
    // One that stands idle for ten seconds is ended.
    const beat = setInterval(() => void tx.query('select'), 1_000)
    await work().finally(() => clearInterval(beat))
  })

test('it is made once, though it was sent again while PostgreSQL was still at it', {
  timeout: 60_000,
}, async () => {
  const before = await countMade()
  let selling: ReturnType<typeof sell> | undefined
  await whileHeld(async () => {
    selling = sell()
    await waitingMany(1n)
    severed.sever(false)
    // The first, whose answer comes to nobody, and the one that was sent again.
    await waitingMany(2n)
  })
  const answer = await selling
  assert.ok(answer)
  assert.equal(answer.status, 201, answer.text)
  const made = await countMade()
  assert.deepEqual(made, {
    payments: before.payments + 1n,
    addresses: before.addresses + 1n,
    events: before.events + 1n,
  })
  const shown = await call(app, key, 'GET', `/payments/${answer.data.id}`)
  assert.equal(shown.status, 200)
})

test('when nobody can look, it is not to be sent again without a look', { timeout: 60_000 }, async () => {
  const before = await countMade()
  let selling: ReturnType<typeof sell> | undefined
  await whileHeld(async () => {
    selling = sell()
    await waitingMany(1n)
    severed.sever(true)
    const answer = await selling
    assert.equal(answer.status, 503)
    assert.equal(answer.headers['retry-after'], undefined)
    assert.match(answer.error.message, /may have been done: look for it/)
  })
  // It was.
  while ((await countMade()).payments === before.payments) await pause(20)
})
