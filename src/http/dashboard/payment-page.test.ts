/** What the page of a payment says of what is held for it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testPayment } from '../../../test/gateway.ts'
import { tellStory } from '../../../test/story.ts'
import { showId } from '../../core/ids.ts'
import type { Payment } from '../../payments/payment.ts'

const ETHER = 10_000_000_000_000_000n

test('what is held is called late only where it came late', async () => {
  const story = await tellStory({ chain: 'sim-ethereum' })
  const { gateway, account } = story
  const owner = await testPerson(gateway, await testApp(gateway), { account, role: 'owner' })
  const held = async (payment: Payment): Promise<string> => {
    const { html } = await owner.get(`${homeOf(account)}/payments/${showId('pay', payment.id)}`)
    return / held\.<\/strong> (.*?) Credit it/.exec(html)?.[1] ?? 'nothing'
  }
  const make = () => testPayment(gateway, account, { asset: 'USDC' })
  const expire = async (payment: Payment) => {
    await story.endWindow(payment)
    await story.mine(1)
    await story.look()
  }

  const other = await make()
  await story.payAndConfirm(other, ETHER, 'ETH')
  assert.equal(await held(other), 'nothing', 'the right coin may still come')
  await expire(other)
  assert.equal(await held(other), 'It is another coin than was asked.')
  await story.payAndConfirm(other, other.dueAtoms)
  assert.equal(
    await held(other),
    'The USDC came when the payment did not wait for it any more; the rest is another coin than was asked.',
  )

  const late = await make()
  await expire(late)
  await story.payAndConfirm(late, late.dueAtoms)
  assert.equal(await held(late), 'It came when the payment did not wait for it any more.')

  const little = await make()
  await story.payAndConfirm(little, little.dueAtoms / 2n)
  await expire(little)
  assert.equal(await held(little), 'Less came than was asked.')

  const paid = await make()
  await story.payAndConfirm(paid, paid.dueAtoms)
  assert.equal(await held(paid), 'nothing')
  await story.payAndConfirm(paid, ETHER, 'ETH')
  assert.equal(await held(paid), 'It came beyond what was asked; the price itself is settled.')
})

test('only what is held beyond a shortfall is offered to be sent back', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const owner = await testPerson(gateway, await testApp(gateway), { account, role: 'owner' })
  const payment = await testPayment(gateway, account)
  await story.payAndConfirm(payment, payment.dueAtoms / 2n)
  const path = `${homeOf(account)}/payments/${showId('pay', payment.id)}`
  const offered = async (shortfallAtoms: bigint) => {
    await gateway.db.query('update payments set shortfall_atoms = $1', [shortfallAtoms])
    const [page, refund] = [await owner.get(path), await owner.get(`${path}/refund`)]
    return [
      /send it back to the buyer/.test(page.html),
      /Refund…/.test(page.html),
      /was credited and withdrawn before a reorganisation took it/.test(page.html),
      /([\d.]+) LTC can be sent back/.exec(refund.text)?.[1] ?? null,
    ]
  }
  assert.deepEqual(await offered(0n), [true, true, false, '0.5'])
  assert.deepEqual(await offered(payment.dueAtoms / 5n), [true, true, true, '0.3'])
  assert.deepEqual(await offered(payment.dueAtoms / 2n), [false, false, true, null])
})
