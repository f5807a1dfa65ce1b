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
  -- The sweep of the address's ether that takes, or took, what was left of it.
  sweep uuid,
  foreign key (chain, sweep) references sweeps (chain, id) on delete set null (sweep)
);
create index gas_funding_by_address on gas_funding (chain, address);
create index gas_funding_by_block on gas_funding (chain, block_height);
alter table gas_funding add primary key (chain, txid, address);
create index gas_funding_left on gas_funding (chain, atoms desc) where sweep is null;
create index gas_funding_by_sweep on gas_funding (chain, sweep) where sweep is not null;

-- Deposit addresses that a block showed something to leave: by a sweep of ours, or by somebody who should not have their keys. The
-- proof of that block asks the chain about them.
create table address_spends (
  chain text not null,
  address text not null,
  block_height bigint not null,
  primary key (chain, block_height, address)
);

-- What an address should hold of ether by the blocks of the branch that we stand on, in parts: what came, as a deposit or
-- unexpected (all in blocks, and what is booked), what we gave it, what it sent. The parts are certain when everything that it ever
-- sent is settled in a block of this very branch: a transaction of ours that a reorganisation took has sent nothing.
create function ether_of(of_chain text, of_address text)
returns table (observed_atoms numeric, booked_atoms numeric, given_atoms numeric, sent_atoms numeric, is_certain boolean)
language sql stable
begin atomic
  select
    coalesce((select sum(d.amount_atoms) from deposits d
      where d.chain = of_chain and d.address = of_address and d.asset = 'ETH' and d.block_height is not null), 0)
    + coalesce((select sum(r.atoms) from unexpected_deposits r
      where r.chain = of_chain and r.lookup = decode(substr(of_address, 3), 'hex') and r.asset = 'ETH'
        and r.block_height is not null), 0),
    coalesce((select sum(d.amount_atoms) from deposits d
      where d.chain = of_chain and d.address = of_address and d.asset = 'ETH' and d.booked), 0)
    + coalesce((select sum(r.atoms) from unexpected_deposits r join chains v on v.chain = r.chain
      where r.chain = of_chain and r.address = of_address and r.asset = 'ETH'
        and r.block_height <= v.capital_height), 0),
    coalesce((select sum(g.atoms) from gas_funding g where g.chain = of_chain and g.address = of_address), 0),
    coalesce((select sum(s.paid_fee_atoms
        + case when s.asset = 'ETH' and s.status in ('mined', 'confirmed') then s.value_atoms else 0 end)
      from signed_transactions s
      where s.chain = of_chain and s.sender = of_address and s.block_height is not null), 0),
    not exists (select from signed_transactions s
      where s.chain = of_chain and s.sender = of_address
        and s.status not in ('confirmed', 'reverted', 'displaced', 'impossible'))
    and not exists (select from unseen_ends() u where u.chain = of_chain and u.sender = of_address);
end;
create index unexpected_deposits_by_lookup on unexpected_deposits (chain, lookup);
