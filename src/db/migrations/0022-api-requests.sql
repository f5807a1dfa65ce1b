-- What keys asked of the API, and how it was answered. Kept for seven days; nothing of any body.
create table api_requests (
  account_id uuid not null references accounts (id),
  id uuid not null,
  at timestamptz not null,
  key_id uuid not null,
  -- `req_…`, as the answer named it.
  request_id text not null,
  method text not null,
  path text not null check (length(path) <= 500),
  status smallint not null,
  duration_ms integer not null check (duration_ms >= 0),
  -- Why it was refused; null where nothing was, or the answer was kept for an idempotency key.
  reason text,
  address text not null,
  primary key (account_id, id)
);
-- Summaries of stretches of the table (BRIN) would be smaller, and soon tell nothing: new rows take the room of removed ones, and a
-- summary never forgets how old the oldest was.
create index api_requests_age on api_requests (at);
-- What was not answered is looked for most, and is rare.
create index api_requests_refused on api_requests (account_id, id) where status between 400 and 499;
create index api_requests_failed on api_requests (account_id, id) where status between 500 and 599;
-- The page of a payment leads to the calls that named it. Most paths name none, and have no entry here.
create index api_requests_by_payment on api_requests (account_id, (substring(path from 'pay_[0-9a-z]{26}')), id)
  where substring(path from 'pay_[0-9a-z]{26}') is not null;
