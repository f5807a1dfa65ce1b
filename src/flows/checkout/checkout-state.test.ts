import assert from 'node:assert/strict'
import test from 'node:test'
import type { PaymentStatus } from '../../payments/payment.ts'
import type { CheckoutMoment } from './checkout-moments.sql.ts'
import { type CheckoutState, checkoutState } from './checkout-state.ts'

type Facts = Omit<CheckoutMoment, 'sessionId' | 'version'>

const DUE = 10n
const PLAIN: Facts = {
  paymentStatus: null,
  isSessionCancelled: false,
  isSessionOver: false,
  isWindowOver: false,
  enoughAtoms: DUE,
  receivedAtoms: 0n,
  lateAtoms: 0n,
  refundedAtoms: 0n,
  isRefunded: false,
  hasEarlierFunds: false,
  isWithdrawn: false,
  isSent: false,
  confirmations: 0,
  requiredConfirmations: 6,
  isChainInSight: true,
}

const over = { isWindowOver: true }
const cancelled = { isSessionCancelled: true }
const ended = { isWindowOver: true, isSessionOver: true }
const refunded = { isWindowOver: true, isRefunded: true }
const got = (receivedAtoms: bigint, lateAtoms = 0n) => ({ receivedAtoms, lateAtoms })

const CASES: readonly [PaymentStatus | null, Partial<Facts>, CheckoutState][] = [
  [null, {}, 'choose'],
  [null, cancelled, 'cancelled'],
  [null, ended, 'ended'],
  ['pending', {}, 'waiting'],
  ['pending', over, 'ending'],
  ['pending', cancelled, 'cancelled'],
  ['pending', { isSent: true }, 'sent'],
  ['pending', { ...over, isSent: true }, 'sent'],
  ['pending', { isWithdrawn: true }, 'waiting'],
  ['detected', got(DUE), 'seen'],
  ['detected', { ...got(DUE), confirmations: 1 }, 'confirming'],
  ['detected', got(4n), 'lower'],
  ['detected', { ...got(4n), ...over }, 'lower_over'],
  ['detected', got(0n), 'waiting'],
  ['detected', { ...got(0n), ...over }, 'ending'],
  ['underpaid', got(4n), 'lower'],
  ['underpaid', { ...got(4n), ...over }, 'lower_over'],
  ['underpaid', { ...got(4n, 5n), ...over }, 'lower_over'],
  ['underpaid', { ...got(4n, 6n), ...over }, 'late'],
  ['underpaid', { ...got(4n), ...refunded }, 'refunded'],
  ['underpaid', { ...got(4n, 6n), ...refunded }, 'refunded'],
  ['underpaid', { ...got(4n), isRefunded: true, refundedAtoms: 4n }, 'refunded'],
  ['detected', { ...got(8n), refundedAtoms: 4n }, 'lower'],
  ['underpaid', { ...got(DUE), refundedAtoms: 4n }, 'lower'],
  ['underpaid', { ...got(DUE), refundedAtoms: 4n, ...over }, 'lower_over'],
  ['detected', { ...got(DUE + 4n), refundedAtoms: 4n }, 'seen'],
  ['completed', got(DUE), 'paid'],
  ['completed', { ...got(DUE), ...refunded }, 'paid'],
  ['overpaid', got(12n), 'higher'],
  ['expired', over, 'expired'],
  ['expired', { ...over, isSent: true }, 'sent'],
  ['expired', { ...ended, isSent: true }, 'ended'],
  ['expired', { ...over, isWithdrawn: true }, 'replaced'],
  ['expired', ended, 'ended'],
  ['expired', { ...over, ...cancelled }, 'cancelled'],
  ['expired', { ...got(0n, 3n), ...over }, 'late'],
  ['expired', { ...got(0n, 3n), ...ended }, 'late'],
  ['expired', { ...got(0n, 3n), ...refunded }, 'refunded'],
  ['failed', over, 'replaced'],
  ['failed', { ...got(DUE), ...over }, 'late'],
  ['cancelled', {}, 'choose'],
  ['cancelled', cancelled, 'cancelled'],
  ['cancelled', { ...got(3n), ...cancelled }, 'late'],
]

for (const [paymentStatus, facts, state] of CASES) {
  const told = Object.entries(facts).map(([name, value]) => `${name} ${value}`)
  test(`${paymentStatus ?? 'no payment'}, ${told.join(', ') || 'nothing more'}: ${state}`, () => {
    assert.equal(checkoutState({ ...PLAIN, ...facts, paymentStatus }), state)
  })
}
