import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  statusAfter,
  WITHDRAWAL_STATUSES,
  WITHDRAWAL_TRIGGERS,
  type WithdrawalStatus,
  type WithdrawalTrigger,
} from './withdrawal.ts'

type Row = readonly [from: WithdrawalStatus, trigger: WithdrawalTrigger, to: WithdrawalStatus | null]

const TABLE: readonly Row[] = [
  ['requested', 'sent', 'broadcast'],
  ['requested', 'confirmed', 'completed'],
  ['requested', 'refused', 'failed'],
  ['requested', 'impossible', 'failed'],
  ['broadcast', 'sent', 'broadcast'],
  ['broadcast', 'confirmed', 'completed'],
  ['broadcast', 'refused', null],
  ['broadcast', 'impossible', 'failed'],
  ['completed', 'sent', 'completed'],
  ['completed', 'confirmed', 'completed'],
  ['completed', 'refused', null],
  ['completed', 'impossible', 'failed'],
  ['failed', 'sent', null],
  ['failed', 'confirmed', null],
  ['failed', 'refused', null],
  ['failed', 'impossible', null],
]

test('every state meets every trigger', () => {
  assert.equal(TABLE.length, WITHDRAWAL_STATUSES.length * WITHDRAWAL_TRIGGERS.length)
  for (const [from, trigger, to] of TABLE) assert.equal(statusAfter(from, trigger), to, `${from} ${trigger}`)
})

test('what failed or completed never becomes payable again', () => {
  for (const trigger of WITHDRAWAL_TRIGGERS) {
    assert.equal(statusAfter('failed', trigger), null)
    assert.ok(['completed', 'failed', null].includes(statusAfter('completed', trigger)))
  }
})
