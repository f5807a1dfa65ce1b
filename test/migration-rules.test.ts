import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { readMigrations } from '../src/db/migrate.ts'
import { findBreaks } from './migration-rules.ts'

/** The newest version that CHANGELOG.md gives a date; a contract is written before its own has one. */
const changelog = await readFile(new URL('../CHANGELOG.md', import.meta.url), 'utf8')
const released = /^## \[(\d+\.\d+\.\d+)\]/m.exec(changelog)?.[1] ?? null

test('every migration since the first release leaves the version before alone, or says which one it needs', async () => {
  assert.deepEqual(findBreaks(await readMigrations(), released), [])
})

const FIRST = {
  name: '0001-first.sql',
  sql: 'create table a (x int); create table c (x int); create function known() returns int language sql as $$ select 1 $$;',
}
const breaksOf = (sql: string, out: string | null = '0.3.0') =>
  findBreaks([FIRST, { name: '0002-second.sql', sql: `${sql};` }], out, FIRST.name)

for (const sql of [
  'create table b (y int not null, x int references a (x)); create unique index b_y on b (y)',
  "create table b (y int); insert into b (y) values (1), (2); insert into b values ('with; select'), (null)",
  'create table b (y int); alter table b add foreign key (y) references a (x), add check (y > 0)',
  'create table b (y int);\ncreate trigger b_stays before update or delete on b for each row execute function known()',
  'alter table a add column z text',
  'ALTER TABLE a ADD COLUMN z TEXT',
  "alter table a add column z text not null default '', add column y numeric(78, 0)",
  "alter table a add column z jsonb not null default '{}'::jsonb,add column y bigint default -1",
  'alter table a add column at timestamptz(3) not null default now()',
  'alter table a add column c_x int references c (x)',
  "alter table a add column z text, add constraint z_is check (length(z) < 9 and z in ('x', 'b')) not valid",
  'create index if not exists a_x on a (x) where x > 0',
  'create function f(y int) returns int language sql stable as $$ drop table a; select 1 $$',
  '-- drop table a;\n/* drop table a; */ create table b (x int)',
  '-- Contract: 0.2.0 and newer run beside this.\ndrop table a',
  '-- Contract: 0.3.0 and newer run beside this.\ndrop table a',
])
  test(`the version before lives with: ${sql}`, () => assert.deepEqual(breaksOf(sql), []))

for (const sql of [
  'drop table a',
  'DROP TABLE a',
  'create table b (x int); drop table b, a',
  'drop index a_x',
  'drop function known()',
  'alter table a drop column x',
  'alter table public.a drop column x',
  'alter table only a drop column x',
  'alter table if exists a drop column x',
  'ALTER TABLE a DROP COLUMN x',
  'alter table "a" drop column x',
  'alter /* a */ table a -- b\n drop x',
  'alter table a add column z int,\n  drop constraint a_check',
  'alter table a rename column x to y',
  'alter table a rename to b',
  'alter table a alter column x type bigint',
  'alter table a alter x set data type bigint',
  'alter table a alter column x set not null',
  'alter table a alter column x drop not null',
  'alter table a alter column x set default 1',
  'alter table a alter column x drop default',
  'alter table a disable trigger user',
  'alter table a add column y int not null',
  'alter table a add column id uuid not null default gen_random_uuid()',
  'alter table a add column id bigserial',
  'alter table a add column id bigint generated always as identity',
  'alter table a add column y int unique',
  'alter table a add column y int references c (x) on delete cascade',
  'alter table a add column y int default 1 references c (x)',
  'alter table a add column y int check (y > 0)',
  'alter table a add column y int, add constraint one check (y > 0)',
  'alter table a add column y int, add constraint one check (y is not null or x > 0) not valid',
  'alter table a add column y int, add constraint one check (y is not null or "x" > 0) not valid',
  'alter table a add column y int, add constraint one check (y is not null) not valid',
  'alter table a add column y int default 0, add constraint one check (y > 0) not valid',
  'alter table a add constraint one check (x > 0) not valid',
  'alter table a add check (x > 0)',
  'alter table a add constraint one unique (x)',
  'alter table only a add foreign key (x) references b (x)',
  'create table b () inherits (a)',
  'create table b (x int); alter table b inherit a',
  'create table if not exists a (x int)',
  'create table b as select 1',
  'create unique index if not exists a_x on a (x)',
  'create index a_x on a (x)',
  'alter index a_x rename to a_y',
  'create trigger t before insert on a for each row execute function known()',
  'create or replace trigger t before insert on a for each row execute function known()',
  'create or replace function known() returns int language sql as $$ select 2 $$',
  'create function known(y int) returns int language sql as $$ select 2 $$',
  'insert into a values (1)',
  'create table b (x int); insert into b values (known())',
  'create table b (x int); insert into b values ((select 1))',
  'create table b (x int); insert into b select x from a for update',
  'create table b (x int); insert into b with gone as (delete from a returning x) select x from gone',
  'update a set x = 1',
  'update only a set x = 1',
  'delete from a',
  'with gone as (delete from a returning x) select from gone',
  'truncate a',
  'lock table a',
  'do $$ begin drop table a; end $$',
  'select known()',
  'revoke select on a from beck_server',
  'grant select on a to beck_server',
  "comment on table schema_migrations is 'x'",
  'set local lock_timeout = 0',
  "create table b (x text default '\\'); drop table a; --')",
])
  test(`the version before might not live with: ${sql}`, () =>
    assert.match(
      breaksOf(sql).join('\n'),
      /none of the statements that docs\/internals\/releases\.md allows/,
    ))

test('a contract names a version that is out, in its first line', () => {
  const contract = '-- Contract: 0.4.0 and newer run beside this.\ndrop table a'
  assert.match(breaksOf(contract).join(), /0\.4\.0 is not out: the newest is 0\.3\.0/)
  assert.match(breaksOf(contract, null).join(), /0\.4\.0 is not out: the newest is none yet/)
  assert.match(breaksOf('-- contract, since 0.2.0\ndrop table a').join(), /its first line is no contract/)
})
