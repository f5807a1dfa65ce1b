import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import type { Tx } from '../db/database.ts'
import { claimDecisions, lockPayment, markDecisionDue, updatePayment } from './payments.sql.ts'

test('a decision that falls due while an older one is being taken is not lost', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const { accountId, id } = await testPayment(gateway, await testAccount(gateway))
  const payment = { accountId, paymentId: id, checkoutSessionId: null }
  const mark = () => db.transaction((tx) => markDecisionDue(tx, [payment]))
  await mark()
  const decide = async (tx: Tx) => {
    const claims = await claimDecisions(tx, 9)
    for (const claim of claims) {
      const claimed = await lockPayment(tx, claim.accountId, claim.paymentId)
      await updatePayment(tx, claimed ?? assert.fail(), 'decided')
    }
    return claims
  }

  let marked = false
  const { marking } = await db.transaction(async (tx) => {
    assert.deepEqual(await decide(tx), [payment])
    const marking = mark().then(() => {
      marked = true
    })
    // Until the second marking waits for this transaction (or went past it).
    for (let waiting = 0n; waiting === 0n && !marked; ) {
      const { rows } = await db.query<{ count: bigint }>(
        `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      waiting = rows[0]?.count ?? 0n
    }
    return { marking }
  })
  await marking
  assert.deepEqual(await db.transaction(decide), [payment])
  assert.deepEqual(await db.transaction(decide), [])
})

test('a payment stays due until it is decided about, whatever else is written about it', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const payment = await testPayment(gateway, await testAccount(gateway))
  const claim = { accountId: payment.accountId, paymentId: payment.id, checkoutSessionId: null }
  const claimed = () => db.transaction((tx) => claimDecisions(tx, 9))
  await db.transaction((tx) => markDecisionDue(tx, [claim]))
  await db.transaction((tx) => updatePayment(tx, payment))
  assert.deepEqual(await claimed(), [claim])
  assert.deepEqual(await claimed(), [claim], 'a claim without a decision')
  await db.transaction((tx) => updatePayment(tx, payment, 'decided'))
  assert.deepEqual(await claimed(), [])
})

test('what one process is deciding about, another one steps over', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const account = await testAccount(gateway)
  const payments = [await testPayment(gateway, account), await testPayment(gateway, account)]
  const due = payments.map(({ accountId, id }) => ({ accountId, paymentId: id }))
  await db.transaction((tx) => markDecisionDue(tx, due))
  await db.transaction(async (one) => {
    const [first] = await claimDecisions(one, 1)
    const others = await db.transaction((two) => claimDecisions(two, 9))
    const ids = [first, ...others].map((each) => each?.paymentId)
    assert.deepEqual(
      ids,
      payments.map(({ id }) => id),
    )
  })
})
