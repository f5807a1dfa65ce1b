-- Nobody moves the money alone: what waits for the passkeys of other people, what they answered, and what the signer made
-- of it. Nothing here is trusted by the signer, which keeps approvers, policies and allowlists in its own folder.

-- Many payouts that were asked for, and are approved, as one.
create table payout_batches (
  account_id uuid not null references accounts (id),
  id uuid not null,
  chain text not null,
  -- How many withdrawals name it.
  size integer not null check (size between 1 and 1000),
  name text not null check (length(name) between 1 and 120),
  asked_by text not null,
  created_at timestamptz not null default now()
);
create index payout_batches_recent on payout_batches (account_id, created_at desc, id desc);
alter table payout_batches add primary key (account_id, id);
alter table withdrawals add column batch_id uuid;
-- What its line of the file said of it, for people.
alter table withdrawals add column batch_note text check (length(batch_note) <= 80);
alter table withdrawals add foreign key (account_id, batch_id) references payout_batches (account_id, id);
create index withdrawals_by_batch on withdrawals (account_id, batch_id) where batch_id is not null;

create table approval_requests (
  account_id uuid not null references accounts (id),
  id uuid not null,
  act text not null check (act in ('withdrawal', 'batch', 'policy', 'allow', 'disallow')),
  withdrawal_id uuid,
  batch_id uuid,
  -- Of a policy, and of an address: what would hold.
  terms jsonb,
  -- As the withdrawal says it.
  asked_by text not null,
  -- As the published policy said when it was asked for; the signer counts by its own.
  needed smallint not null check (needed between 1 and 2),
  valid_until timestamptz not null,
  -- open: waits. approved: the signer has taken it. The rest is over.
  status text not null default 'open' check (status in ('open', 'approved', 'declined', 'expired', 'refused')),
  declined_by text,
  -- Why the signer refused it.
  refused_reason text,
  created_at timestamptz not null default now(),
  decided_at timestamptz,
  -- When those who may approve were told.
  told_at timestamptz,
  foreign key (account_id, withdrawal_id) references withdrawals (account_id, id),
  foreign key (account_id, batch_id) references payout_batches (account_id, id),
  check ((act = 'withdrawal') = (withdrawal_id is not null)),
  check ((act = 'batch') = (batch_id is not null)),
  check ((act in ('policy', 'allow', 'disallow')) = (terms is not null)),
  check ((status = 'open') = (decided_at is null)),
  check ((status = 'declined') = (declined_by is not null)),
  check ((status = 'refused') = (refused_reason is not null))
);
create index approval_requests_recent on approval_requests (account_id, created_at desc, id desc);
alter table approval_requests add primary key (account_id, id);
-- Each is asked for once.
create unique index approval_requests_withdrawal on approval_requests (account_id, withdrawal_id) where withdrawal_id is not null;
create unique index approval_requests_batch on approval_requests (account_id, batch_id) where batch_id is not null;
-- One change of a policy at a time.
create unique index approval_requests_policy on approval_requests (account_id) where act = 'policy' and status = 'open';
create index approval_requests_open on approval_requests (valid_until) where status = 'open';
-- Owners are told of these.
create index approval_requests_changes on approval_requests (decided_at) where status = 'approved' and act in ('policy', 'allow', 'disallow');

-- Passkeys' signatures as they were given; one of a person for a request.
create table approvals (
  account_id uuid not null,
  request_id uuid not null,
  user_id uuid not null,
  credential_id bytea not null,
  authenticator_data bytea not null,
  client_data bytea not null,
  signature bytea not null,
  created_at timestamptz not null default now(),
  -- What the signer said of it: `counts`, or why not.
  verdict text,
  primary key (account_id, request_id, user_id),
  foreign key (account_id, request_id) references approval_requests (account_id, id)
);

-- What the signer keeps in its own folder, published to be shown.
create table pinned_approvers (
  account_id uuid not null references accounts (id),
  credential_id bytea not null,
  user_id uuid not null,
  name text not null,
  fingerprint text not null,
  pinned_at timestamptz not null,
  counts_from timestamptz not null,
  removed_at timestamptz,
  -- When the owners were told of it.
  told_at timestamptz,
  primary key (account_id, credential_id)
);

create table approval_policies (
  account_id uuid primary key references accounts (id),
  -- The how-manieth of the account.
  number integer not null check (number > 0),
  policy jsonb not null,
  since timestamptz not null
);

create table allowed_addresses (
  account_id uuid not null references accounts (id),
  network text not null check (network in ('bitcoin', 'litecoin', 'ethereum')),
  address text not null,
  name text not null,
  added_at timestamptz not null,
  usable_from timestamptz not null,
  primary key (account_id, network, address)
);

-- The signer looks for these at every turn.
create index approvals_unjudged on approvals (created_at) where verdict is null;
