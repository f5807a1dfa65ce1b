import assert from 'node:assert/strict'
import test from 'node:test'
import { newId, newPublicId } from '../../core/ids.ts'
import { RateLimited } from '../errors.ts'
import { openLimits } from './limits.ts'

const SLOW = 1 / 3_600
const many = { perSecond: SLOW, burst: 1_000 }
const accountId = newId('acct')
const session = (of = accountId) => ({ id: newPublicId('cs'), accountId: of })

/** The default of `beck wallet find --gap`. */
const FIND_GAP = 10_000
/** Hosts of IPv4, each of a network of its own. */
const hostNumber = (host: number): string => `100.${host >> 16}.${(host >> 8) & 255}.${host & 255}`

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

test('one who has all of a /56 burns no more addresses than two hosts, and of a /48 than four', async () => {
  const limits = openLimits({ payments: { perSecond: SLOW, burst: 10 }, account: many, link: many })
  const from = (host: number) => () => limits.countPayment(`2001:db8:7:${host.toString(16)}::1`, session())
  assert.equal(await passed(Array.from({ length: 200 }, (_, host) => from(host))), 20)
  assert.equal(await passed(Array.from({ length: 200 }, (_, network) => from((network + 1) << 8))), 20)
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

test('one who has all of a /48 keeps no more pages live than four hosts, and opens no more', async () => {
  const limits = openLimits({ streams: 5, pages: { perSecond: SLOW, burst: 5 } })
  const hosts = Array.from({ length: 200 }, (_, host) => `2001:db8:7:${host.toString(16)}::1`)
  const networks = Array.from(
    { length: 200 },
    (_, network) => `2001:db8:7:${((network + 1) << 8).toString(16)}::1`,
  )
  const enter = (address: string) => async () => limits.enterStream(address)
  assert.equal(await passed(hosts.map(enter)), 10)
  assert.equal(await passed(networks.map(enter)), 10)
  assert.equal(await passed(Array.from({ length: 6 }, () => enter('203.0.113.1'))), 5)
  limits.enterStream('2001:db8:8::1')
  // Who leaves makes room for a neighbour, and for no more than one.
  limits.leaveStream(hosts[0] ?? '')
  assert.equal(await passed(hosts.slice(20).map(enter)), 1)

  const open = (address: string) => () => limits.countPage(address)
  assert.equal(await passed(hosts.map(open)), 10)
  assert.equal(await passed(networks.map(open)), 10)
  await limits.countPage('2001:db8:8::1')
  assert.equal(await passed(Array.from({ length: 6 }, () => open('203.0.113.1'))), 5)
})

test('strangers need 15 minutes to pass the gap of a search with payments of one account, by the limits as they are', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const limits = openLimits()
  let host = 0
  const fromEverywhere = (count: number) =>
    passed(Array.from({ length: count }, () => () => limits.countPayment(hostNumber(host++), session())))
  assert.equal(await fromEverywhere(1_500), 1_000, 'at once')
  let taken = 1_000
  let seconds = 0
  for (; taken < FIND_GAP; seconds++) {
    nowMs += 1_000
    taken += await fromEverywhere(15)
  }
  assert.deepEqual([taken, seconds], [FIND_GAP, 900])
})

test('one host makes 60 payments at once and then one a second, and a session 20 and then one a minute', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const limits = openLimits()
  const byHost = (count: number) =>
    passed(Array.from({ length: count }, () => () => limits.countPayment('203.0.113.1', session())))
  assert.equal(await byHost(100), 60)
  nowMs += 10_000
  assert.equal(await byHost(100), 10)
  const one = session()
  let host = 0
  const bySession = (count: number) =>
    passed(Array.from({ length: count }, () => () => limits.countPayment(hostNumber(host++), one)))
  assert.equal(await bySession(50), 20)
  nowMs += 60_000
  assert.equal(await bySession(50), 1)
})
