-- Double entry. A transfer moves atoms from a debit account to a credit account, so every transfer balances
-- by construction. Entries and transfers are only ever added. Signs: what the gateway holds (`wallet`) and what
-- it spent (`network_fees`, `loss`) are debit accounts; what it owes (the merchant's three), earned (`fees`) or was
-- given (`capital`) are credit accounts.

create table journal_entries (
  -- The merchant concerned; the nil UUID for what concerns the gateway alone.
  account_id uuid not null,
  id uuid not null,
  -- What is booked, of which row, and the how-manieth time (of `capital` the output's index): one cause is booked once.
  kind text not null check (kind in ('deposit', 'deposit_reversal', 'settlement', 'settlement_reversal', 'acceptance',
    'hold', 'release', 'completion', 'completion_reversal', 'paid_after_failure', 'loss_return',
    'network_fee', 'spend', 'capital')),
  -- The id of a deposit, payment or withdrawal, or of a transaction.
  subject_id text not null,
  number integer not null,
  created_at timestamptz not null default now(),
  primary key (account_id, id),
  check (kind not in ('network_fee', 'spend', 'capital') or account_id = '00000000-0000-0000-0000-000000000000'),
  unique (account_id, kind, subject_id, number)
);

create table transfers (
  account_id uuid not null,
  entry_id uuid not null,
  line smallint not null check (line >= 0),
  chain text not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  debit text not null check (debit in
    ('available', 'held', 'unresolved', 'fees', 'network_fees', 'loss', 'capital', 'wallet')),
  credit text not null check (credit in
    ('available', 'held', 'unresolved', 'fees', 'network_fees', 'loss', 'capital', 'wallet')),
  amount_atoms numeric(78, 0) not null check (amount_atoms > 0),
  created_at timestamptz not null default now(),
  primary key (account_id, entry_id, line),
  foreign key (account_id, entry_id) references journal_entries (account_id, id),
  check (debit <> credit)
);
create index transfers_history on transfers (account_id, asset, created_at);
-- The gateway's own side, which is summed and not kept as rows that every settlement would wait for.
create index transfers_own on transfers (chain, asset) include (debit, credit, amount_atoms)
  where debit in ('fees', 'capital', 'network_fees', 'loss') or credit in ('fees', 'capital', 'network_fees', 'loss');

-- What a merchant has. Written in the same transaction as the transfers it sums, locked while it changes.
create table balances (
  account_id uuid not null references accounts (id),
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  kind text not null check (kind in ('available', 'held', 'unresolved')),
  chain text not null,
  atoms numeric(78, 0) not null check (atoms >= 0),
  primary key (account_id, asset, kind)
);

-- An asset whose books and chain disagree pays nothing out until they agree again.
create table freezes (
  chain text not null,
  asset text not null,
  reason text not null,
  frozen_at timestamptz not null default now(),
  primary key (chain, asset)
);

-- What the operator must look at: a shortfall, a reorganisation of settled money, a mismatch.
create table alerts (
  id uuid primary key,
  kind text not null,
  account_id uuid,
  subject text not null,
  message text not null,
  created_at timestamptz not null default now(),
  -- Who of the operator's people has looked at it, and when; the row stays, so that the same is not raised twice.
  acknowledged_at timestamptz,
  acknowledged_by text,
  unique (kind, subject),
  check ((acknowledged_at is null) = (acknowledged_by is null))
);
create index alerts_created on alerts (created_at desc, id desc);
create index alerts_open on alerts (created_at desc, id desc) where acknowledged_at is null;
