/**
 * What a migration may do while the version before runs on the same tables, as docs/internals/releases.md says it. Reads
 * the SQL of our own files: statements that end in a semicolon, in lower case.
 */
import type { Migration } from '../src/db/migrate.ts'
import { isOlder, versionNeeded } from '../src/db/migrate.ts'

/** Up to this file the first release begins: before it there is no version that could run beside. */
const LAST_BEFORE_A_RELEASE = '0024-approvals.sql'

/** What breaks the version before, in one action on a table that it knows. */
const BREAKS: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^rename\b/, 'the version before asks for the old name'],
  [/^drop (column|constraint)\b/, 'the version before relies on it, or meets values that it does not know'],
  [/^alter (column )?\S+ (set data )?type\b/, 'the version before reads and writes the old type'],
  [/^alter (column )?\S+ set not null\b/, 'the version before may write null'],
  [/^alter (column )?\S+ drop default\b/, 'the version before writes no value of its own'],
  [
    /^add (constraint \S+ )?(check|unique|primary key|foreign key|exclude)\b/,
    'the version before may write what it refuses',
  ],
  [/^add (column )?(?!.*\bdefault\b).*\bnot null\b/, 'the version before writes no value of its own'],
  [
    /^add (column )?.*\b(serial|bigserial|generated|default (gen_random_uuid|clock_timestamp|random|nextval)\b)/,
    'every row is written anew, and everybody waits for it',
  ],
]

const WHOLE: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^drop table (?:if exists )?(\w+)/, 'the version before reads it'],
  [/^create unique index (?:if not exists )?\S+ on (\w+)/, 'the version before may write what it refuses'],
  [
    /^create index (?!if not exists)\S+ on (\w+)/,
    'writes wait while it is built: say "if not exists", and in the changelog how it is built concurrently before',
  ],
  [/^create (?:or replace )?trigger .* on (\w+)/, 'the version before does not know what it does'],
  [
    /^(?:update|delete from|truncate(?: table)?) (\w+)/,
    'rows stay locked: let a worker go through them in batches',
  ],
  [/^lock table (\w+)/, 'everybody waits for it'],
]
const WITHOUT_TABLE: readonly (readonly [pattern: RegExp, why: string])[] = [
  [/^drop (?!table)/, 'the version before may use it'],
]

/**
 * @param migrations - In their order.
 * @returns A sentence for each statement that the version before could not live with.
 */
export function findBreaks(
  migrations: readonly Pick<Migration, 'name' | 'sql'>[],
  version: string,
  lastBefore = LAST_BEFORE_A_RELEASE,
): string[] {
  const known = new Set<string>()
  return migrations.flatMap((migration) => {
    const statements = statementsOf(migration.sql)
    const found = migration.name > lastBefore ? breaksIn(migration, statements, known, version) : []
    for (const statement of statements) {
      const table = /^create table (?:if not exists )?(\w+)/.exec(statement)?.[1]
      if (table) known.add(table)
    }
    return found.map((why) => `${migration.name}: ${why}`)
  })
}

function breaksIn(
  migration: Pick<Migration, 'sql'>,
  statements: readonly string[],
  known: ReadonlySet<string>,
  version: string,
): string[] {
  const needed = versionNeeded(migration)
  if (needed !== null)
    return isOlder(version, needed)
      ? [`a contract comes after the release of what it needs, and ${needed} is not out: this is ${version}`]
      : []
  if (/-- contract/i.test(migration.sql))
    return ['its first line is no contract: "-- Contract: 0.3.0 and newer run beside this."']
  return statements.flatMap((statement) =>
    whyBreaks(statement, known).map((why) => `${statement.slice(0, 80)}: ${why}`),
  )
}

function whyBreaks(statement: string, known: ReadonlySet<string>): string[] {
  const isKnown = (table: string | undefined) => table !== undefined && known.has(table)
  const [, table, actions] = /^alter table (?:if exists )?(?:only )?(\w+) (.*)$/.exec(statement) ?? []
  const broken = actions && isKnown(table) ? apart(actions).flatMap((action) => matches(BREAKS, action)) : []
  return [
    ...broken,
    ...WHOLE.flatMap(([pattern, why]) => (isKnown(pattern.exec(statement)?.[1]) ? [why] : [])),
    ...matches(WITHOUT_TABLE, statement),
  ]
}

const matches = (rules: typeof BREAKS, text: string): string[] =>
  rules.flatMap(([pattern, why]) => (pattern.test(text) ? [why] : []))

/** Without comments, texts and bodies of functions, each on one line. */
const statementsOf = (sql: string): string[] =>
  sql
    .replace(/--.*$/gm, '')
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replace(/'[^']*'/g, "''")
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')

/** The actions of one `alter table`, without what stands in parentheses. */
function apart(actions: string): string[] {
  let outer = actions
  for (let before = ''; before !== outer; ) {
    before = outer
    outer = outer.replace(/\([^()]*\)/g, '')
  }
  return outer.split(',').map((part) => part.trim())
}
