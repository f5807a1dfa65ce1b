-- Who runs: every process says so every few seconds, for each of its roles, with what it is short of. A role that nobody
-- plays shows by that; what does not say so for an hour is removed.

create table running_roles (
  instance uuid not null,
  role text not null check (role in ('api', 'worker', 'watcher', 'signer')),
  host text not null check (length(host) between 1 and 255),
  version text not null check (length(version) between 1 and 64),
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- The longest that anything of the process waited for its turn since it last said so.
  loop_lag_ms integer not null check (loop_lag_ms >= 0),
  -- Of the disk that its data directory is on; null where it has none.
  disk_free_bytes bigint check (disk_free_bytes >= 0),
  -- What it wants its operator to do something about, in sentences.
  concerns text[] not null default '{}',
  primary key (instance, role)
);
