/** What is held for payments, by stories that run together in one transaction. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import type { Tx } from '../db/database.ts'
import { together } from '../db/together.ts'
import type { Payment } from './payment.ts'
import { addUnresolved, lockUnresolved, takeUnresolved } from './unresolved-funds.sql.ts'

const gateway = await testGateway()
const { db } = gateway
const account = await testAccount(gateway)

const keyOf = ({ id }: Payment) => ({ accountId: account.id, paymentId: id, asset: 'LTC' as const })
const heldFor = async ({ id }: Payment) =>
  (await db.query<{ atoms: bigint }>('select atoms from unresolved_funds where payment_id = $1', [id])).rows
const payments = () => Promise.all([testPayment(gateway, account), testPayment(gateway, account)])
const run = (of: readonly Payment[], story: (tx: Tx, payment: Payment) => Promise<void>) =>
  db.transaction((tx) =>
    together(
      tx,
      of,
      () => null,
      (one, payment) => story(one, payment),
    ),
  )

test('what one transaction adds and takes again is written nowhere, and what is left of it once', async () => {
  const [whole, part] = await payments()
  await run([whole, part], async (tx, payment) => {
    await addUnresolved(tx, keyOf(payment), 50n)
    await takeUnresolved(tx, keyOf(payment), payment === whole ? 50n : 30n)
  })
  assert.deepEqual(await heldFor(whole), [])
  assert.deepEqual(await heldFor(part), [{ atoms: 20n }])
})

test('what is held for one payment is not given out for another, nor twice, whatever else the transaction adds', async () => {
  const [rich, poor] = await payments()
  await run([rich, poor], async (tx, payment) =>
    addUnresolved(tx, keyOf(payment), payment === rich ? 90n : 10n),
  )
  const overdraw = run([rich, poor], async (tx, payment) => {
    await addUnresolved(tx, keyOf(payment), 5n)
    await takeUnresolved(tx, keyOf(payment), 16n)
  })
  await assert.rejects(overdraw, { code: '23514' })
  assert.deepEqual(await heldFor(rich), [{ atoms: 90n }])
  assert.deepEqual(await heldFor(poor), [{ atoms: 10n }])
})

test('of a payment for which nothing is held nothing is taken', async () => {
  const [one, other] = await payments()
  const taken = run([one, other], (tx, payment) => takeUnresolved(tx, keyOf(payment), 1n))
  await assert.rejects(taken, /nothing of LTC is held/)
})

test('a story that looks at what is held sees what it added before', async () => {
  const [one, other] = await payments()
  await run([one, other], async (tx, payment) => {
    await addUnresolved(tx, keyOf(payment), 7n)
    assert.deepEqual(await lockUnresolved(tx, account.id, payment.id), [{ asset: 'LTC', atoms: 7n }])
  })
})
