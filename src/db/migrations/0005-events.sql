-- What merchants are told, and each attempt at telling them.

create table events (
  account_id uuid not null references accounts (id),
  id uuid not null,
  type text not null check (type in ('payment.created', 'payment.confirming', 'payment.completed',
    'payment.expired', 'payment.refunded', 'payout.completed', 'payout.failed')),
  -- `payment:<id>:created` and so on: one cause makes one event.
  cause text not null,
  -- The exact body that is signed and sent.
  body text not null,
  -- When it was written, not when its transaction began: the order of replay rests on it.
  created_at timestamptz not null default clock_timestamp(),
  unique (account_id, cause)
);
create index events_replay on events (account_id, created_at, id);
-- What most payments do not lead to: a list of one such type is not looked for among millions of the others.
create index events_seldom on events (account_id, type, created_at, id)
  where type in ('payment.expired', 'payment.refunded', 'payout.completed', 'payout.failed');
alter table events add primary key (account_id, id);
-- For pruning by age. Not BRIN: once the pages of pruned rows are filled again, its ranges hold all ages.
create index events_age on events (created_at);

create table webhook_endpoints (
  account_id uuid not null references accounts (id),
  id uuid not null,
  url text not null check (length(url) <= 2048),
  events text[] not null check (cardinality(events) > 0),
  -- The signing secret, sealed with BECK_SECRET_KEY.
  secret_sealed bytea not null,
  -- After a rotation the old secret signs beside the new one until then.
  previous_secret_sealed bytea,
  previous_secret_until timestamptz,
  is_active boolean not null default true,
  -- Since when attempts have failed, without a success or a long silence in between; five days of it disable the endpoint.
  failing_since timestamptz,
  -- The last of them.
  failed_at timestamptz check ((failed_at is null) = (failing_since is null)),
  disabled_reason text,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  primary key (account_id, id)
);
-- Those with trouble, for the metrics.
create index webhook_endpoints_ill on webhook_endpoints (account_id, id)
  where deleted_at is null and (failing_since is not null or disabled_reason is not null);
create index webhook_endpoints_created on webhook_endpoints (account_id, created_at desc, id desc) where deleted_at is null;

-- Pages have room for another version of each row, and no index has `leased_until`: a claim writes that version, and no index.
create table deliveries (
  account_id uuid not null,
  id uuid not null,
  event_id uuid not null,
  endpoint_id uuid not null,
  status text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
  attempts integer not null default 0 check (attempts >= 0),
  -- Attempts made before it was last sent again by hand: the schedule counts from here.
  attempts_before integer not null default 0 check (attempts_before between 0 and attempts),
  -- When the next attempt is due.
  due_at timestamptz,
  -- Until then it belongs to the worker that claimed it.
  leased_until timestamptz,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  foreign key (account_id, event_id) references events (account_id, id),
  foreign key (account_id, endpoint_id) references webhook_endpoints (account_id, id),
  check ((status = 'pending') = (due_at is not null)),
  check (leased_until is null or status = 'pending')
) with (fillfactor = 50);
-- The queue, one behind the other per endpoint, so that a claim steps from endpoint to endpoint.
create index deliveries_queue on deliveries (account_id, endpoint_id, due_at, id) where status = 'pending';
create index deliveries_by_endpoint on deliveries (account_id, endpoint_id, id desc);
-- The one status that no other index has, and hardly any delivery.
create index deliveries_cancelled on deliveries (account_id, endpoint_id, id desc) where status = 'cancelled';
-- Beginning with the event: else PostgreSQL would look for a row's id in this index, the newest that begins with the account, until it
-- has counted the rows.
alter table deliveries add primary key (account_id, id), add unique (event_id, account_id, endpoint_id);
-- What met no good answer, of all merchants and of one or his endpoint, for who runs Beck. What succeeds at once is in neither.
create index deliveries_ill on deliveries (created_at desc, id desc, status)
  where status = 'failed' or (status = 'pending' and attempts > attempts_before);
create index deliveries_ill_by_account on deliveries (account_id, created_at desc, id desc, endpoint_id, status)
  where status = 'failed' or (status = 'pending' and attempts > attempts_before);

create table delivery_attempts (
  account_id uuid not null,
  delivery_id uuid not null,
  number integer not null check (number > 0),
  started_at timestamptz not null,
  duration_ms integer not null check (duration_ms >= 0),
  -- Null when no answer came; then `error` says why.
  response_status integer,
  response_start text,
  error text,
  primary key (account_id, delivery_id, number),
  foreign key (account_id, delivery_id) references deliveries (account_id, id) on delete cascade
);

-- Attempts made so far by what they met, for the metrics; a row a result, whatever was pruned.
create table delivery_totals (
  result text primary key,
  attempts bigint not null,
  duration_ms bigint not null
);
