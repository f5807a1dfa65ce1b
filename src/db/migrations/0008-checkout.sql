-- Hosted checkout: links that start a session on every visit, and sessions that lead to a payment.

create table payment_links (
  account_id uuid not null references accounts (id),
  -- 128 random bits: whoever has the link may open it, nobody can guess another.
  id uuid not null,
  label text not null check (length(label) between 1 and 255),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null check (currency in ('USD', 'EUR', 'GBP')),
  uses bigint not null default 0 check (uses >= 0),
  is_active boolean not null default true,
  created_at timestamptz not null default now(),
  primary key (account_id, id)
);
create index payment_links_created on payment_links (account_id, created_at desc, id desc);
-- A visitor brings the id alone.
create unique index payment_links_id on payment_links (id);

-- A keypad page behind a counter: whoever has it may ask for prices in the account's name, and see what became of its own.
create table points_of_sale (
  account_id uuid not null references accounts (id),
  -- 128 random bits, as of a link.
  id uuid not null,
  name text not null check (length(name) between 1 and 100),
  currency text not null check (currency in ('USD', 'EUR', 'GBP')),
  created_at timestamptz not null default now(),
  -- Its page is over, and what it sold stays.
  revoked_at timestamptz,
  primary key (account_id, id)
);
create unique index points_of_sale_id on points_of_sale (id);

create table checkout_sessions (
  account_id uuid not null references accounts (id),
  id uuid not null,
  -- Null: the buyer is asked.
  amount_minor bigint check (amount_minor > 0),
  currency text not null check (currency in ('USD', 'EUR', 'GBP')),
  label text check (length(label) <= 255),
  reference text check (length(reference) <= 255),
  customer_email text check (length(customer_email) between 3 and 254),
  -- Null: the account's.
  success_url text check (length(success_url) <= 2048),
  cancel_url text check (length(cancel_url) <= 2048),
  -- Coins that the buyer may pick of those that the account offers; null for all of them.
  offered_assets text[] check (cardinality(offered_assets) > 0),
  -- Where the buyer wants coins back that are held for that payment, with an HMAC under a key the database does not hold.
  refund_address text check (length(refund_address) between 1 and 128),
  refund_address_mac bytea check (length(refund_address_mac) = 32),
  check ((refund_address is null) = (refund_address_mac is null)),
  payment_link_id uuid,
  point_of_sale_id uuid,
  -- The payment of the coin picked last, or of an earlier one that turned out to be what the buyer pays. Whether the
  -- session is complete is read from it, never kept twice.
  payment_id uuid,
  -- What the buyer's wallet said it sent for that payment: its page asks for nothing more until he says that it failed.
  sent_tx text check (sent_tx ~ '^(0x)?[0-9a-f]{64}$'),
  created_at timestamptz not null default now(),
  -- 24 hours after it was made, or after a coin was picked last.
  expires_at timestamptz not null,
  cancelled_at timestamptz,
  primary key (account_id, id),
  foreign key (account_id, payment_link_id) references payment_links (account_id, id),
  foreign key (account_id, point_of_sale_id) references points_of_sale (account_id, id),
  foreign key (account_id, payment_id) references payments (account_id, id)
);
create unique index checkout_sessions_id on checkout_sessions (id);
-- The last sales of a counter.
create index checkout_sessions_sold on checkout_sessions (point_of_sale_id, created_at desc) where point_of_sale_id is not null;
-- Those that are removed when they are old: nobody took a coin in them.
create index checkout_sessions_unused on checkout_sessions (expires_at) where payment_id is null;
