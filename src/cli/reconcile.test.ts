import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf } from './reconcile.ts'

test('rows beyond those that are named are counted, as differences like them', () => {
  const of = { proof: 'balances = transfers', chain: 'litecoin', asset: 'LTC' } as const
  const none = { holdings: [], gifts: [], compared: [], unswept: [], gasLeft: [], unproven: [] }
  const named = { ...of, subject: 'account acct_1 available', expectedAtoms: 0n, foundAtoms: 100_000_000n }
  assert.deepEqual(linesOf({ ...none, differences: [named], more: [{ ...of, rows: 4_999_000 }] }), [
    'DIFFERENCE litecoin LTC account acct_1 available (balances = transfers): expected 0, found 1',
    'DIFFERENCE litecoin LTC (balances = transfers): and 4999000 rows more',
  ])
})
