import assert from 'node:assert/strict'
import test from 'node:test'
import { newId, newPublicId } from '../../core/ids.ts'
import { RateLimited } from '../errors.ts'
import { openLimits } from './limits.ts'

const SLOW = 1 / 3_600
const many = { perSecond: SLOW, burst: 1_000 }
const accountId = newId('acct')
const session = (of = accountId) => ({ id: newPublicId('cs'), accountId: of })

/** How many of them are let through. */
async function passed(attempts: Iterable<() => Promise<void>>): Promise<number> {
  let count = 0
  for (const attempt of attempts)
    await attempt().then(
      () => (count += 1),
      (error) => assert.ok(error instanceof RateLimited),
    )
  return count
}

test('one who has all of a /48 burns no more addresses than four hosts', async () => {
  const limits = openLimits({ payments: { perSecond: SLOW, burst: 10 }, account: many, link: many })
  const from = (host: number) => () => limits.countPayment(`2001:db8:7:${host.toString(16)}::1`, session())
  assert.equal(await passed(Array.from({ length: 200 }, (_, host) => from(host + 1))), 40)
  await limits.countPayment('2001:db8:8::1', session())
  await limits.countPayment('203.0.113.1', session())
})

test('a thousand addresses take no more of one account, or of one link, than its share', async () => {
  const limits = openLimits({
    payments: many,
    visits: many,
    account: { perSecond: SLOW, burst: 50 },
    link: { perSecond: SLOW, burst: 30 },
  })
  const from = (host: number) => `203.0.${host >> 8}.${host & 255}`
  const payments = Array.from({ length: 300 }, (_, host) => () => limits.countPayment(from(host), session()))
  assert.equal(await passed(payments), 50)
  await limits.countPayment(from(999), session(newId('acct')))
  const link = newPublicId('plink')
  const visits = Array.from({ length: 300 }, (_, host) => () => limits.countLinkVisit(from(host), link))
  assert.equal(await passed(visits), 30)
  await limits.countLinkVisit(from(999), newPublicId('plink'))
})

test('a thousand visits of a link from one address are let in: behind it may be a whole town', async () => {
  const limits = openLimits()
  const link = newPublicId('plink')
  const visits = Array.from({ length: 1_000 }, () => () => limits.countLinkVisit('203.0.113.1', link))
  assert.equal(await passed(visits), 1_000)
})
