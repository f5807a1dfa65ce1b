-- Ether that arrives without a transaction of its own: sent by contracts, by validators, by block rewards.

-- The comparison of what every address holds with what is recorded for it: page by page, the newest address first.
alter table chains
  -- When the last whole comparison began; null before the first.
  add column ether_checked_at timestamptz,
  -- Blocks were read without their state, or taken away: a comparison that began before may have missed what they hid.
  add column ether_asked_at timestamptz,
  -- The comparison under way: when it began, and the address it went up to. Null between two.
  add column ether_begun_at timestamptz,
  add column ether_after_issued_at timestamptz,
  add column ether_after_lookup bytea,
  add check ((ether_after_issued_at is null) = (ether_after_lookup is null)),
  add check (ether_begun_at is not null or ether_after_lookup is null);

-- Whose ether is compared in every block: addresses issued lately.
create index addresses_recent on addresses (chain, issued_at) where issued_at is not null;

-- Ether that our own transactions sent to deposit addresses (gas for their sweeps): no deposit, but part of what they hold.
create table gas_funding (
  chain text not null,
  txid text not null,
  address text not null,
  atoms numeric(78, 0) not null check (atoms > 0),
  block_height bigint not null,
  -- A sweep of the address's ether took what was left of it.
  collected boolean not null default false,
  primary key (chain, txid, address)
);
create index gas_funding_by_address on gas_funding (chain, address);
create index gas_funding_by_block on gas_funding (chain, block_height);
create index gas_funding_left on gas_funding (chain, atoms desc) where not collected;
create index deposits_by_address on deposits (chain, address);
