import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { HOUR_MS } from '../core/time.ts'
import {
  allowAddress,
  disallowAddress,
  FEE_SPANS,
  judgeAmount,
  judgeDestination,
  readAllowlist,
} from './policy.ts'

test('a withdrawal beyond a limit by itself is refused, one beyond what is left of it waits', () => {
  const limits = { BTC: { tx: 10n, hour: 20n, day: 30n } }
  const judge = (atoms: bigint, hour: bigint, day: bigint) =>
    judgeAmount(limits, 'BTC', atoms, (span) => (span === 'hour' ? hour : day)).kind
  assert.equal(judge(10n, 10n, 20n), 'allow')
  assert.equal(judge(11n, 0n, 0n), 'refuse')
  assert.equal(judge(10n, 11n, 11n), 'wait')
  assert.equal(judge(10n, 0n, 21n), 'wait')
  assert.equal(judgeAmount(limits, 'ETH', 10n ** 30n, () => 0n).kind, 'allow')
})

test('a fee comes under the limits of hour and day, not under the one per withdrawal', () => {
  const limits = { BTC: { tx: 10n, hour: 20n, day: 30n } }
  const judge = (atoms: bigint, hour: bigint) =>
    judgeAmount(limits, 'BTC', atoms, (span) => (span === 'hour' ? hour : 0n), FEE_SPANS).kind
  assert.equal(judge(11n, 9n), 'allow')
  assert.equal(judge(11n, 10n), 'wait')
  assert.equal(judge(21n, 0n), 'refuse')
})

test('whatever is asked for, no more than the limit leaves within an hour', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ atoms: fc.bigInt(1n, 40n), minutes: fc.integer({ min: 0, max: 90 }) })),
      (asked) => {
        const left: { at: number; atoms: bigint }[] = []
        const sum = (since: number) =>
          left.filter(({ at }) => at >= since).reduce((total, { atoms }) => total + atoms, 0n)
        let now = 1e12
        for (const { atoms, minutes } of asked) {
          now += minutes * 60_000
          const verdict = judgeAmount({ BTC: { hour: 100n } }, 'BTC', atoms, () => sum(now - HOUR_MS))
          if (verdict.kind === 'allow') left.push({ at: now, atoms })
          assert.ok(sum(now - HOUR_MS) <= 100n)
        }
      },
    ),
  )
})

test('an address counts after its waiting time, for its own network', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-allowlist-'))
  after(() => rm(folder, { recursive: true, force: true }))
  const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  assert.deepEqual(await readAllowlist(folder), [])
  await allowAddress(folder, 'ethereum', address)
  await allowAddress(folder, 'ethereum', address)
  const list = await readAllowlist(folder)
  assert.equal(list.length, 1)
  const judge = (asset: 'ETH' | 'BTC', to: string, later: number) =>
    judgeDestination(list, HOUR_MS, asset, to, Date.now() + later).kind
  assert.equal(judge('ETH', address, 0), 'wait')
  assert.equal(judge('ETH', address.toLowerCase(), HOUR_MS + 1_000), 'allow')
  assert.equal(judge('BTC', address, HOUR_MS + 1_000), 'refuse')
  assert.equal(judge('ETH', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', HOUR_MS + 1_000), 'refuse')
})

test('an address is allowed and taken off whichever way it is written; in base58 capitals count', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-allowlist-'))
  after(() => rm(folder, { recursive: true, force: true }))
  for (const [network, asset, address, other] of [
    [
      'ethereum',
      'ETH',
      '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
    ],
    [
      'bitcoin',
      'BTC',
      'BCRT1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KYGT080',
      'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080',
    ],
  ] as const) {
    await allowAddress(folder, network, address)
    await allowAddress(folder, network, other)
    const list = await readAllowlist(folder)
    assert.deepEqual(
      list.map((entry) => entry.address),
      [address],
    )
    assert.equal(judgeDestination(list, 0, asset, other, Date.now() + 1_000).kind, 'allow')
    assert.equal(await disallowAddress(folder, network, other), true)
    assert.deepEqual(await readAllowlist(folder), [])
  }
  await allowAddress(folder, 'bitcoin', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn')
  assert.equal(await disallowAddress(folder, 'bitcoin', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRFN'), false)
})

test('an address whose time on the allowlist can not be read waits', () => {
  for (const added_at of ['', 'soon', '2026-13-01T00:00:00Z']) {
    const list = [{ network: 'bitcoin', address: 'bc1q', added_at }] as const
    assert.equal(judgeDestination(list, HOUR_MS, 'BTC', 'bc1q', Date.now()).kind, 'wait', added_at)
  }
})
