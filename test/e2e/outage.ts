/** A node that is away for longer than a view may be old, and back later. */
import assert from 'node:assert/strict'
import { POLL_AGE_MS_MAX } from '../../src/chains/poll-age.ts'
import { markWindowsOver } from '../../src/flows/payments/windows-over.sql.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { call, testApp, testMerchant } from '../api.ts'
import type { Road } from './road.ts'

/**
 * To be called when the node has gone. Nothing is quoted on it and nothing expires; when it is back, what was paid in
 * time counts as such, what was not paid expires, and payments are taken again.
 *
 * @param waiting - Not paid.
 * @param paid - In a block of the node's that Beck has not seen.
 * @param comeBack - Starts the node.
 */
export async function outlastOutage(
  road: Road & { confirm(): Promise<void> },
  { waiting, paid }: { readonly waiting: Payment; readonly paid: Payment },
  comeBack: () => Promise<void>,
): Promise<void> {
  const { db } = road.gateway
  const app = await testApp(road.gateway)
  const { key } = await testMerchant(db, { mode: 'live' })
  const order = { body: { asset: paid.asset, fiat_amount: 25 } }

  // Its last answer is too old, and both windows ended meanwhile.
  await db.query("update chains set polled_at = polled_at - $2 * interval '1 millisecond' where chain = $1", [
    road.port.chain,
    POLL_AGE_MS_MAX + 1_000,
  ])
  for (const payment of [waiting, paid]) await road.endWindow(payment)
  const refused = await call(app, key, 'POST', '/payments', order)
  assert.deepEqual([refused.status, refused.error?.reason], [503, 'chain_unavailable'])
  assert.equal(await db.transaction((tx) => markWindowsOver(tx, 100)), 0)

  await comeBack()
  await road.confirm()
  await db.transaction((tx) => markWindowsOver(tx, 100))
  await road.follow()
  assert.equal((await road.show(waiting)).status, 'expired')
  const { status, deposits } = await road.show(paid)
  assert.deepEqual(
    [status, deposits[0]?.late],
    ['completed', false],
    'its block is older than the end of the window',
  )
  assert.equal((await call(app, key, 'POST', '/payments', order)).status, 201)
}
