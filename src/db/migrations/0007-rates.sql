-- Daily closes: what coins were worth and what merchants had at the end of each UTC day. The balance series reads these.

create table daily_rates (
  -- Live accounts and test accounts have markets of their own.
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  fiat text not null check (fiat in ('USD', 'EUR', 'GBP')),
  -- The day's last known rate: minor units of fiat per whole coin, as a ratio, its source and its time.
  numerator numeric(78, 0) not null check (numerator > 0),
  denominator numeric(78, 0) not null check (denominator > 0),
  source text not null,
  at timestamptz not null,
  primary key (mode, day, asset, fiat)
);

-- What a merchant had when the day ended, at that day's rates. No row: nothing.
create table daily_balances (
  account_id uuid not null references accounts (id),
  -- In every currency, so that an account may change the one it settles in.
  currency text not null check (currency in ('USD', 'EUR', 'GBP')),
  day date not null,
  available_minor bigint not null check (available_minor >= 0),
  pending_minor bigint not null check (pending_minor >= 0),
  primary key (account_id, currency, day) include (available_minor, pending_minor)
);

-- Days whose daily_balances are complete.
create table closed_days (
  day date primary key,
  closed_at timestamptz not null default now()
);

-- Deposits that count as pending balance.
create index deposits_pending on deposits (account_id, asset) include (amount_atoms)
  where not booked and not dust and status in ('seen', 'confirmed');
