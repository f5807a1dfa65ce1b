/**
 * `npm run schema` writes `schema.sql`, the whole schema as PostgreSQL itself describes it; with `--check` it
 * compares instead, so that a migration and the dump cannot part.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from './database.ts'
import { startCluster } from './embedded/embedded.ts'
import { migrate } from './migrate.ts'

const FILE = new URL('./schema.sql', import.meta.url)

const folder = await mkdtemp(join(tmpdir(), 'beck-schema-'))
const cluster = await startCluster({ dataDir: folder, settings: ['fsync=off'] })
const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 2 })
try {
  await migrate(db)
  const text = await describe(db)
  if (!process.argv.includes('--check')) await writeFile(FILE, text)
  else if ((await readFile(FILE, 'utf8').catch(() => '')) !== text) {
    process.stderr.write('src/db/schema.sql is not what the migrations make; run: npm run schema\n')
    process.exitCode = 1
  }
} finally {
  await db.close()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Tables, columns, constraints, indexes, triggers and functions in a stable order (the package ships no pg_dump). */
async function describe(database: Database): Promise<string> {
  const { rows: columns } = await database.query<{ table: string; line: string }>(`
    select c.relname as table,
      format('  %s %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
        case when a.attnotnull then ' not null' else '' end,
        coalesce(case a.attgenerated when 's' then ' generated always as (' || expression || ') stored' else ' default ' || expression end, '')) as line
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    cross join lateral (select pg_get_expr(d.adbin, d.adrelid) as expression) e
    where c.relkind in ('r', 'p')
    order by c.relname, a.attnum`)
  const { rows: constraints } = await database.query<{ table: string; line: string }>(`
    select c.relname as table, format('  constraint %s %s', o.conname, pg_get_constraintdef(o.oid)) as line
    from pg_constraint o join pg_class c on c.oid = o.conrelid
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
    where o.contype not in ('n', 't')
    order by c.relname, o.contype, o.conname`)
  const { rows: indexes } = await database.query<{ table: string; line: string }>(`
    select i.tablename as table, i.indexdef || ';' as line from pg_indexes i
    where i.schemaname = 'public'
      and not exists (select 1 from pg_constraint o where o.conname = i.indexname)
    order by i.tablename, i.indexname`)
  const { rows: statistics } = await database.query<{ table: string; line: string }>(`
    select c.relname as table, pg_get_statisticsobjdef(s.oid) || ';' as line
    from pg_statistic_ext s join pg_class c on c.oid = s.stxrelid
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
    order by c.relname, s.stxname`)
  const { rows: triggers } = await database.query<{ table: string; line: string }>(`
    select c.relname as table, pg_get_triggerdef(t.oid) || ';' as line
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
    where not t.tgisinternal
    order by c.relname, t.tgname`)
  const { rows: functions } = await database.query<{ text: string }>(`
    select pg_get_functiondef(p.oid) as text from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace and n.nspname = 'public'
    where not exists (select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = p.oid
      and e.deptype = 'e')
    order by p.proname`)
  const tables = [...new Set(columns.map((column) => column.table))]
  const of = (rows: { table: string; line: string }[], table: string) =>
    rows.filter((row) => row.table === table).map((row) => row.line)
  return `-- Written by \`npm run schema\` from the migrations. Do not edit.\n\n${tables
    .map((table) =>
      [
        `create table ${table} (\n${[...of(columns, table), ...of(constraints, table)].join(',\n')}\n);`,
        ...of(indexes, table),
        ...of(statistics, table),
        ...of(triggers, table),
        '',
      ].join('\n'),
    )
    .join('\n')}${functions.map(({ text }) => `\n${text.trimEnd()};\n`).join('')}`
}
