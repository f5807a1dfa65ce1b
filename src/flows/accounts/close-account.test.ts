/** A closed account takes nothing new in, and what is under way ends as ever. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testPayment, testSession } from '../../../test/gateway.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { tellStory } from '../../../test/story.ts'
import { until } from '../../../test/wait-for.ts'
import { findAccount, insertAccount } from '../../accounts/accounts.sql.ts'
import { createApiKey, listApiKeys, revokeApiKey, rollApiKey } from '../../accounts/api-keys.sql.ts'
import { insertPaymentLink } from '../../checkout/payment-links.sql.ts'
import { insertPointOfSale } from '../../checkout/points-of-sale.sql.ts'
import { Refusal } from '../../core/errors.ts'
import { GATEWAY_ACCOUNTS } from '../../core/gateway-account.ts'
import { type AccountId, newId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { openPaymentLink, pickCoin } from '../checkout/checkout.ts'
import { sellAt } from '../checkout/sell.ts'
import type { Gateway } from '../gateway.ts'
import { createPayment } from '../payments/create-payment.ts'
import { acceptPayment } from '../payments/resolve-payment.ts'
import { goLive, merchantOfAccount } from '../people/merchants.ts'
import { refundPayment } from '../withdrawals/refund-payment.ts'
import { closeAccount } from './close-account.ts'

type Db = Pick<Gateway, 'db'>

const close = ({ db }: Db, id: AccountId) => db.transaction((tx) => closeAccount(tx, id, 'close'))
const reopen = ({ db }: Db, id: AccountId) => db.transaction((tx) => closeAccount(tx, id, 'reopen'))
const refuses = (reason: string) => (error: unknown) => error instanceof Refusal && error.reason === reason
const CLOSED = refuses('account_closed')

test('each thing that is new is refused while the account is closed, and made once it is open again', async () => {
  const story = await tellStory({ freshPerChain: 16 })
  const { gateway, account } = story
  const { db } = gateway
  const accountId = account.id
  const inTx = <R>(work: (tx: Tx) => Promise<R>) => db.transaction(work)
  const link = await inTx((tx) =>
    insertPaymentLink(tx, { accountId, label: 'Tea', amountMinor: 100_00n, currency: 'USD' }),
  )
  const point = await inTx((tx) => insertPointOfSale(tx, { accountId, name: 'Counter', currency: 'USD' }))
  const session = await testSession(gateway, account)
  const key = await createApiKey(db, { accountId, mode: 'test', name: 'Old', scopes: ['payments:read'] })
  const merchant = await inTx((tx) => merchantOfAccount(tx, account))
  const person = {
    userId: newId('usr'),
    email: 'ann@shop.example',
    name: 'Ann',
    sessionId: null,
    address: '::1',
  }
  const MAKING: Readonly<Record<string, () => Promise<unknown>>> = {
    // The account as it was read before, as a process goes on with it for two seconds.
    'a payment by a stale account': () => testPayment(gateway, account),
    'a payment': async () => testPayment(gateway, (await findAccount(db, accountId)) ?? account),
    'a session': () => testSession(gateway, account),
    'a visit to a link': () => inTx((tx) => openPaymentLink(tx, link.id)),
    'a sale at a counter': () =>
      inTx((tx) => sellAt(gateway, tx, point.id, { amountMinor: 100_00n, label: null })),
    'a coin at a session': () =>
      inTx((tx) => pickCoin(gateway, tx, session.id, { asset: 'LTC', amountMinor: null, email: null })),
    'a key': () => createApiKey(db, { accountId, mode: 'test', name: 'New', scopes: ['payments:read'] }),
    'a key in place of one': () =>
      inTx((tx) =>
        rollApiKey(tx, { accountId, mode: 'test', keyId: key.id, overlapUntil: new Date(), expiresAt: null }),
      ),
    'the live account beside it': () => inTx((tx) => goLive(tx, person, merchant.id)),
  }
  await close(gateway, accountId)
  const before = await countRows(gateway)
  for (const [what, make] of Object.entries(MAKING)) await assert.rejects(make(), CLOSED, what)
  assert.deepEqual(await countRows(gateway), before, 'nothing was left behind')
  const [old] = await listApiKeys(db, accountId)
  assert.equal(old?.expiresAt, null, 'the key that was not rolled opens what it did')

  await reopen(gateway, accountId)
  for (const [what, make] of Object.entries(MAKING)) assert.ok(await make(), what)
  assert.ok(await revokeApiKey(db, accountId, key.id))
})

async function countRows({ db }: Db): Promise<unknown> {
  const { rows } = await db.query(
    `select (select count(*) from payments) as payments, (select count(*) from checkout_sessions) as sessions,
       (select count(*) from api_keys) as keys, (select count(*) from accounts) as accounts,
       (select count(*) from events) as events, (select count(*) from addresses where issued_at is not null) as issued`,
  )
  return rows[0]
}

test('it is closed once, opened once, and nobody closes what is not there or is the gateway’s own', async () => {
  const { gateway, account } = await tellStory()
  const closed = await close(gateway, account.id)
  assert.ok(closed.closedAt)
  await assert.rejects(close(gateway, account.id), refuses('account_closed_already'))
  assert.equal((await reopen(gateway, account.id)).closedAt, null)
  await assert.rejects(reopen(gateway, account.id), refuses('account_open_already'))
  await assert.rejects(close(gateway, newId('acct')), refuses('account_not_found'))
  const own = GATEWAY_ACCOUNTS.live
  await assert.rejects(close(gateway, own), refuses('account_not_found'))
  const { db } = gateway
  await db.query(
    `insert into accounts (id, name, email, mode, currency) values ($1, 'The gateway', 'g@localhost', 'live', 'USD')`,
    [own],
  )
  await assert.rejects(close(gateway, own), refuses('account_not_found'))
  await assert.rejects(
    db.query('update accounts set closed_at = now() where id = $1', [own]),
    /accounts_check/,
  )
  // Of two accounts one is closed alone.
  const other = await insertAccount(db, {
    name: 'Other',
    email: 'o@shop.example',
    mode: 'test',
    currency: 'USD',
  })
  await close(gateway, account.id)
  assert.ok(await testPayment(gateway, other))
})

test('money under way ends well: an open payment is credited, a waiting withdrawal paid, late coins accepted, another payment refunded, the balance withdrawn', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { gateway, account } = story
  const { db } = gateway
  await story.earn('LTC', 5_00_00n)
  const waiting = await story.request('LTC', '1')
  const [open, late, under] = [
    await testPayment(gateway, account),
    await testPayment(gateway, account),
    await testPayment(gateway, account),
  ]
  await close(gateway, account.id)

  await story.payAndConfirm(open, open.dueAtoms)
  assert.equal((await story.read(open)).status, 'completed')
  await story.endWindow(late)
  await story.look()
  assert.equal((await story.read(late)).status, 'expired')
  await story.payAndConfirm(late, late.dueAtoms)
  await db.transaction((tx) => acceptPayment(gateway, tx, account, late.id))
  assert.equal((await story.read(late)).status, 'completed')
  await story.payAndConfirm(under, under.dueAtoms / 2n)
  await story.endWindow(under)
  await story.look()
  assert.equal((await story.read(under)).status, 'underpaid')
  const refund = await db.transaction((tx) =>
    refundPayment(gateway, tx, account, under.id, {
      destination: DESTINATIONS['sim-litecoin'],
      amount: null,
      askedBy: 'unknown',
    }),
  )

  await story.turn()
  const sent = await story.now(waiting)
  assert.equal(sent.status, 'broadcast')
  await story.mineAndTurn(6)
  assert.equal((await story.now(waiting)).status, 'completed', 'one that waited is not lost')
  assert.equal((await story.now(refund)).status, 'completed')
  const rest = await story.request('LTC', '5')
  await story.turn()
  await story.mineAndTurn(6)
  assert.equal((await story.now(rest)).status, 'completed', 'what is there can be withdrawn')
  assert.ok((await story.events()).includes('payment.refunded'), 'receivers are told as ever')
  await story.proveBooks()
})

test('a payment that is made while the account closes is there before it, or not at all', async () => {
  const { gateway, account } = await tellStory({ freshPerChain: 64 })
  const { db } = gateway
  const isWaiting = () =>
    until('somebody waits for the account', async () => {
      const { rowCount } = await db.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (rowCount ?? 0) > 0
    })

  // First the payment, which is not committed yet: closing waits for it.
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const REQUEST = {
    asset: 'LTC',
    fiatMinor: 100_00n,
    fiatCurrency: 'USD',
    reference: null,
    customerEmail: null,
    metadata: null,
  } as const
  const making = db.transaction(async (tx) => {
    const made = await createPayment(gateway, tx, account, REQUEST)
    begun.resolve()
    await held.promise
    return made
  })
  await begun.promise
  const closing = close(gateway, account.id)
  await isWaiting()
  held.resolve()
  assert.ok(await making)
  assert.ok((await closing).closedAt)
  await reopen(gateway, account.id)

  // Then the closing, which is not committed yet: the payment waits for it, and is refused.
  const closed = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const first = db.transaction(async (tx) => {
    await closeAccount(tx, account.id, 'close')
    locked.resolve()
    await closed.promise
  })
  await locked.promise
  const refused = assert.rejects(testPayment(gateway, account), CLOSED)
  await isWaiting()
  closed.resolve()
  await Promise.all([first, refused])
  await reopen(gateway, account.id)

  // And many at once, some of them in one statement.
  const other = await testAccount(gateway)
  const all = [account, other].flatMap((of) =>
    Array.from({ length: 12 }, () =>
      testPayment(gateway, of).then(
        () => ({ of, reason: null }),
        (error: unknown) => ({ of, reason: error instanceof Refusal ? error.reason : String(error) }),
      ),
    ),
  )
  await close(gateway, account.id)
  const { rows: before } = await db.query('select id from payments where account_id = $1', [account.id])
  const outcomes = await Promise.all(all)
  const { rows: after } = await db.query('select id from payments where account_id = $1', [account.id])
  assert.equal(after.length, before.length, 'none came after it was closed')
  const ofClosed = outcomes.filter(({ of }) => of === account)
  assert.equal(after.length, 1 + ofClosed.filter(({ reason }) => reason === null).length)
  for (const { of, reason } of outcomes)
    assert.ok(reason === null || (of === account && reason === 'account_closed'), `${reason}`)
})
