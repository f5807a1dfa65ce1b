/**
 * Benches that write their rows themselves are run by nobody for weeks, while what Beck demands of a row grows. Those of them
 * that take seconds are tried here at a fraction of their size, where every check that they make of their results holds all the
 * same. Whether a bar is met is not asked: that takes a machine that does nothing else.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const SMALL = {
  'block-scan': 2_000,
  'poll-payouts': 5_000,
  'prove-block': 2_000,
  'signer-journal': 2_000,
}

for (const [bench, size] of Object.entries(SMALL))
  test(`bench/${bench}.ts checks what it measures, and comes to its end`, () => {
    const script = new URL(`../bench/${bench}.ts`, import.meta.url).pathname
    const { stdout, stderr } = spawnSync(process.execPath, [script, String(size)], { encoding: 'utf8' })
    assert.match(stdout, /: (met|MISSED)\n$/, stderr)
  })
