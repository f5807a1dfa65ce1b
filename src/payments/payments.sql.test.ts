import assert from 'node:assert/strict'
import test from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { claimDecisions, markDecisionDue } from './payments.sql.ts'

test('a decision that falls due while an older one is being taken is not lost', async () => {
  const gateway = await testGateway()
  const { db } = gateway
  const { accountId, id } = await testPayment(gateway, await testAccount(gateway))
  const payment = { accountId, paymentId: id, checkoutSessionId: null }
  const mark = () => db.transaction((tx) => markDecisionDue(tx, [payment]))
  await mark()

  let marked = false
  const { marking } = await db.transaction(async (tx) => {
    assert.deepEqual(await claimDecisions(tx, 1), [payment])
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
  assert.deepEqual(await db.transaction((tx) => claimDecisions(tx, 9)), [payment])
  assert.deepEqual(await db.transaction((tx) => claimDecisions(tx, 9)), [])
})
