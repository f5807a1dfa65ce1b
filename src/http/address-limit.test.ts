/** What the hosts of a network may ask for together, and when none of them is listened to. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { SILENT } from '../core/log.ts'
import { networksAround } from '../core/networks.ts'
import { openAddressLimit } from './address-limit.ts'

const SIZE = { perSecond: 1, burst: 10 }
const hostOfSite = (group: number) => `2001:db8:7:${group.toString(16)}::1`
const hosts = Array.from({ length: 200 }, (_, host) => hostOfSite(host))
const spread = Array.from({ length: 200 }, (_, network) => hostOfSite((network + 1) << 8))

test('who has all of a /56 asks for no more than two hosts, and of a /48 than four', () => {
  const limit = openAddressLimit(SIZE, SILENT, () => 0)
  const admitted = (addresses: readonly string[]) =>
    addresses.filter((address) => limit.take(address) === 0).length
  assert.equal(admitted(hosts), 20)
  assert.equal(admitted(spread), 20)
  assert.equal(admitted(['2001:db8:8::1', '203.0.113.1']), 2)
  assert.equal(admitted(Array.from({ length: 20 }, () => '203.0.113.2')), 10)
  // A good key's token goes back to its host and to both networks, and lets in one more.
  limit.giveBack(hosts[0] ?? '')
  assert.equal(admitted(hosts.slice(20)), 1)
})

test('a flood from all of a /48 shuts it out as one, and writes one line of log', () => {
  const lines: object[] = []
  const log = { ...SILENT, warn: (line: object) => void lines.push(line) }
  let now = 0
  const limit = openAddressLimit(SIZE, log, () => now)
  const isShut = (address: string) => limit.turnAway(networksAround(address))
  for (const address of spread.slice(0, 59)) limit.take(address)
  assert.ok(!isShut(hostOfSite(0xffff)))
  for (const address of spread.slice(59)) limit.take(address)
  assert.ok(isShut(hostOfSite(0xffff)))
  assert.ok(!isShut('2001:db8:8::1') && !isShut('203.0.113.1'))
  assert.equal(lines.length, 1)
  now += 10_001
  assert.ok(!isShut(hostOfSite(0xffff)))
})

const MINUTE_MS = 60_000

/** What is shut after so many connections of an address were cut off. */
function cutting() {
  let now = 0
  const limit = openAddressLimit({ perSecond: 100, burst: 400 }, SILENT, () => now)
  return {
    isShut: (address: string) => limit.turnAway(networksAround(address)),
    wait(ms: number) {
      now += ms
    },
    cut(address: string, times: number) {
      for (let done = 0; done < times; done++) limit.cutOff(networksAround(address))
    },
    ask(address: string, times: number) {
      for (let done = 0; done < times; done++) limit.take(address)
    },
  }
}

test('four connections cut off shut out their host, and any number of them not its neighbours', () => {
  const { isShut, cut, ask, wait } = cutting()
  for (const host of ['203.0.113.1', '2001:db8:7:101::1']) {
    cut(host, 3)
    assert.ok(!isShut(host), host)
    cut(host, 1)
    assert.ok(isShut(host), host)
  }
  assert.ok(!isShut('203.0.113.2'))
  // Over the border of a minute, and with refused requests between.
  for (let second = 0; second < 120; second++) {
    cut('2001:db8:7:101::1', 16)
    ask('2001:db8:7:101::1', 1_000)
    assert.deepEqual([isShut('2001:db8:7:101::2'), isShut('2001:db8:7:102::1')], [true, false])
    assert.ok(!isShut('2001:db8:7:201::1'))
    wait(1_000)
  }
})

test('a /56 is shut out by two of its hosts, and a /48 by two such of its own: by four hosts', () => {
  const { isShut, cut, wait } = cutting()
  cut('2001:db8:7:101::1', 16)
  cut('2001:db8:7:102::1', 3)
  assert.ok(!isShut('2001:db8:7:103::1'))
  cut('2001:db8:7:102::1', 1)
  assert.ok(isShut('2001:db8:7:103::1'), 'the /56')
  // All of its hosts together count no more than the two against others of the site.
  for (let host = 3; host < 99; host++) cut(`2001:db8:7:${(0x100 + host).toString(16)}::1`, 16)
  assert.ok(!isShut('2001:db8:7:201::1'))
  cut('2001:db8:7:201::1', 16)
  cut('2001:db8:7:301::1', 3)
  assert.ok(!isShut('2001:db8:7:401::1'))
  cut('2001:db8:7:301::1', 1)
  assert.ok(isShut('2001:db8:7:401::1') && !isShut('2001:db8:8:401::1'), 'the /48')
  wait(10_001)
  assert.ok(!isShut('2001:db8:7:401::1') && !isShut('2001:db8:7:101::1'))
})

test('who floods on over the border of a minute stays shut out', () => {
  const { isShut, cut, wait } = cutting()
  wait(MINUTE_MS - 1)
  cut('203.0.113.1', 4)
  wait(1)
  cut('203.0.113.1', 1)
  assert.ok(isShut('203.0.113.1'))
})

/** A host that asks four times a millisecond wherever it is let in. */
function flood(limit: ReturnType<typeof openAddressLimit>, clock: { now: number }, untilMs: number) {
  const answers = { served: 0, refused: 0 }
  for (; clock.now < untilMs; clock.now += 1)
    for (let each = 0; each < 4; each++)
      if (!limit.turnAway(networksAround('203.0.113.1')))
        answers[limit.take('203.0.113.1') === 0 ? 'served' : 'refused'] += 1
  return answers
}

test('who floods on is served little whenever the door opens', () => {
  const clock = { now: 0 }
  const limit = openAddressLimit({ perSecond: 100, burst: 400 }, SILENT, () => clock.now)
  const { served, refused } = flood(limit, clock, 5 * MINUTE_MS)
  // A burst at first; then, thirty times, an eighth of one and what flows in while another is refused; and a whole one, as
  // of anybody, at the first opening of each minute.
  assert.ok(served < 400 + 30 * 75, `${served} served`)
  assert.ok(refused < 5 * 400 + 30 * 60, `${refused} refused`)
})

test('once a flood is over, its host is heard within ten seconds, and what a page asks for at once shuts nobody out', () => {
  const clock = { now: 0 }
  const limit = openAddressLimit({ perSecond: 100, burst: 400 }, SILENT, () => clock.now)
  flood(limit, clock, 25_000)
  // On a connection that was open he is heard at once.
  assert.equal(limit.take('203.0.113.1'), 0)
  clock.now = 35_001
  for (let second = 0; second < 10; second++)
    for (let each = 0; each < 100; each++, clock.now += each < 30 ? 0 : 14) {
      assert.ok(!limit.turnAway(networksAround('203.0.113.1')), `shut out again after ${second} s`)
      assert.equal(limit.take('203.0.113.1'), 0, `refused after ${second} s`)
    }
})

test('refused requests on connections that were open keep nobody out for longer', () => {
  const clock = { now: 0 }
  const limit = openAddressLimit({ perSecond: 100, burst: 400 }, SILENT, () => clock.now)
  const networks = networksAround('203.0.113.1')
  for (let each = 0; each < 800; each++) limit.take('203.0.113.1')
  assert.ok(limit.turnAway(networks))
  for (; clock.now < 10_000; clock.now += 1) limit.take('203.0.113.1')
  clock.now += 1
  assert.ok(!limit.turnAway(networks))
})
