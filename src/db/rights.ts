/**
 * What the server's and the signer's statements need of each table, and no more: `rights.test.ts` reads the statements and
 * compares. Of what decides where money goes and how much it is, an update may change only the columns that are named.
 */
export type Rights = readonly string[]
const READ: Rights = ['select']
/** Rows that are never changed: the ledger's history is among them. */
const ADD: Rights = ['select', 'insert']
const CHANGE: Rights = ['select', 'update']
const WRITE: Rights = ['select', 'insert', 'update']
/** Rows that come and go. */
const TURN: Rights = ['select', 'insert', 'delete']
const ALL: Rights = ['select', 'insert', 'update', 'delete']

/** A table that is named nowhere is its owner's alone. */
export const SERVER_RIGHTS: Readonly<Record<string, Rights>> = {
  accounts: WRITE,
  account_balances: [...TURN, 'update (atoms, seen_height)'],
  account_logos: ALL,
  address_spends: TURN,
  addresses: [...ADD, 'update (account_id, payment_id, issued_at, reserved_until, withheld)'],
  alerts: ALL,
  // The signer's.
  allowed_addresses: READ,
  api_keys: [...ADD, 'update (expires_at, last_used_at, revoked_at)'],
  api_requests: TURN,
  approval_policies: READ,
  approval_requests: [...ADD, 'update (status, declined_by, refused_reason, decided_at, told_at)'],
  // Who approved what is kept for good, by the signer's log too; an answer gives way to the same person's new one.
  approvals: [
    ...ADD,
    'update (credential_id, authenticator_data, client_data, signature, created_at, verdict)',
  ],
  audit_log: [...ADD, 'update (place, mac)'],
  balances: [...ADD, 'update (atoms)'],
  chain_blocks: ALL,
  chains: WRITE,
  checkout_sessions: [
    ...TURN,
    'update (payment_id, refund_address, refund_address_mac, sent_tx, expires_at, cancelled_at)',
  ],
  closed_days: ADD,
  customer_counts: WRITE,
  customers: WRITE,
  daily_balances: ADD,
  daily_payments: [...TURN, 'update (payments)'],
  daily_rates: WRITE,
  deliveries: ALL,
  delivery_attempts: ADD,
  delivery_totals: WRITE,
  deposit_inputs: TURN,
  deposits: [
    ...ADD,
    'update (status, block_height, block_hash, late, seen_at, replaced_by, replaced_height, missing_since, bookings, booked, sweep)',
  ],
  events: ALL,
  fee_rates: WRITE,
  // Only the operator's command lifts one.
  freezes: ADD,
  gas_funding: [...TURN, 'update (block_height, sweep)'],
  idempotency_keys: ALL,
  invitations: ALL,
  journal_entries: ADD,
  mails: ALL,
  members: ALL,
  merchants: WRITE,
  nonces: [...TURN, 'update (next)'],
  notes: TURN,
  passkeys: [...TURN, 'update (counter, used_at)'],
  payment_changes: TURN,
  payment_counts: WRITE,
  payment_grid_counts: [...TURN, 'update (upto)'],
  payment_grids: [...TURN, 'update (marks, is_due, is_whole)'],
  payment_links: [...ADD, 'update (is_active, uses)'],
  payment_ranks: ['select', 'insert', 'update (made_before)'],
  payment_rungs: [...TURN, 'update (payments)'],
  payments: [
    ...ADD,
    'update (status, credited_atoms, gateway_fee_atoms, shortfall_atoms, recovered_atoms, settlements, spent_minor, fee_minor, net_minor)',
    'update (accepted_net_atoms, accepted_fee_atoms, accepted_net_minor, accepted_fee_minor)',
    'update (expires_at, detected_at, completed_at, decision_due)',
  ],
  payout_batches: ADD,
  pinned_approvers: ['select', 'update (told_at)'],
  points_of_sale: [...ADD, 'update (revoked_at)'],
  proof_sums: TURN,
  proven_blocks: WRITE,
  proven_rows: WRITE,
  recovery_codes: ALL,
  running_roles: ALL,
  saved_views: TURN,
  schema_migrations: READ,
  secret_keys: ADD,
  sessions: ALL,
  sign_in_challenges: TURN,
  sign_in_failures: TURN,
  sign_on_identities: ADD,
  signed_payouts: READ,
  signed_transactions: [
    'select',
    'update (status, block_height, block_hash, since_height, send_at, sent_at, refusal, bump_wanted)',
    'update (paid_fee_atoms, booked_fee_atoms, fee_bookings)',
  ],
  sim_balances: WRITE,
  sim_blocks: TURN,
  sim_chains: CHANGE,
  sim_claims: TURN,
  sim_transactions: ALL,
  sweep_delegates: [...ADD, 'update (replacement_set, wanted_since)'],
  // A plan that nothing was signed for is taken back.
  sweeps: [...TURN, 'update (status, atoms)'],
  swept_tokens: TURN,
  time_arrow: WRITE,
  told_acts: CHANGE,
  totp: ALL,
  transfers: ADD,
  unexpected_deposits: [...ADD, 'update (lookup, address, asset, atoms, block_height, sweep)'],
  unresolved_funds: [...ADD, 'update (atoms)'],
  users: WRITE,
  utxos: [...ADD, 'update (block_height, reserved_by, reserved_first_by, spent_by, spent_height)'],
  wallets: READ,
  webhook_endpoints: ALL,
  withdrawals: [
    ...ADD,
    'update (status, tx_hash, refused_reason, broadcast_at, completed_at, failed_at, kept_atoms, cancel_wanted)',
    'update (batch_id, batch_note, rehearsal, rehearsed_at, rehearsed_gas)',
  ],
}

export const SIGNER_RIGHTS: Readonly<Record<string, Rights>> = {
  account_balances: READ,
  // Whose passkey a fingerprint is, and which of its accounts are live.
  accounts: ['select (id, mode, name)'],
  addresses: READ,
  alerts: WRITE,
  allowed_addresses: ALL,
  approval_policies: ALL,
  approval_requests: ['select', 'update (status, refused_reason, decided_at)'],
  approvals: ['select', 'update (verdict)'],
  chains: READ,
  fee_rates: READ,
  freezes: READ,
  journal_entries: READ,
  members: READ,
  merchants: ['select (id, name, live_account_id, test_account_id)'],
  nonces: [...ADD, 'update (next)'],
  passkeys: ['select (user_id, credential_id, public_key)'],
  pinned_approvers: WRITE,
  running_roles: ALL,
  sandbox_seed: ADD,
  schema_migrations: READ,
  signed_payouts: ADD,
  signed_transactions: [...ADD, 'update (status, raw, since_height, send_at, bump_wanted)'],
  sweep_delegates: [...ADD, 'update (replacement_set)'],
  sweeps: [...TURN, 'update (status, replacement_set, gas_replacement_set)'],
  time_arrow: WRITE,
  transfers: READ,
  users: ['select (id, email, name, disabled_at)'],
  utxos: [...ADD, 'update (reserved_by, reserved_first_by)'],
  wallets: [...ADD, 'update (mac, next_change, retired_at)'],
  // What it refuses, and what it waits for; nobody but the server makes one, and nobody changes where it goes.
  withdrawals: ['select', 'update (refused_reason, signing_since, waiting_for)'],
}
