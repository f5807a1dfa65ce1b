-- A counter that only grows: every process advances it once a second and remembers what it was. A database in which it is
-- smaller, or was when PostgreSQL began another timeline, has lost commits: nothing moves until that was dealt with and
-- `beck resume`.

create table time_arrow (
  singleton boolean primary key default true check (singleton),
  -- Which database this is: a set-back one is still the same.
  history uuid not null default gen_random_uuid(),
  -- Begins anew, above every one that was remembered, when the operator lets the money move again.
  era integer not null default 1 check (era >= 1),
  tick bigint not null default 1 check (tick >= 1),
  -- Timelines of PostgreSQL that it was advanced on, and where it stood when it was met on each: a server that took over
  -- with less than others remember lost commits, one that took over with all of it did not.
  timelines jsonb not null default '{}',
  -- Why nothing moves; null while time goes forward.
  stopped text,
  -- The highest era that who noticed it remembered.
  remembered_era integer not null default 1,
  -- What had to be done first is done: live coins are frozen, fresh addresses are withheld.
  made_safe boolean not null default false,
  check (stopped is not null or not made_safe)
);
