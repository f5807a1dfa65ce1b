-- Mails, written by the transaction that causes them, and sent by a worker.

create table mails (
  id uuid primary key,
  -- What it tells of. Nobody is told of the same thing twice.
  cause text not null check (length(cause) between 1 and 200),
  recipient text not null check (length(recipient) between 3 and 254),
  kind text not null check (kind in ('invitation', 'reset', 'lockout', 'notice', 'alert', 'receipt', 'decision', 'paid')),
  status text not null default 'queued' check (status in ('queued', 'sent', 'refused', 'given_up')),
  -- Subject and text, sealed, since they may hold a link that lets somebody in. Gone once the mail is.
  content_sealed bytea,
  attempts integer not null default 0 check (attempts >= 0),
  next_attempt_at timestamptz not null default now(),
  -- What cannot be sent until then is given up.
  expires_at timestamptz not null,
  -- What the mail server said the last time.
  trouble text check (length(trouble) <= 300),
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (cause, recipient),
  check ((status = 'queued') = (content_sealed is not null)),
  check ((status = 'queued') = (finished_at is null))
);
create index mails_due on mails (next_attempt_at) where status = 'queued';
-- How many receipts, or mails about payments, one address was sent lately.
create index mails_counted on mails (lower(recipient), kind, created_at) where kind in ('receipt', 'decision', 'paid');
create index mails_finished on mails (finished_at) where status <> 'queued';

-- How far in the audit log's chain people were told of acts.
create table told_acts (
  singleton boolean primary key default true check (singleton),
  place bigint not null check (place >= 0)
);
insert into told_acts (place) values (0);

alter table alerts add column told_at timestamptz;
