/**
 * Benches that write their rows themselves are run by nobody for weeks, while what Beck demands of a row grows. Those of them
 * that take seconds are tried here at a fraction of their size, where every check that they make of their results holds all the
 * same. Whether a bar is met is not asked: that takes a machine that does nothing else.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'

const SMALL = {
  'block-scan': 2_000,
  'poll-payouts': 5_000,
  'prove-block': 2_000,
  'signer-journal': 2_000,
}

for (const [bench, size] of Object.entries(SMALL))
  test(`bench/${bench}.ts checks what it measures, and comes to its end`, async () => {
    const { stdout, stderr } = await run(bench, size)
    assert.match(stdout, /: (met|MISSED)\n$/, stderr)
  })

async function run(bench: string, size: number): Promise<{ stdout: string; stderr: string }> {
  const script = new URL(`../bench/${bench}.ts`, import.meta.url).pathname
  const child = spawn(process.execPath, [script, String(size)], { stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  await once(child, 'close')
  return said
}
