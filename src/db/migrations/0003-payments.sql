-- Payments, who paid them, and what the chains showed.

create table customers (
  account_id uuid not null references accounts (id),
  id uuid not null,
  email text not null check (length(email) between 3 and 254),
  name text,
  created_at timestamptz not null default now(),
  -- Follow settled payments, within the transaction that settles or reverses one.
  order_count integer not null default 0 check (order_count >= 0),
  -- Minor units of the account's settlement currency, each payment at its locked rates.
  total_spent_minor bigint not null default 0 check (total_spent_minor >= 0)
);
-- With what a list sorted by email asks for besides, so that what is skipped is not fetched.
create unique index customers_email on customers (account_id, lower(email)) include (email, id);
-- One for each order a list can have, as for payments below (docs/decisions/0013-lists.md).
create index customers_created on customers (account_id, created_at desc, id desc);
create index customers_orders on customers (account_id, order_count, created_at, id);
create index customers_spent on customers (account_id, total_spent_minor, created_at, id);
alter table customers add primary key (account_id, id);
-- Finds a part of an email without a look at every customer. Where PostgreSQL came without the extension, or this user may
-- make none, lists find the same without it, more slowly. A look reads what is pending besides, so that is kept small.
do $$ begin
  create extension if not exists pg_trgm;
  create index customers_email_part on customers using gin (lower(email) gin_trgm_ops)
    with (gin_pending_list_limit = 1024);
exception when insufficient_privilege or feature_not_supported or undefined_file or undefined_object then null;
end $$;

-- Ends a statement that met another transaction's work half-way, as a serialization failure does: nothing of it is kept,
-- and Beck runs it anew on what there is now.
create function begin_anew(why text) returns boolean language plpgsql as $$
begin
  raise exception using errcode = 'serialization_failure', message = why;
end
$$;

-- Ends a statement that would make something for an account that is closed by now.
create function refuse_closed(account uuid) returns boolean language plpgsql as $$
begin
  raise exception using errcode = 'BKCLS', message = format('the account %s is closed', account);
end
$$;

create table payments (
  account_id uuid not null,
  id uuid not null,
  status text not null check (status in
    ('pending', 'detected', 'completed', 'overpaid', 'underpaid', 'expired', 'failed', 'cancelled')),
  chain text not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  fiat_currency text not null check (fiat_currency in ('USD', 'EUR', 'GBP')),
  fiat_minor bigint not null check (fiat_minor > 0),
  -- What the gateway keeps and the merchant gets: the quote's, or the acceptance's once support accepted other funds.
  fee_minor bigint not null check (fee_minor >= 0),
  net_minor bigint not null check (net_minor >= 0),
  -- The quote's own fee, to go back to when a reorganisation takes an acceptance away.
  quoted_fee_minor bigint not null check (quoted_fee_minor between 0 and fiat_minor),
  -- The fee that was agreed when it was made, hundredths of a percent: of what is accepted at another price too.
  fee_bps integer not null check (fee_bps between 0 and 10000),
  -- The locked rate: minor units of fiat_currency per whole coin, as a ratio, its source and its time.
  rate_numerator numeric(78, 0) not null check (rate_numerator > 0),
  rate_denominator numeric(78, 0) not null check (rate_denominator > 0),
  rate_source text not null,
  rate_at timestamptz not null,
  -- Minor units of the account's settlement currency per minor unit of fiat_currency, locked alike.
  settlement_numerator numeric(78, 0) not null check (settlement_numerator > 0),
  settlement_denominator numeric(78, 0) not null check (settlement_denominator > 0),
  settlement_currency text not null,
  due_atoms numeric(78, 0) not null check (due_atoms > 0),
  -- How much less than that still pays: the account's tolerance, or what is too small to be sent.
  tolerated_atoms numeric(78, 0) not null default 0 check (tolerated_atoms >= 0),
  address text not null,
  required_confirmations integer not null check (required_confirmations >= 0),
  -- HMAC over what never changes (account, id, coin, address, amounts, rates, confirmations) under a key the database does
  -- not hold (src/payments/terms.ts).
  terms_mac bytea not null check (length(terms_mac) = 32),
  customer_id uuid,
  customer_email text,
  reference text check (length(reference) <= 255),
  metadata json,
  checkout_session_id uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  detected_at timestamptz,
  completed_at timestamptz,
  -- What settling credited to the merchant and what the gateway kept, in atoms; null while not settled.
  credited_atoms numeric(78, 0) check (credited_atoms >= 0),
  gateway_fee_atoms numeric(78, 0) check (gateway_fee_atoms >= 0),
  -- What reversals could not take back because it was withdrawn already, and how much of it the present
  -- settlement paid back to `loss` before it credited the merchant.
  shortfall_atoms numeric(78, 0) not null default 0 check (shortfall_atoms >= 0),
  recovered_atoms numeric(78, 0) not null default 0 check (recovered_atoms >= 0),
  -- What acceptances made of the settlement, in atoms and in minor units: what is credited again after a reorganisation
  -- took it, once as many atoms are confirmed. Kept when the settlement is taken back; null while nothing was accepted.
  accepted_net_atoms numeric(78, 0) check (accepted_net_atoms >= 0),
  accepted_fee_atoms numeric(78, 0) check (accepted_fee_atoms >= 0),
  accepted_net_minor bigint check (accepted_net_minor >= 0),
  accepted_fee_minor bigint check (accepted_fee_minor >= 0),
  -- What this payment added to its customer's total_spent, in the settlement currency.
  spent_minor bigint check (spent_minor >= 0),
  -- Counts settlements, so that each has a cause of its own after a reorganisation took one back.
  settlements integer not null default 0 check (settlements >= 0),
  -- Something happened on the chain that `decide` has not looked at yet. The settle worker's queue.
  decision_due boolean not null default false,
  -- A rate into another currency than the account's of this moment is refused, and the currency stays from the first one on.
  foreign key (account_id, settlement_currency) references accounts (id, currency),
  foreign key (account_id, customer_id) references customers (account_id, id),
  check (tolerated_atoms < due_atoms),
  check (net_minor + fee_minor = fiat_minor or status in ('completed', 'overpaid')),
  check ((credited_atoms is null) = (gateway_fee_atoms is null)),
  check (num_nulls(accepted_net_atoms, accepted_fee_atoms, accepted_net_minor, accepted_fee_minor) in (0, 4)),
  check (status not in ('completed', 'overpaid') or (completed_at is not null and credited_atoms is not null)),
  check (status not in ('pending', 'expired', 'cancelled') or credited_atoms is null)
);
-- One for each order a list can have, read backwards for the newest or largest first (docs/decisions/0013-lists.md).
create index payments_created on payments (account_id, created_at, id);
create index payments_status on payments (account_id, status, created_at, id) include (asset);
create index payments_asset on payments (account_id, asset, created_at, id) include (status);
create index payments_net on payments (account_id, net_minor, created_at, id) include (asset, status);
alter table payments add primary key (account_id, id);
-- A merchant finds a payment by what he calls it, be it what he calls all of them: a hash would walk through its equals
-- for each payment that is made.
create index payments_reference on payments (account_id, reference) where reference is not null;
create index payments_customer on payments (account_id, customer_id, created_at desc) where customer_id is not null;
-- What a checkout left behind: its page tells of coins that came for an earlier price.
create index payments_checkout on payments (account_id, checkout_session_id) where checkout_session_id is not null;
create index payments_decision_due on payments (created_at) where decision_due;
-- Just what the end of windows asks for: of less, lists of one status would be read from it, unsorted, for it is small.
create index payments_open on payments (chain, expires_at) where status in ('pending', 'detected') and not decision_due;

-- How many payments there are, so that a list need not count millions: the sum over the slots, exact in every snapshot.
-- A connection counts in a slot of its own, for two transactions that count in one row wait for each other. A slot can
-- be negative: what one connection created another may settle.
create table payment_counts (
  account_id uuid not null,
  asset text not null,
  status text not null,
  slot smallint not null,
  payments bigint not null,
  primary key (account_id, asset, status, slot)
) with (fillfactor = 50);

create function count_payment() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.asset = old.asset and new.status = old.status then
    return null;
  end if;
  insert into payment_counts as counted (account_id, asset, status, slot, payments)
  select each.account_id, each.asset, each.status, pg_backend_pid() % 64, each.change
  from (values (new.account_id, new.asset, new.status, 1), (old.account_id, old.asset, old.status, -1))
    as each (account_id, asset, status, change)
  where each.account_id is not null
  -- All lock in one order.
  order by each.asset, each.status
  on conflict (account_id, asset, status, slot) do update set payments = counted.payments + excluded.payments;
  return null;
end
$$;
-- At the commit, so that nothing else is waited for while a counter is locked.
create constraint trigger payments_counted after delete or update of asset, status on payments
  deferrable initially deferred for each row execute function count_payment();

-- Those that one statement makes are one count, when the statement ends. A payment is its own transaction as a rule; where it is
-- part of a longer one, its counter is held until the commit. What is waited for here says nothing about an idempotency key,
-- whose patience is short.
create function count_new_payments() returns trigger language plpgsql set lock_timeout = 0 as $$
begin
  insert into payment_counts as counted (account_id, asset, status, slot, payments)
  select account_id, asset, status, pg_backend_pid() % 64, count(*) from made
  group by account_id, asset, status order by account_id, asset, status
  on conflict (account_id, asset, status, slot) do update set payments = counted.payments + excluded.payments;
  return null;
end
$$;
create trigger new_payments_counted after insert on payments
  referencing new table as made for each statement execute function count_new_payments();

-- Where a page that is deep inside of a list begins, so that what stands before it is not walked through
-- (docs/decisions/0081-ranks.md): an account's payments made before `made_before` are counted in daily_payments and
-- payment_rungs as they were in one snapshot, less what payment_changes has seen of them since.
create table payment_ranks (
  account_id uuid primary key references accounts (id),
  made_before timestamptz not null default '-infinity'
);

-- An id begins with the milliseconds of its making: how far they are from that time.
create function id_skew_ms(id uuid, made_at timestamptz) returns bigint
  language sql immutable parallel safe
  return abs(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint
    - floor(extract(epoch from made_at at time zone 'UTC') * 1000)::bigint);
-- Those of a clock that was off, or of another kind: a list of some days that is sorted by id finds all others by their ids.
create index payments_untimely on payments (account_id, created_at, id) where id_skew_ms(id, created_at) >= 10000;
-- That they are few: else PostgreSQL takes each third payment for one, and finds them by another index.
create statistics payments_id_skew on (id_skew_ms(id, created_at)) from payments;

-- By UTC day.
create table daily_payments (
  account_id uuid not null references payment_ranks (account_id),
  day date not null,
  asset text not null,
  status text not null,
  payments bigint not null check (payments >= 0),
  primary key (account_id, day, asset, status)
);

-- By where they stand when sorted: from this rung on, up to the next. Sorted by id, only the id tells one rung from another.
create table payment_rungs (
  account_id uuid not null references payment_ranks (account_id),
  sort text not null check (sort in ('total', 'id')),
  net_minor bigint not null,
  created_at timestamptz not null,
  id uuid not null,
  asset text not null,
  status text not null,
  payments bigint not null check (payments >= 0),
  primary key (account_id, sort, net_minor, created_at, id, asset, status)
);

-- How many of what was made before a mark stand up to a rung, so that a part of a list that is bounded by time and by amount is
-- counted by its four corners. Marks come by and by; rungs stay as they are until one has become too large. Then another grid is
-- begun, and takes the place of the one before when it has as many marks.
create table payment_grids (
  account_id uuid not null references payment_ranks (account_id),
  generation integer not null,
  -- So many had the account when the grid was begun.
  rungs integer not null,
  marks timestamptz[] not null default '{}',
  -- By amount: the columns of each rung of the grid, in order. The first stands before every payment.
  net_minors bigint[] not null,
  created_ats timestamptz[] not null,
  ids uuid[] not null,
  -- Marks are due at once.
  is_due boolean not null default true,
  -- It had all marks that were due, once: lists are read by it.
  is_whole boolean not null default false,
  primary key (account_id, generation)
);
create table payment_grid_counts (
  account_id uuid not null,
  generation integer not null,
  -- Of `marks`, from 1.
  mark integer not null,
  asset text not null,
  status text not null,
  -- Made before the mark, and standing on this rung or one before it.
  upto integer[] not null check (0 <= all (upto)),
  primary key (account_id, generation, mark, asset, status),
  foreign key (account_id, generation) references payment_grids (account_id, generation)
) with (toast_tuple_target = 8160);
-- In its row as long as it fits, and never compressed: each is read for a few of its numbers.
alter table payment_grid_counts alter column upto set storage external;

-- What changed of payments that may be counted already. Who counts waits for an hour longer than this does, so that no
-- transaction is under way any more that did not note its change; what is noted of one that is not counted yet counts for nothing.
create table payment_changes (
  account_id uuid not null,
  payment_id uuid not null,
  created_at timestamptz not null,
  asset text not null,
  old_status text not null,
  new_status text not null,
  old_net_minor bigint not null,
  new_net_minor bigint not null,
  noted_at timestamptz not null default now()
);
create index payment_changes_made on payment_changes (account_id, created_at);

create function note_payment_change() returns trigger language plpgsql as $$
begin
  insert into payment_changes (account_id, payment_id, created_at, asset, old_status, new_status, old_net_minor, new_net_minor)
  values (new.account_id, new.id, new.created_at, new.asset, old.status, new.status, old.net_minor, new.net_minor);
  return null;
end
$$;
create trigger payment_changes_noted after update of status, net_minor on payments for each row
  when (new.created_at < statement_timestamp() - interval '1 hour'
    and (old.status <> new.status or old.net_minor <> new.net_minor))
  execute function note_payment_change();

-- The same of customers, of which only the number is asked.
create table customer_counts (
  account_id uuid not null,
  slot smallint not null,
  customers bigint not null,
  primary key (account_id, slot)
) with (fillfactor = 50);

create function count_customer() returns trigger language plpgsql as $$
begin
  insert into customer_counts as counted (account_id, slot, customers)
  values (coalesce(new.account_id, old.account_id), pg_backend_pid() % 64, case when tg_op = 'INSERT' then 1 else -1 end)
  on conflict (account_id, slot) do update set customers = counted.customers + excluded.customers;
  return null;
end
$$;
create constraint trigger customers_counted after insert or delete on customers
  deferrable initially deferred for each row execute function count_customer();

create table deposits (
  account_id uuid not null references accounts (id),
  id uuid not null,
  payment_id uuid not null,
  chain text not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  -- The transaction id, or a name made of block and address for ether that no transaction log shows.
  tx_key text not null,
  tx_hash text,
  output_index integer not null,
  address text not null,
  amount_atoms numeric(78, 0) not null check (amount_atoms > 0),
  status text not null check (status in ('seen', 'confirmed', 'replaced', 'reorganised', 'dropped')),
  -- Null while no block holds it.
  block_height bigint,
  block_hash text,
  required_confirmations integer not null check (required_confirmations >= 0),
  -- The earlier of our sighting and its block's time.
  seen_at timestamptz not null,
  late boolean not null,
  -- What a late deposit was worth at first sight, in minor units of the payment's currency; null without a rate.
  sighted_minor bigint check (sighted_minor >= 0),
  dust boolean not null,
  replaced_by text,
  -- The block of the transaction that replaced it; null while none holds it.
  replaced_height bigint,
  -- Since when neither a block nor the mempool holds it.
  missing_since timestamptz,
  -- HMAC over whose it is and what the chain showed (src/deposits/deposit-mac.ts).
  mac bytea not null check (length(mac) = 32),
  -- Counts bookings, so that each has a cause of its own after a reorganisation took one back.
  bookings integer not null default 0 check (bookings >= 0),
  -- The ledger holds it now.
  booked boolean not null default false,
  foreign key (account_id, payment_id) references payments (account_id, id),
  check ((block_height is null) = (block_hash is null)),
  check (not (booked and dust)),
  check (status <> 'confirmed' or block_height is not null)
);
create index deposits_by_address on deposits (chain, address);
-- The chain decides what one deposit is, whoever it belongs to: a reorganisation may show another sum in its place.
create unique index deposits_output on deposits (chain, tx_key, output_index, address, asset, amount_atoms);
create unique index deposits_output_shown on deposits (chain, tx_key, output_index) where status in ('seen', 'confirmed');
create index deposits_by_payment on deposits (account_id, payment_id, seen_at);
alter table deposits add primary key (account_id, id);
create index deposits_by_replacement on deposits (chain, replaced_height) where replaced_height is not null;
create index deposits_by_block on deposits (chain, block_height) where block_height is not null;
create index deposits_in_no_block on deposits (chain) where block_height is null and status in ('seen', 'reorganised', 'dropped');
create index deposits_confirming on deposits (chain, block_height) where status = 'seen' and block_height is not null;

-- What is held for a payment until support decides: booked deposits less what settled, was accepted or refunded.
-- Per account and asset these rows add up to the `unresolved` balance.
create table unresolved_funds (
  account_id uuid not null,
  payment_id uuid not null,
  asset text not null check (asset in ('BTC', 'LTC', 'ETH', 'USDC', 'USDT')),
  atoms numeric(78, 0) not null check (atoms >= 0),
  primary key (account_id, payment_id, asset),
  foreign key (account_id, payment_id) references payments (account_id, id)
);

-- What an unconfirmed deposit's transaction spends: another transaction that spends the same replaces it.
create table deposit_inputs (
  chain text not null,
  spent_tx text not null,
  spent_index bigint not null,
  tx_key text not null
);
create index deposit_inputs_tx on deposit_inputs (chain, tx_key);
alter table deposit_inputs add primary key (chain, spent_tx, spent_index, tx_key);
