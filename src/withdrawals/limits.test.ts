import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLimits } from './limits.ts'

test('limits are read exactly; what cannot be read is never no limit', () => {
  assert.deepEqual(readLimits('BTC=tx:1,hour:5,day:20; USDC=day:0.5'), {
    BTC: { tx: 100_000_000n, hour: 500_000_000n, day: 2_000_000_000n },
    USDC: { day: 500_000n },
  })
  assert.deepEqual(readLimits(''), {})
  for (const text of [
    'DOGE=tx:1',
    'BTC',
    'BTC=',
    'BTC=tx',
    'BTC=week:1',
    'BTC=tx:-1',
    'BTC=tx:1;BTC=tx:2',
    'BTC=tx:1,tx:2',
    'BTC=tx:1=5',
    'BTC=tx:1:5',
    'BTC=tx:0.000000001',
  ])
    assert.throws(() => readLimits(text), { reason: 'unusable_setting' }, text)
})
