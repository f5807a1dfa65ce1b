-- Money that leaves: what merchants asked for, what the signer signed for it, and the UTXOs it may spend.

create table withdrawals (
  account_id uuid not null references accounts (id),
  id uuid not null,
  -- A merchant's balance, what is held for a payment; the gateway's own: fees that it earned, capital that it was given.
  kind text not null check (kind in ('payout', 'refund', 'fees', 'capital')),
  -- The payment whose unresolved funds a refund returns.
  payment_id uuid,
  status text not null check (status in ('requested', 'broadcast', 'completed', 'failed')),
  chain text not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  -- Gross amount debited; the service's fee; what the network's fee was quoted at; what the destination receives.
  amount_atoms numeric(78, 0) not null check (amount_atoms > 0),
  fee_atoms numeric(78, 0) not null check (fee_atoms >= 0),
  network_fee_atoms numeric(78, 0) not null check (network_fee_atoms >= 0),
  net_atoms numeric(78, 0) not null check (net_atoms > 0),
  destination text not null,
  -- Who asked: usr_…, key_…, key_… made by usr_…, operator, unknown.
  asked_by text not null,
  -- HMAC over all of the above as it was requested: the signer refuses a row that was changed, or invented.
  mac bytea not null check (length(mac) = 32),
  tx_hash text,
  created_at timestamptz not null default now(),
  broadcast_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  -- Why the signer will never sign it, or why what it signed can never enter the chain.
  refused_reason text,
  -- Why nothing was signed for it yet, as the signer said last.
  waiting_for text check (waiting_for in ('coins', 'confirmations', 'network_fee', 'limit', 'allowlist', 'frozen', 'approval')),
  -- Ethereum: what a node said last when it was asked whether the transfer would succeed, and when. Nothing is signed without, and
  -- what would revert the signer refuses.
  rehearsal text check (rehearsal in ('succeeds', 'reverts', 'unclear')),
  rehearsed_at timestamptz,
  -- The most gas that the node was asked with.
  rehearsed_gas bigint check (rehearsed_gas >= 0),
  check ((rehearsal is null) = (rehearsed_at is null) and (rehearsal is null) = (rehearsed_gas is null)),
  -- The merchant wants it no longer: from now on nothing is signed for it, and once the signer's journal knows of nothing it fails.
  cancel_wanted boolean not null default false,
  -- A signer is about to write down a transaction that pays it: it can not be cancelled. Null again when that came to nothing.
  signing_since timestamptz,
  -- What of a failed one stayed with the gateway: the gas that its call used in vain.
  kept_atoms numeric(78, 0) not null default 0 check (kept_atoms between 0 and amount_atoms),
  check (kept_atoms = 0 or status = 'failed'),
  foreign key (account_id, payment_id) references payments (account_id, id),
  check (amount_atoms = fee_atoms + network_fee_atoms + net_atoms),
  check ((kind = 'refund') = (payment_id is not null)),
  check ((kind in ('fees', 'capital'))
    = (account_id in ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'))),
  check (status not in ('broadcast', 'completed') or tx_hash is not null),
  check ((status = 'completed') = (completed_at is not null)),
  check ((status = 'failed') = (failed_at is not null))
);
-- One by where it went.
create index withdrawals_destination on withdrawals (account_id, destination);
create index withdrawals_recent on withdrawals (account_id, created_at desc, id desc);
-- What the list is narrowed to, each in its order: of a seldom one it would walk past all others. What it may be narrowed to besides the
-- index tells whoever counts, or looks for the ids of a page; their rows are not fetched for it.
create index withdrawals_by_status on withdrawals (account_id, status, created_at desc, id desc) include (kind, asset);
create index withdrawals_by_asset on withdrawals (account_id, asset, created_at desc, id desc) include (kind, status);
create index withdrawals_by_kind on withdrawals (account_id, kind, created_at desc, id desc) include (asset, status);
alter table withdrawals add primary key (account_id, id);
create unique index withdrawals_refund on withdrawals (account_id, payment_id) where payment_id is not null and status <> 'failed';
-- Failed ones too: what was refunded is asked for by every decision about a payment.
create index withdrawals_of_payment on withdrawals (account_id, payment_id) where payment_id is not null;
create index withdrawals_reverted on withdrawals (account_id, failed_at) where refused_reason = 'reverted';
create index withdrawals_signing on withdrawals (chain, signing_since) where status = 'requested' and signing_since is not null;
create index withdrawals_requested on withdrawals (chain, created_at, id) where status = 'requested';

-- Signed transactions, written before they are first sent. Nothing else is ever sent.
create table signed_transactions (
  chain text not null,
  txid text not null,
  -- The transaction that opened its replacement set: its own id, or that of what it replaces or whose child it is.
  replacement_set text not null,
  kind text not null check (kind in ('payout', 'replacement', 'child', 'consolidation', 'gas', 'sweep', 'batch', 'deploy')),
  -- Where it is (src/treasury/signed-transaction.ts); what follows only says where exactly, and when.
  status text not null check (status in ('placed', 'ready', 'sent', 'refused', 'recovered', 'mined',
    'mined_reverted', 'confirmed', 'reverted', 'displaced', 'impossible')),
  -- The bytes, once it is ready to be sent: those of one that was given up are never shown.
  raw text,
  -- What it pays besides its fee, to destinations or between addresses of ours.
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  value_atoms numeric(78, 0) not null check (value_atoms >= 0),
  -- Chains with accounts: whose nonce it uses.
  sender text,
  nonce bigint check (nonce >= 0),
  -- Chains with outputs: the exact fee. Chains with accounts: the most it may cost.
  fee_atoms numeric(78, 0) not null check (fee_atoms > 0),
  -- Atoms per 1,000 virtual bytes, or wei per gas.
  fee_rate numeric(78, 0) not null check (fee_rate > 0),
  created_at timestamptz not null default now(),
  -- The tip when it was first sent: no block below can hold it.
  since_height bigint,
  -- When a worker may send it next; a lease while one does.
  send_at timestamptz not null default now(),
  sent_at timestamptz,
  -- What the node said when it refused it last.
  refusal text,
  -- The block that holds it.
  block_height bigint,
  block_hash text,
  -- What it cost there.
  paid_fee_atoms numeric(78, 0),
  -- What of it the ledger has booked, in how many entries: in another block the same bytes may cost something else.
  booked_fee_atoms numeric(78, 0) not null default 0,
  fee_bookings integer not null default 0,
  -- A bump was asked for; the signer clears it.
  bump_wanted boolean not null default false,
  check ((sender is null) = (nonce is null)),
  check ((status in ('mined', 'mined_reverted', 'confirmed', 'reverted')) = (block_height is not null)),
  check ((block_height is null) = (block_hash is null)),
  check (block_height is null or paid_fee_atoms is not null),
  check (status not in ('placed', 'recovered') or raw is null),
  check (status not in ('ready', 'sent', 'refused') or raw is not null),
  check ((status = 'refused') = (refusal is not null))
);
create unique index signed_transactions_nonce on signed_transactions (chain, sender, nonce) where txid = replacement_set;
create index signed_transactions_open on signed_transactions (chain, created_at)
  where status not in ('confirmed', 'reverted', 'displaced', 'impossible');
create index signed_transactions_recent on signed_transactions (chain, created_at);
create index signed_transactions_by_block on signed_transactions (chain, block_height) where block_height is not null;
create index signed_transactions_replacement_set on signed_transactions (chain, replacement_set);
alter table signed_transactions add primary key (chain, txid), add foreign key (chain, replacement_set) references signed_transactions (chain, txid);
-- Without their bytes: placed by the signer whose journal does not know of the placing yet, or forgotten by a database.
create index signed_transactions_not_ready on signed_transactions (chain) where status in ('placed', 'recovered');

-- Ended transactions of ours in a block that is none of those that we keep: a reorganisation took it, or the watcher has not read
-- that far. How far back is looked is how far back blocks are kept. Whole rows, so that nobody joins the table again: what is
-- above a height is guessed to be a third of all.
create function unseen_ends() returns setof signed_transactions
language sql stable
as $$
  select s.* from chains c
  -- Beside the table and not in its condition, so that the index by block is asked.
  cross join lateral (select min(k.height) as height from chain_blocks k where k.chain = c.chain) kept
  join signed_transactions s on s.chain = c.chain and s.block_height >= kept.height
  left join chain_blocks b on b.chain = s.chain and b.height = s.block_height
  where s.status in ('confirmed', 'reverted') and b.hash is distinct from s.block_hash
$$;

-- Which replacement set pays a withdrawal. One at most: this key is why nobody is paid twice.
create table signed_payouts (
  account_id uuid not null,
  withdrawal_id uuid not null,
  chain text not null,
  replacement_set text not null,
  primary key (account_id, withdrawal_id),
  foreign key (account_id, withdrawal_id) references withdrawals (account_id, id),
  foreign key (chain, replacement_set) references signed_transactions (chain, txid)
);
create index signed_payouts_replacement_set on signed_payouts (chain, replacement_set);

-- Chains with outputs: every output that ever paid an address of ours, deposits and change alike. A spent
-- one stays, with what spent it.
create table utxos (
  chain text not null,
  txid text not null check (txid ~ '^[0-9a-f]{64}$'),
  -- Its first quarter: what a block spends, thousands of ids, is looked for by numbers in half the time or less.
  txid_head bigint not null generated always as (('x' || left(txid, 16))::bit(64)::bigint) stored,
  output_index integer not null check (output_index >= 0),
  lookup bytea not null,
  atoms numeric(78, 0) not null check (atoms > 0),
  -- Made by a block's first transaction: no block takes its spending before the hundredth after it.
  is_coinbase boolean not null default false,
  -- Null while no block holds it.
  block_height bigint,
  -- The block's transaction that spends it; both null while none does.
  spent_by text,
  spent_height bigint,
  -- The replacement set that it was chosen for, and the first of them to spend it: a replacement may add
  -- UTXOs of its own.
  reserved_by text,
  reserved_first_by text,
  primary key (chain, txid, output_index),
  foreign key (chain, reserved_by) references signed_transactions (chain, txid),
  check ((spent_by is null) = (spent_height is null))
);
create index utxos_spendable on utxos (chain, atoms desc) where spent_by is null and reserved_by is null;
-- Where the proofs of the books go through the UTXOs in their order, past those that were spent long ago.
create index utxos_unspent on utxos (chain, txid, output_index) where spent_by is null and block_height is not null;
create index utxos_by_head on utxos (txid_head);
create index utxos_by_height on utxos (chain, block_height) where block_height is not null;
create index utxos_by_spent_height on utxos (chain, spent_height) where spent_height is not null;
create index utxos_by_spender on utxos (chain, spent_by) where spent_by is not null;
create index utxos_reserved on utxos (chain, reserved_by) where reserved_by is not null;

-- Chains with accounts: the next nonce of each of our senders. A row, so that two signers take turns.
create table nonces (
  chain text not null,
  sender text not null,
  next bigint not null check (next >= 0),
  primary key (chain, sender)
);

-- The seed of the simulated chains' wallets, sealed with BECK_SECRET_KEY; its coins are worth nothing.
create table sandbox_seed (
  singleton boolean primary key default true check (singleton),
  sealed bytea not null
);

-- What a transaction costs now, for those who have no node: the API, and the signer within its own bounds.
create table fee_rates (
  chain text primary key,
  -- Atoms per 1,000 virtual bytes, or the base fee in wei per gas.
  rate numeric(78, 0) not null check (rate > 0),
  -- Wei per gas on top of the base fee; zero on chains with outputs.
  priority_rate numeric(78, 0) not null check (priority_rate >= 0),
  -- The newest fork of Ethereum that its blocks show; one that nobody here knows counts as the oldest.
  fork text,
  seen_at timestamptz not null
);

-- Chains with accounts: what our senders hold in confirmed state, as the worker last saw it.
create table account_balances (
  chain text not null,
  address text not null,
  asset text not null,
  atoms numeric(78, 0) not null check (atoms >= 0),
  -- A tip that the balance is at least as new as: what our own transactions took in later blocks may be in it or not.
  seen_height bigint not null,
  primary key (chain, address, asset)
);

-- Chains with accounts: deposits on their way to the hot wallet. Tokens need ether for their gas first.
create table sweeps (
  chain text not null,
  id uuid not null,
  address text not null,
  -- Where the address stands under branch 0 of its series.
  series text not null,
  position bigint not null check (position >= 0),
  asset text not null check (asset in ('ETH', 'USDC', 'USDT')),
  -- What the address held when the sweep was planned, or when a reorganisation had taken a part of it.
  atoms numeric(78, 0) not null check (atoms > 0),
  status text not null check (status in ('planned', 'funding', 'funded', 'sweeping', 'done', 'failed')),
  -- By a transaction of its own, or with others in one of the hot wallet (EIP-7702, docs/decisions/0021).
  way text not null default 'alone' check (way in ('alone', 'batch')),
  -- Whether the address delegates to our contract already, so that a batch needs no authorisation of it.
  delegates boolean not null default false,
  -- Ether of ours that the address had when the sweep was planned: what an earlier sweep left of its gas.
  ether_atoms numeric(78, 0) not null default 0 check (ether_atoms >= 0),
  gas_replacement_set text,
  replacement_set text,
  created_at timestamptz not null default now(),
  foreign key (chain, gas_replacement_set) references signed_transactions (chain, txid),
  foreign key (chain, replacement_set) references signed_transactions (chain, txid)
);
create index sweeps_by_address on sweeps (chain, address, asset);
alter table sweeps add primary key (chain, id);
-- What batches moved to the hot wallet, as the blocks that hold them show it: of a batch some may fail.
create table swept_tokens (
  chain text not null,
  txid text not null,
  address text not null,
  asset text not null check (asset in ('USDC', 'USDT')),
  atoms numeric(78, 0) not null check (atoms > 0),
  foreign key (chain, txid) references signed_transactions (chain, txid)
);
create index swept_tokens_by_address on swept_tokens (chain, address);
alter table swept_tokens add primary key (chain, txid, address, asset);

-- The contract that batches run at, once for each hot wallet; the signer deploys what is asked for here: what is missing
-- since a time, and has no deployment under way.
create table sweep_delegates (
  chain text not null,
  address text not null,
  replacement_set text,
  wanted_since timestamptz,
  primary key (chain, address),
  foreign key (chain, replacement_set) references signed_transactions (chain, txid)
);
-- The sweep that takes, or took, a deposit: one of those that made up its sum.
alter table deposits add column sweep uuid;
alter table deposits add foreign key (chain, sweep) references sweeps (chain, id) on delete set null (sweep);
alter table deposits add check (booked or sweep is null);
create index deposits_unswept on deposits (chain, asset, amount_atoms desc)
  where booked and sweep is null and asset in ('ETH', 'USDC', 'USDT');
create index deposits_by_sweep on deposits (chain, sweep) where sweep is not null;

-- What reached our own addresses without being anybody's payment, on chains with accounts: the operator's capital.
-- Chains with outputs show it in `utxos`.
create table unexpected_deposits (
  chain text not null,
  tx_key text not null,
  output_index integer not null,
  -- The address it reached.
  lookup bytea not null,
  -- The same, where it is an address for deposits that no payment had: a sweep moves it to the hot wallet. Null at a hot wallet.
  address text,
  asset text not null check (asset in ('ETH', 'USDC', 'USDT')),
  atoms numeric(78, 0) not null check (atoms > 0),
  -- Null while no block holds it.
  block_height bigint,
  -- The sweep that takes, or took, it.
  sweep uuid,
  primary key (chain, tx_key, output_index),
  foreign key (chain, sweep) references sweeps (chain, id) on delete set null (sweep),
  check (sweep is null or address is not null and block_height is not null)
);
create index unexpected_deposits_by_height on unexpected_deposits (chain, block_height);
create index unexpected_deposits_by_address on unexpected_deposits (chain, address) where address is not null;
create index unexpected_deposits_unswept on unexpected_deposits (chain, asset, atoms desc)
  where address is not null and sweep is null;
create index unexpected_deposits_by_sweep on unexpected_deposits (chain, sweep) where sweep is not null;
-- Blocks up to this height were searched for capital; a reorganisation and UTXOs found later lower it.
alter table chains add column capital_height bigint not null default -1;

-- One at a time for each address, so that its nonces follow each other.
create unique index sweeps_open on sweeps (chain, address) where status not in ('done', 'failed');
create index sweeps_by_replacement_set on sweeps (chain, replacement_set) where replacement_set is not null;
create index sweeps_by_gas_replacement_set on sweeps (chain, gas_replacement_set) where gas_replacement_set is not null;
