/** The guides tell merchants why a withdrawal failed: every reason that there is, and no other. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { FAILURE_REASONS } from '../../src/withdrawals/withdrawal.ts'

/** The cells of a column of the table that has `failure_reason` in its head. */
async function reasonsIn(guide: string, column: number): Promise<string[]> {
  const lines = (await readFile(guide, 'utf8')).split('\n')
  const head = lines.findIndex((line) => line.startsWith('|') && line.includes('`failure_reason`'))
  assert.ok(head >= 0, guide)
  const end = lines.findIndex((line, at) => at > head && !line.startsWith('|'))
  return lines
    .slice(head + 2, end)
    .flatMap((line) =>
      [...(line.split('|')[column + 1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    )
}

test('docs/payments.md explains every reason, once, and no other', async () => {
  assert.deepEqual((await reasonsIn('docs/payments.md', 0)).sort(), [...FAILURE_REASONS].sort())
})

test('docs/approvals.md names reasons that there are', async () => {
  const known: readonly string[] = FAILURE_REASONS
  assert.deepEqual(
    (await reasonsIn('docs/approvals.md', 1)).filter((reason) => !known.includes(reason)),
    [],
  )
})
