-- The people behind a merchant, and the operator: who they are, how they prove it, what they may do.

create table users (
  id uuid primary key,
  email text not null check (length(email) between 3 and 254),
  name text not null check (length(name) between 1 and 120),
  -- Argon2id in PHC notation; null for those who sign in with passkeys alone.
  password_hash text,
  -- Runs the whole Beck: merchants, chains, wallets, alerts.
  is_operator boolean not null default false,
  -- Came in by a link that somebody else saw too, who may have been the one to use it. The first single sign-on takes away
  -- what he was given to sign in with.
  is_handed_over boolean not null default false,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);
create unique index users_email on users (lower(email));
-- Who made a key, or rolled another into it, has seen it: he approves nothing that it asks for. Null for the command line.
alter table api_keys add column made_by uuid references users (id);

create table passkeys (
  user_id uuid not null references users (id),
  id uuid not null,
  -- What the authenticator calls the credential, and its COSE public key.
  credential_id bytea not null unique,
  public_key bytea not null,
  counter bigint not null check (counter >= 0),
  transports text[] not null default '{}',
  name text not null check (length(name) between 1 and 120),
  created_at timestamptz not null default now(),
  used_at timestamptz,
  primary key (user_id, id)
);

create table totp (
  user_id uuid primary key references users (id),
  -- The shared secret, sealed with BECK_SECRET_KEY.
  secret_sealed bytea not null,
  -- Null until a first code was typed in: an app that was not set up right locks nobody out.
  confirmed_at timestamptz,
  -- Of the last code that was taken: no code passes twice (RFC 6238, 5.2).
  last_counter bigint not null default -1,
  -- Whose page shows the secret until it is confirmed, and since when: nobody else sees it, and not for ever.
  begun_by uuid not null,
  begun_at timestamptz not null default now()
);

create table recovery_codes (
  user_id uuid not null references users (id),
  -- SHA-256: 80 random bits leave nothing for a slow hash to protect.
  code_hash bytea not null check (length(code_hash) = 32),
  used_at timestamptz,
  primary key (user_id, code_hash)
);

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  -- SHA-256 of the 256-bit token in the cookie. A sign-in and a step-up put another one in its place.
  token_hash bytea not null unique check (length(token_hash) = 32),
  -- What was proven. `half` is a right password whose second factor is still asked for.
  factor text not null check (factor in ('half', 'password', 'totp', 'recovery', 'passkey', 'sign_on')),
  address text not null,
  agent text not null check (length(agent) <= 200),
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  stepped_up_at timestamptz,
  -- One page that asks for a confirmation: it is taken by the first form that brings it back.
  challenge bytea check (length(challenge) = 32),
  challenge_until timestamptz
);
create index sessions_by_user on sessions (user_id, created_at);
create index sessions_age on sessions (created_at);

-- Whom an OpenID provider means by a subject. Found by email once, and by this from then on.
create table sign_on_identities (
  issuer text not null check (length(issuer) <= 500),
  subject text not null check (length(subject) between 1 and 255),
  user_id uuid not null references users (id),
  tied_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

-- Passkeys are asked for before anybody is known, with challenges that carry their own MAC. Each passes once: here are the
-- hashes of those that did, until they are over.
create table sign_in_challenges (
  challenge bytea primary key check (length(challenge) = 32),
  until timestamptz not null
);

-- Wrong passwords and codes, by the hash of the email and of the address they came from.
create table sign_in_failures (
  subject bytea not null check (length(subject) = 32),
  failed_at timestamptz not null default clock_timestamp()
);
create index sign_in_failures_recent on sign_in_failures (subject, failed_at);
create index sign_in_failures_age on sign_in_failures (failed_at);

-- A business: what people belong to. One account for real coins, one for trying out.
create table merchants (
  id uuid primary key,
  name text not null check (length(name) between 1 and 255),
  live_account_id uuid unique references accounts (id),
  test_account_id uuid unique references accounts (id),
  -- What one refund by support may be worth at the payment's own rate, in hundredths of its currency.
  refund_bound_minor bigint not null default 10000 check (refund_bound_minor >= 0),
  -- Whose days the lists' dates are.
  time_zone text not null default 'UTC' check (length(time_zone) between 1 and 60),
  created_at timestamptz not null default now(),
  check (live_account_id is not null or test_account_id is not null)
);

create table members (
  merchant_id uuid not null references merchants (id),
  user_id uuid not null references users (id),
  role text not null check (role in ('owner', 'admin', 'developer', 'support', 'finance', 'viewer')),
  -- What he wants to hear of live payments by mail: those that wait for a decision, each that is paid.
  payment_mails text[] not null default '{decision}' check (payment_mails <@ array['decision', 'paid']),
  created_at timestamptz not null default now(),
  primary key (merchant_id, user_id)
);
create index members_by_user on members (user_id);

-- Links that let one person in, once.
create table invitations (
  id uuid primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  -- `first` makes the first person and is void once there is one; `reset` gives a person a new password.
  kind text not null check (kind in ('first', 'invite', 'reset')),
  email text check (length(email) between 3 and 254),
  merchant_id uuid references merchants (id),
  role text check (role in ('owner', 'admin', 'developer', 'support', 'finance', 'viewer')),
  makes_operator boolean not null default false,
  user_id uuid references users (id),
  invited_by uuid references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  check ((kind = 'reset') = (user_id is not null)),
  check ((merchant_id is null) = (role is null))
);
create index invitations_by_merchant on invitations (merchant_id, created_at) where used_at is null;

-- A list's filters and order under a name, for one person.
create table saved_views (
  user_id uuid not null references users (id),
  account_id uuid not null references accounts (id),
  id uuid not null,
  page text not null check (length(page) between 1 and 40),
  name text not null check (length(name) between 1 and 60),
  query text not null check (length(query) <= 1000),
  created_at timestamptz not null default now(),
  primary key (user_id, account_id, id)
);

-- What was sold, by the day: the overview's sums read this and nothing else.
create index payments_sales on payments (account_id, completed_at) include (spent_minor) where spent_minor is not null;
-- What is held for somebody's decision, without the many rows that hold nothing any more.
create index unresolved_funds_held on unresolved_funds (account_id, payment_id) where atoms > 0;
-- One withdrawal by its transaction.
create index withdrawals_tx_hash on withdrawals (account_id, tx_hash) where tx_hash is not null;
