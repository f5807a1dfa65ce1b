-- Account xpubs that addresses are derived from. The signer holds the keys; here is only what is public.

create table wallets (
  chain text not null check (chain in ('bitcoin', 'litecoin', 'ethereum', 'sim-bitcoin', 'sim-litecoin', 'sim-ethereum')),
  -- Fingerprint of the account key; `addresses.series`.
  series text not null,
  network text not null check (network in ('mainnet', 'testnet', 'regtest')),
  xpub text not null,
  -- Next position of branch 1 that change goes to; position 0 is the hot wallet.
  next_change bigint not null default 1 check (next_change > 0),
  -- HMAC over chain, series, network and xpub under a key the database does not hold.
  mac bytea not null check (length(mac) = 32),
  created_at timestamptz not null default now(),
  -- Another keystore took its place: no fresh addresses come from it, its old ones stay watched.
  retired_at timestamptz,
  primary key (chain, series)
);
create unique index wallets_current on wallets (chain) where retired_at is null;
