-- The simulated chain that test accounts live on: what a node would keep. Only src/chains/simulated writes here.

-- One row per chain: whoever changes a chain locks its row first, so that writers take turns.
create table sim_chains (
  chain text primary key check (chain in ('sim-bitcoin', 'sim-litecoin', 'sim-ethereum'))
);

-- The best chain only: a block that a reorganisation took is gone. Empty blocks far below the tip are pruned.
create table sim_blocks (
  chain text not null references sim_chains (chain),
  height bigint not null check (height >= 0),
  hash text not null,
  parent_hash text not null,
  block_time timestamptz not null,
  primary key (chain, height),
  unique (chain, hash)
);

create table sim_transactions (
  chain text not null references sim_chains (chain),
  txid text not null,
  -- Order of arrival: a transaction comes after those it builds on.
  sequence bigint generated always as identity,
  -- Null while it waits in the mempool.
  height bigint,
  body jsonb not null,
  primary key (chain, txid),
  foreign key (chain, height) references sim_blocks (chain, height)
);
create index sim_transactions_mempool on sim_transactions (chain, sequence) where height is null;
create index sim_transactions_mined on sim_transactions (chain, height, sequence) where height is not null;

-- What each transaction alone may use: an output it spends, or its sender's nonce. Nobody uses one twice.
create table sim_claims (
  chain text not null,
  name text not null,
  position bigint not null check (position >= 0),
  txid text not null,
  primary key (chain, name, position),
  foreign key (chain, txid) references sim_transactions (chain, txid) on delete cascade
);
create index sim_claims_txid on sim_claims (chain, txid);

-- What accounts hold in the best chain (Ethereum only).
create table sim_balances (
  chain text not null references sim_chains (chain),
  lookup bytea not null,
  asset text not null check (asset in ('ETH', 'USDC', 'USDT')),
  atoms numeric(78, 0) not null check (atoms >= 0),
  primary key (chain, lookup, asset)
);

insert into sim_chains (chain) values ('sim-bitcoin'), ('sim-litecoin'), ('sim-ethereum');
-- Block 0 is the same everywhere: its hash is what names the chain.
insert into sim_blocks (chain, height, hash, parent_hash, block_time) values
  ('sim-bitcoin', 0, encode(sha256('beck sim-bitcoin'), 'hex'), repeat('0', 64), now()),
  ('sim-litecoin', 0, encode(sha256('beck sim-litecoin'), 'hex'), repeat('0', 64), now()),
  ('sim-ethereum', 0, '0x' || encode(sha256('beck sim-ethereum'), 'hex'), '0x' || repeat('0', 64), now());
