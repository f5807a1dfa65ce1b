-- Who uses the gateway: merchant accounts and the keys their servers carry.

create table accounts (
  id uuid primary key,
  name text not null check (length(name) between 1 and 255),
  email text not null check (length(email) between 3 and 254),
  mode text not null check (mode in ('live', 'test')),
  currency text not null check (currency in ('USD', 'EUR', 'GBP')),
  -- Late funds whose value at first sight covers the price are accepted without asking, within 24 hours.
  accepts_late_funds boolean not null default false,
  -- Of what is due, hundredths of a percent may be missing and it still counts as paid.
  tolerance_bps integer not null default 0 check (tolerance_bps between 0 and 500),
  -- What the gateway keeps of its payments, hundredths of a percent; null for what the operator set for all.
  fee_bps integer check (fee_bps between 0 and 1000),
  -- [{ "asset": "BTC", "from_minor": 100000, "confirmations": 6 }]: more confirmations from an amount on.
  confirmation_rules jsonb not null default '[]',
  success_url text check (length(success_url) <= 2048),
  cancel_url text check (length(cancel_url) <= 2048),
  brand_name text check (length(brand_name) between 1 and 80),
  -- Of the picture in account_logos: the hash of its bytes and what it is, `9f86d0….png`.
  brand_logo text check (brand_logo ~ '^[0-9a-f]{64}[.](png|jpg|webp)$'),
  brand_color text check (brand_color ~ '^#[0-9a-f]{6}$'),
  -- Coins that buyers may pick, in the order of the contract; null for all.
  offered_assets text[] check (cardinality(offered_assets) > 0),
  -- Where buyers ask: an email address or a page.
  contact text check (length(contact) between 3 and 2048),
  terms_url text check (length(terms_url) <= 2048),
  privacy_url text check (length(privacy_url) <= 2048),
  -- Origins that may frame the checkout.
  frame_origins text[] not null default '{}',
  -- What the sandbox was told to make fail for a test account, and until when.
  sandbox_trouble text check (sandbox_trouble in ('no_rates', 'dead_node')),
  sandbox_trouble_until timestamptz,
  -- What of its allowance of simulated blocks is used up is there again by then.
  sandbox_mined_until timestamptz,
  created_at timestamptz not null default now(),
  -- Since then it takes no new payments, and nothing that leads to one; null while it is open.
  closed_at timestamptz,
  check (sandbox_trouble is null or mode = 'test'),
  -- The gateway's own accounts stay open.
  check (closed_at is null
    or id not in ('00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002')),
  -- What payments refer to: they keep the account's currency as it is.
  unique (id, currency)
);

-- Pictures are shown from here, so that no hosted page asks another server for anything.
create table account_logos (
  account_id uuid primary key references accounts (id),
  name text not null,
  bytes bytea not null check (length(bytes) between 1 and 65536)
);
-- A page names the picture alone, whosever it is.
create index account_logos_name on account_logos (name);

create table api_keys (
  account_id uuid not null references accounts (id),
  id uuid not null,
  name text not null check (length(name) between 1 and 255),
  scopes text[] not null check (cardinality(scopes) > 0),
  -- SHA-256 of the whole key; the key itself is nowhere.
  key_hash bytea not null check (length(key_hash) = 32),
  -- The last characters, so that people can tell their keys apart.
  key_tail text not null check (length(key_tail) = 4),
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  -- From then on it opens nothing; null for never.
  expires_at timestamptz,
  -- Where requests with it may come from; anywhere when empty.
  allowed_networks text[] not null default '{}',
  -- To the minute.
  last_used_at timestamptz,
  primary key (account_id, id)
);
-- A key names its account, so this one lookup cannot lead with account_id.
create unique index api_keys_hash on api_keys (key_hash);

create table idempotency_keys (
  account_id uuid not null references accounts (id),
  key text not null check (length(key) between 1 and 255),
  -- Method, path and body of the first request, hashed: another request under the key is a conflict.
  request_hash bytea not null check (length(request_hash) = 32),
  -- Null only within the transaction that claims the key. The body is sealed with BECK_SECRET_KEY, for an answer
  -- may hold a secret that is shown once.
  response_status integer,
  response_body bytea,
  -- False while nobody was answered: whoever is first waits for what the effect leads to, and writes the last word.
  is_final boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (account_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
