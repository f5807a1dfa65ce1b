-- What people write down about a payment or a customer, for each other.
create table notes (
  account_id uuid not null references accounts (id),
  id uuid not null,
  subject_kind text not null check (subject_kind in ('payment', 'customer')),
  subject_id uuid not null,
  text text not null check (length(text) between 1 and 2000),
  user_id uuid not null references users (id),
  created_at timestamptz not null default now(),
  primary key (account_id, id)
);
create index notes_by_subject on notes (account_id, subject_id, id);
