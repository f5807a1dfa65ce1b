import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, verdictOf } from './reconcile.ts'

test('rows beyond those that are named are counted, as differences like them', () => {
  const of = { proof: 'balances = transfers', chain: 'litecoin', asset: 'LTC' } as const
  const none = { holdings: [], gifts: [], compared: [], unswept: [], gasLeft: [], unproven: [] }
  const named = { ...of, subject: 'account acct_1 available', expectedAtoms: 0n, foundAtoms: 100_000_000n }
  assert.deepEqual(linesOf({ ...none, differences: [named], more: [{ ...of, rows: 4_999_000 }] }), [
    'DIFFERENCE litecoin LTC account acct_1 available (balances = transfers): expected 0, found 1',
    'DIFFERENCE litecoin LTC (balances = transfers): and 4999000 rows more',
  ])
})

test('the last line says nothing good of what was not looked at, and that coins stay frozen', () => {
  const unproven = [{ chain: 'bitcoin', reason: 'no node is set for it here' }] as const
  const kept = [{ chain: 'bitcoin', asset: 'BTC', reason: 'x' }] as const
  assert.equal(verdictOf({ differences: [], unproven: [] }, []), 'The books balance.')
  assert.equal(
    verdictOf({ differences: [], unproven }, kept),
    'The books balance as far as they were compared: bitcoin was not. Coins stay frozen; run it again.',
  )
})
