import assert from 'node:assert/strict'
import test from 'node:test'
import { VERSION } from '../src/core/version.ts'
import { readMigrations } from '../src/db/migrate.ts'
import { findBreaks } from './migration-rules.ts'

test('every migration since the first release leaves the version before alone, or says which one it needs', async () => {
  assert.deepEqual(findBreaks(await readMigrations(), VERSION), [])
})

test('what breaks the version before is found, and what only adds is not', () => {
  const table: [sql: string, broken: RegExp | null][] = [
    ['create table b (y int not null); alter table b drop column y', null],
    ['alter table a add column z text', null],
    ["alter table a add column z text not null default '', add column y numeric(78, 0)", null],
    ['alter table a add column at timestamptz not null default now()', null],
    ["alter table a add column z text check (z in ('not null', 'b'))", null],
    ['alter table a add column z text check (z is not null or (x > 0 and x <> 1)), add column y int', null],
    ['create index if not exists a_x on a (x)', null],
    ['alter table a alter column x drop not null', null],
    ['create function f() returns int language sql as $$ drop table a; select 1 $$', null],
    ['-- drop table a;\ncreate table b (x int references a)', null],
    ['-- Contract: 0.2.0 and newer run beside this.\ndrop table a', null],

    ['-- Contract: 0.4.0 and newer run beside this.\ndrop table a', /0\.4\.0 is not out: this is 0\.3\.0/],
    ['-- contract, since 0.2.0\ndrop table a', /its first line is no contract/],
    ['drop table a', /the version before reads it/],
    ['drop index a_x', /may use it/],
    ['alter table a drop column x', /relies on it/],
    ['alter table a add column z int,\n  drop constraint a_check', /relies on it, or meets values/],
    ['alter table a rename column x to y', /asks for the old name/],
    ['alter table a rename to b', /asks for the old name/],
    ['alter table a alter column x type bigint', /the old type/],
    ['alter table a alter x set data type bigint', /the old type/],
    ['alter table a alter column x set not null', /may write null/],
    ['alter table a alter column x drop default', /writes no value/],
    ['alter table a add column y int not null', /writes no value/],
    ['alter table a add check (x > 0)', /may write what it refuses/],
    ['alter table a add constraint one unique (x)', /may write what it refuses/],
    ['alter table only a add foreign key (x) references b (x)', /may write what it refuses/],
    ['alter table a add column id uuid not null default gen_random_uuid()', /written anew/],
    ['alter table a add column id bigserial', /written anew/],
    ['create unique index a_x on a (x)', /may write what it refuses/],
    ['create index a_x on a (x)', /writes wait while it is built/],
    ['create trigger t before insert on a execute function f()', /does not know what it does/],
    ['update a set x = 1', /in batches/],
    ['delete from a', /in batches/],
    ['lock table a', /everybody waits/],
  ]
  const first = { name: '0001-first.sql', sql: 'create table a (x int);' }
  for (const [sql, broken] of table) {
    const found = findBreaks([first, { name: '0002-second.sql', sql: `${sql};` }], '0.3.0', first.name)
    if (broken === null) assert.deepEqual(found, [], sql)
    else assert.match(found.join('\n') || `nothing is wrong with: ${sql}`, broken)
  }
})
