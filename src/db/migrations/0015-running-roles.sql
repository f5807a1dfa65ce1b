-- Who runs: every process says so every few seconds, for each of its roles, with what it is short of. A role that nobody
-- plays shows by that; what does not say so for an hour is removed.

create table running_roles (
  instance uuid not null,
  role text not null check (role in ('api', 'worker', 'watcher', 'signer')),
  host text not null check (length(host) between 1 and 255),
  version text not null check (length(version) between 1 and 64),
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- When it ended in order: it does not run any more and is not missed, and what it wrote until then is known to be its own.
  ended_at timestamptz,
  -- The longest that anything of the process waited for its turn since it last said so.
  loop_lag_ms integer not null check (loop_lag_ms >= 0),
  -- Of the disk that its data directory is on; null where it has none.
  disk_free_bytes bigint check (disk_free_bytes >= 0),
  -- Which BECK_SECRET_KEY it writes with, by the key's id; null of a version that did not say.
  key_id text check (length(key_id) between 1 and 64),
  -- What it wants its operator to do something about, in sentences.
  concerns text[] not null default '{}',
  primary key (instance, role)
);
