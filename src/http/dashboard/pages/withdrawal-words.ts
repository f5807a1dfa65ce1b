/** Why a withdrawal failed, and what can be done next. Its amount is available again, unless a sentence says something else. */
import type { FailureReason, Withdrawal } from '../../../withdrawals/withdrawal.ts'

const CHANGED = 'The signer found its request changed and did not pay it. Tell whoever runs this Beck.'

const FAILURE_WORDS: Readonly<Record<FailureReason, string>> = {
  cancelled: 'It was called back before it was signed.',
  declined: 'Others of the team declined it. Ask them why before you ask for it again.',
  not_approved: 'Too few approved it in time. Ask for it again, and tell those who approve.',
  not_on_allowlist:
    'Its address is on no allowlist that holds for it. Ask for the address to be added under Approvals, or ask whoever runs this Beck.',
  limit_per_tx: 'It is larger than one payout may be here. Ask for smaller ones.',
  limit_per_hour: 'It is larger than what may leave here in an hour. Ask for smaller ones.',
  limit_per_day: 'It is larger than what may leave here in a day. Ask for smaller ones.',
  not_authentic: CHANGED,
  not_consistent: CHANGED,
  not_held: CHANGED,
  invalid_address: CHANGED,
  would_revert:
    'The receiver or the token would not have taken the coins, so nothing was sent. Ask for another address.',
  reverted:
    'The network took the transaction, and the receiver or the token did not take the coins; the network fee is spent. Ask for another address.',
  nonce_used: 'Another transaction took its place on the chain. Ask for it again.',
  coins_spent: 'Another transaction spent the coins that were to pay it. Ask for it again.',
  paid_after_failure:
    'It had failed, but a deep reorganisation let it be paid after all. Look at the address before you pay anything again.',
  sandbox: 'You asked the sandbox to let it fail. Ask without that for one that arrives.',
}

/** Null for one that failed before reasons were kept. */
export const whyFailed = ({ refusedReason }: Pick<Withdrawal, 'refusedReason'>): string | null =>
  refusedReason && FAILURE_WORDS[refusedReason]
