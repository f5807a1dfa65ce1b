/** What a sample event shows: a payment or a withdrawal that nobody made, with every field that a real one has. */
import { ASSET_FACTS } from '../../core/assets.ts'
import { newId, showId } from '../../core/ids.ts'
import { divideDown, formatDecimal } from '../../core/money.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts'
import type { EventType } from '../../events/event.ts'
import type { PaymentStatus } from '../../payments/payment.ts'
import type { PaymentResource } from '../../payments/payment-resource.ts'
import type { WithdrawalResource } from '../../withdrawals/withdrawal-resource.ts'

/** On no chain that is worth anything, for live accounts too: a receiver may show it to somebody. */
const ADDRESS = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'
const TX_HASH = '0'.repeat(64)
const ATOMS = 62_487_500n
const CONFIRMATIONS = 6

const STATUS_OF: Readonly<Record<Extract<EventType, `payment.${string}`>, PaymentStatus>> = {
  'payment.created': 'pending',
  'payment.confirming': 'detected',
  'payment.completed': 'completed',
  'payment.expired': 'expired',
  'payment.refunded': 'underpaid',
}

/** Its id is one that no payment and no withdrawal has. */
export const sampleData = (type: EventType, now: Date): PaymentResource | WithdrawalResource =>
  type === 'payout.completed' || type === 'payout.failed'
    ? sampleWithdrawal(type === 'payout.failed', now)
    : samplePayment(STATUS_OF[type], now)

function samplePayment(status: PaymentStatus, now: Date): PaymentResource {
  const at = (agoMs: number) => new Date(now.getTime() - agoMs).toISOString()
  const created = status === 'expired' ? 31 * MINUTE_MS : 20 * MINUTE_MS
  const expiresAt = at(created - 30 * MINUTE_MS)
  const isSeen = status !== 'pending' && status !== 'expired'
  const confirmations = isSeen && status !== 'detected' ? CONFIRMATIONS : 0
  const paid = status === 'underpaid' ? divideDown(ATOMS, 2n) : ATOMS
  const coin = { asset: 'LTC', network: 'litecoin' } as const
  return {
    id: showId('pay', newId('pay')),
    status,
    ...coin,
    fiat_currency: 'USD',
    fiat_amount: 49.99,
    fee_fiat: 0.5,
    net_fiat: 49.49,
    confirmations,
    reference: 'test-event',
    metadata: {},
    expires_at: expiresAt,
    created_at: at(created),
    detected_at: isSeen ? at(15 * MINUTE_MS) : null,
    completed_at: status === 'completed' ? at(0) : null,
    customers: { id: showId('cus', newId('cus')), email: 'buyer@example.com' },
    deposit: {
      address: ADDRESS,
      ...coin,
      expected_amount: litecoins(ATOMS),
      expected_amount_atoms: String(ATOMS),
      qr_data: `litecoin:${ADDRESS}?amount=${litecoins(ATOMS)}`,
      payment_uri: `litecoin:${ADDRESS}?amount=${litecoins(ATOMS)}`,
      status,
      confirmations,
      required_confirmations: CONFIRMATIONS,
      expires_at: expiresAt,
    },
    missing: status === 'underpaid' ? litecoins(ATOMS - paid) : null,
    refund_address: null,
    deposits: isSeen
      ? [
          {
            tx_hash: TX_HASH,
            asset: 'LTC',
            amount: litecoins(paid),
            amount_atoms: String(paid),
            confirmations,
            status: confirmations > 0 ? 'confirmed' : 'seen',
            late: false,
            seen_at: at(15 * MINUTE_MS),
          },
        ]
      : [],
  }
}

const litecoins = (atoms: bigint): string => formatDecimal(atoms, ASSET_FACTS.LTC.decimals)

function sampleWithdrawal(isFailed: boolean, now: Date): WithdrawalResource {
  const feeAtoms = 2_000n
  return {
    id: showId('wd', newId('wd')),
    status: isFailed ? 'failed' : 'completed',
    kind: 'payout',
    payment_id: null,
    asset: 'LTC',
    network: 'litecoin',
    amount_atoms: String(ATOMS),
    fee_atoms: String(feeAtoms),
    net_atoms: String(ATOMS - feeAtoms),
    destination_address: ADDRESS,
    tx_hash: isFailed ? null : TX_HASH,
    failure_reason: isFailed ? 'limit_per_day' : null,
    waiting_for: null,
    created_at: new Date(now.getTime() - HOUR_MS).toISOString(),
    completed_at: now.toISOString(),
  }
}
