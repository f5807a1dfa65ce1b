import assert from 'node:assert/strict'
import test from 'node:test'
import { testPayment } from '../../../test/gateway.ts'
import { tellStory } from '../../../test/story.ts'
import { acceptPayment } from './resolve-payment.ts'

test('accepting wakes nobody: what it writes may still be undone, and whoever commits it does', async () => {
  const story = await tellStory()
  const payment = await testPayment(story.gateway, story.account)
  await story.payAndConfirm(payment, payment.dueAtoms / 2n)
  await story.endWindow(payment)
  await story.look()
  const woken: string[] = []
  const gateway = { ...story.gateway, wake: (queue: string) => void woken.push(queue) }
  const accepted = await gateway.db.transaction((tx) => acceptPayment(gateway, tx, story.account, payment.id))
  assert.equal(accepted.status, 'completed')
  assert.deepEqual(woken, [])
})
