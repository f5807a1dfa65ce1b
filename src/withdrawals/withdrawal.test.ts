import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type RehearsalNote,
  rehearsalWith,
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

/** What a node said of so much gas, how much the call may use now, and what that answer says of it. */
const REHEARSALS: readonly (readonly [RehearsalNote | null, bigint, bigint, RehearsalNote | null])[] = [
  ['succeeds', 40_000n, 40_000n, 'succeeds'],
  ['succeeds', 40_000n, 60_000n, 'succeeds'],
  ['succeeds', 40_000n, 39_999n, null],
  ['reverts', 40_000n, 40_000n, 'reverts'],
  ['reverts', 40_000n, 21_000n, 'reverts'],
  ['reverts', 40_000n, 40_001n, null],
  ['unclear', 40_000n, 60_000n, 'unclear'],
  [null, 0n, 60_000n, null],
]

for (const [rehearsal, rehearsedGas, gasMax, says] of REHEARSALS)
  test(`a call that ${rehearsal ?? 'nobody asked about'} with ${rehearsedGas} gas: with ${gasMax} it ${says ?? 'is to be asked about'}`, () =>
    assert.equal(rehearsalWith({ rehearsal, rehearsedGas }, gasMax), says))
