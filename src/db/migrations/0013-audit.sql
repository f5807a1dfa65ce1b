-- Which BECK_SECRET_KEY everything here is sealed and authenticated with, by its id; a start with another key is refused.
create table secret_keys (
  singleton boolean primary key default true check (singleton),
  key_id text not null,
  since timestamptz not null default now()
);

-- Who did what, from where: every act of the command line, of people, and every write by a key that leaves no row with
-- the key in it. Rows are only ever added; nothing of a row changes but that it gets its place in the chain, once.

create table audit_log (
  id uuid primary key,
  at timestamptz(3) not null default clock_timestamp(),
  -- Null where an act concerns no account, or more than one.
  account_id uuid,
  actor_kind text not null check (actor_kind in ('key', 'user', 'cli', 'system')),
  actor_id text,
  actor_name text,
  -- Where from: an IP address, or the machine that the command ran on.
  address text,
  action text not null check (action ~ '^[a-z_]+[.][a-z_]+$'),
  -- What it was done to, by its public id.
  subject text,
  before json,
  after json,
  -- Its place in the chain, and the MAC over it and the one before, under a key the database does not hold. Null for the
  -- moment until the chain goes on, so that no act ever waits for another one's transaction.
  place bigint unique check (place >= 1),
  mac bytea check (length(mac) = 32),
  check ((place is null) = (mac is null))
);
create index audit_log_unchained on audit_log (id) where place is null;
-- An account's, in their order; what its list filters by stands behind it, so that no other act is fetched.
create index audit_log_by_account on audit_log (account_id, at, id, actor_kind, action, subject);
-- The newest backup's age.
create index audit_log_backups on audit_log (at) where action = 'backup.make';

create function refuse_audit_change() returns trigger language plpgsql as $$
declare
  chained audit_log;
begin
  if tg_op = 'UPDATE' and old.place is null then
    chained := old;
    chained.place := new.place;
    chained.mac := new.mac;
    -- Byte by byte, for JSON knows no equality.
    if chained *= new then
      return new;
    end if;
  end if;
  raise exception 'the audit log is added to, never changed';
end
$$;
create trigger audit_log_stays before update or delete on audit_log for each row execute function refuse_audit_change();
create trigger audit_log_is_kept before truncate on audit_log for each statement execute function refuse_audit_change();
