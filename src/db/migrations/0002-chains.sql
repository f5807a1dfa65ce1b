-- What Beck knows of each chain it follows, and the addresses it ever issued.

create table chains (
  chain text primary key check (chain in ('bitcoin', 'litecoin', 'ethereum', 'sim-bitcoin', 'sim-litecoin', 'sim-ethereum')),
  -- What its own fees are paid in, and on chains with outputs all that is on it.
  native_asset text not null check (native_asset in ('BTC', 'LTC', 'ETH')),
  -- Hash of block 0 (and the EVM chain id): pinned at first contact, another one is refused.
  identity text not null,
  tip_height bigint not null check (tip_height >= 0),
  tip_hash text not null,
  tip_time timestamptz not null,
  -- When the last complete poll of the chain (blocks up to the node's tip, then the mempool) began.
  -- Everything visible before that instant is recorded. Expiry waits for it.
  polled_at timestamptz,
  -- Why the watcher stopped (a reorganisation deeper than it follows); cleared by the operator.
  halted_reason text,
  -- The leading watcher: who, until when, and the epoch that every write of it must carry.
  lease_holder text,
  lease_epoch bigint not null default 0,
  lease_until timestamptz
);

-- Hashes of the last blocks, to find where a fork began.
create table chain_blocks (
  chain text not null references chains (chain),
  height bigint not null check (height >= 0),
  hash text not null,
  parent_hash text not null,
  block_time timestamptz not null,
  primary key (chain, height)
);

create table addresses (
  chain text not null,
  -- What outputs are matched by: the scriptPubKey, or the 20 bytes of an EVM address.
  lookup bytea not null,
  address text not null,
  -- Position under the account xpub: branch 0 for deposits, 1 for change.
  branch smallint not null check (branch in (0, 1)),
  position bigint not null check (position >= 0),
  -- Fingerprint of the xpub it was derived from: a new keystore starts a new series.
  series text not null,
  -- HMAC over chain, series, branch, position and address under a key the database does not hold.
  mac bytea not null check (length(mac) = 32),
  account_id uuid references accounts (id),
  payment_id uuid,
  issued_at timestamptz,
  created_at timestamptz not null default now(),
  -- May have been handed out after the backup that this database was restored from: watched, never handed out again.
  withheld boolean not null default false,
  -- A process keeps it for its next payments; until then the others take other ones. A hint: `issued_at` decides.
  reserved_until timestamptz,
  unique (chain, series, branch, position),
  check ((payment_id is null) = (issued_at is null))
  -- Setting one aside and issuing it find room beside it, and the first touches no index then.
) with (fillfactor = 50);
-- After the other indexes, as every key where another index begins with one of its columns: until a table is counted all cost the same, and
-- PostgreSQL takes the newest of those (docs/internals/performance.md).
-- The lookup first: it tells two rows apart at once, where the chain seldom does. A block's worth of searches among ten million takes
-- a fifth less.
alter table addresses add primary key (lookup, chain);
-- The pool: addresses derived ahead and not yet handed out.
create index addresses_fresh on addresses (chain, series, branch, position) where issued_at is null and not withheld;
create index addresses_by_payment on addresses (account_id, payment_id) where payment_id is not null;
