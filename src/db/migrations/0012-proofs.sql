-- The proof of the books after every block: sums that need not be added up again.

create table proof_sums (
  chain text not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  -- Blocks up to this height are in the sums: no reorganisation that is followed reaches them. -1 for none.
  height bigint not null check (height >= -1),
  -- What those blocks brought us less what they took; and the same for the gateway's own addresses alone.
  observed_atoms numeric(78, 0) not null,
  hot_wallet_atoms numeric(78, 0) not null,
  -- Transfers written before this instant are in the ledger's sum.
  booked_before timestamptz not null,
  wallet_atoms numeric(78, 0) not null,
  primary key (chain, asset)
);

-- The block at which books and chain last agreed.
create table proven_blocks (
  chain text primary key,
  height bigint not null,
  hash text not null,
  proven_at timestamptz not null default now(),
  -- Where the slice of old coins or addresses that every proof looks at again ended.
  slice_after text not null default ''
);

-- When the rows of the books last agreed with each other.
create table proven_rows (
  singleton boolean primary key default true check (singleton),
  proven_at timestamptz not null default now()
);

-- What moved the chain's coins in the ledger, in the order of time.
create index transfers_wallet on transfers (chain, created_at) include (asset, debit, amount_atoms)
  where debit = 'wallet' or credit = 'wallet';
-- Deposits that chain and ledger see differently now: in a block and not booked, or the other way round.
create index deposits_unlike_books on deposits (chain) include (asset, amount_atoms, block_height, dust)
  where (block_height is null) = booked;
create index utxos_in_no_block on utxos (chain) where block_height is null;
create index signed_transactions_sender on signed_transactions (chain, sender) where sender is not null;
