-- The users of Beck's database, for a superuser of PostgreSQL, once; doing it again only sets the passwords:
--   psql --file roles.sql --set owner="'…'" --set server="'…'" --set signer="'…'"
-- The owner brings the schema up to date and makes backups; server and signer may do what they need and no more.
do $$
begin
  if to_regrole('beck_server') is null then create role beck_server nologin; end if;
  if to_regrole('beck_signer') is null then create role beck_signer nologin; end if;
  if to_regrole('beck_owner') is null then create role beck_owner login; end if;
  if to_regrole('beck_api') is null then create role beck_api login in role beck_server; end if;
  if to_regrole('beck_keys') is null then create role beck_keys login in role beck_signer; end if;
end $$;
alter role beck_owner password :owner;
alter role beck_api password :server;
alter role beck_keys password :signer;
-- Proofs ask which transactions still run.
grant pg_read_all_stats to beck_server, beck_owner;
create database beck owner beck_owner;
