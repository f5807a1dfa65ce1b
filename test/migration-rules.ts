/**
 * What a migration may do while the version before runs on the same tables, as docs/internals/releases.md says it: the
 * forms of statement below, and nothing else. A new form is added here with the reason why nobody notices it.
 */
import { isOlder } from '../src/core/version.ts'
import { type Migration, versionNeeded } from '../src/db/applied-migrations.ts'

/** Up to this file the first release begins: before it there is no version that could run beside. */
export const LAST_BEFORE_A_RELEASE = '0024-approvals.sql'

type Source = Pick<Migration, 'name' | 'sql'>

/** In a statement without comments, in lower case, on one line, where `''` is a text and `$$` a body. */
const CREATED_TABLE = /^create table (\w+) ?\(\)$/
const CREATED_FUNCTION =
  /^create function (\w+) ?\(\) returns [\w ()]+ language (?:sql|plpgsql)[\w ]* as \$\$$/
const ALTERED_TABLE = /^alter table (\w+) (.*)$/
/** Nobody reads a new table yet, so that it may have whatever belongs to it. Its name is the first group. */
const OF_A_NEW_TABLE: readonly RegExp[] = [
  /^create (?:unique )?index \w+ on (\w+) /,
  /^create (?:constraint )?trigger \w+ (?:before|after) [\w ,]+ on (\w+) [\w ()]+ execute function \w+ ?\(\)$/,
]
/** Writes wait while an index is built, unless the operator built it before, concurrently. */
const INDEX = /^create index if not exists \w+ on \w+ (?:using \w+ ?)?\(\)/

const TYPE =
  '(?:text|uuid|boolean|smallint|integer|int|bigint|bytea|jsonb?|date|real|double precision|(?:numeric|timestamptz)(?: ?\\(\\))?)(?: ?\\[\\])?'
/** Of every row at once, so that none is written anew. */
const CONSTANT = "(?:''|-?\\d+|true|false|now ?\\(\\))(?:::\\w+(?: ?\\[\\])?)?"
/** Its first rows, as they stand there: a function or a query could do anything. With its parentheses. */
const VALUE = `(?:null|${CONSTANT})`
const FIRST_ROWS = new RegExp(
  `^insert into (\\w+) ?(?:\\([\\w ,]+\\) ?)?values(?:,? ?\\(${VALUE}(?:, ?${VALUE})*\\))+$`,
)
/** Null in every row, so that PostgreSQL looks nothing up. */
const ADDED_NULLABLE = new RegExp(
  `^add column (\\w+) ${TYPE}(?: references \\w+ ?\\(\\)(?: on delete set null)?)?$`,
)
const ADDED_WITH_DEFAULT = new RegExp(`^add column \\w+ ${TYPE}(?: not null)? default ${CONSTANT}$`)
/** One that is valid at once reads every row, and everybody waits. */
const ADDED_CHECK = /^add constraint \w+ check ?\(\) not valid$/
/** Beside names of new nullable columns: of null, which the version before writes, none of it makes false. */
const IN_A_CHECK = /^(?:in|between|and|or|length|cardinality|\d+)$/

/**
 * @param migrations - In their order.
 * @param released - The newest version that is out; null while there is none.
 * @returns A sentence for each statement that the version before might not live with.
 */
export function findBreaks(
  migrations: readonly Source[],
  released: string | null,
  lastBefore = LAST_BEFORE_A_RELEASE,
): string[] {
  const functions = new Set<string>()
  return migrations.flatMap((migration) => {
    const statements = statementsOf(migration.sql)
    const found = migration.name > lastBefore ? breaksIn(migration, { statements, functions, released }) : []
    for (const { outer } of statements) {
      const name = /^create (?:or replace )?function (\w+)/.exec(outer)?.[1]
      if (name) functions.add(name)
    }
    return found.map((why) => `${migration.name}: ${why}`)
  })
}

function breaksIn(
  migration: Source,
  about: {
    readonly statements: readonly Statement[]
    readonly functions: ReadonlySet<string>
    readonly released: string | null
  },
): string[] {
  const { statements, functions, released } = about
  const needed = versionNeeded(migration)
  if (needed !== null)
    return released === null || isOlder(released, needed)
      ? [
          `a contract comes after the release of what it needs, and ${needed} is not out: the newest is ${released ?? 'none yet'}`,
        ]
      : []
  if (/-- contract/i.test(migration.sql))
    return ['its first line is no contract: "-- Contract: 0.3.0 and newer run beside this."']
  const added = new Set<string>()
  return statements.flatMap((statement) => {
    const table = CREATED_TABLE.exec(statement.outer)?.[1]
    if (table) added.add(table)
    // A quoted name could be any.
    const isKnownForm =
      !statement.text.includes('"') && (table !== undefined || isAllowed(statement, added, functions))
    return isKnownForm ? [] : [`${statement.text.slice(0, 80)}: ${NO_FORM}`]
  })
}

const NO_FORM =
  'none of the statements that docs/internals/releases.md allows while the version before runs; make it a contract'

function isAllowed(
  { text, outer }: Statement,
  added: ReadonlySet<string>,
  functions: ReadonlySet<string>,
): boolean {
  const created = CREATED_FUNCTION.exec(outer)?.[1]
  // Of one that is known it would be another body, or another meaning of the same call.
  if (created) return !functions.has(created)
  if (INDEX.test(outer)) return true
  const [, table, list = ''] = ALTERED_TABLE.exec(outer) ?? []
  const actions = list.split(/ ?, ?/)
  if (table !== undefined)
    return added.has(table)
      ? actions.every((action) => action.startsWith('add '))
      : onlyAddsColumns(text, actions)
  if (added.has(FIRST_ROWS.exec(text)?.[1] ?? '')) return true
  return OF_A_NEW_TABLE.some((form) => added.has(form.exec(outer)?.[1] ?? ''))
}

function onlyAddsColumns(text: string, actions: readonly string[]): boolean {
  const columns = new Set<string>()
  for (const action of actions) {
    const nullable = ADDED_NULLABLE.exec(action)?.[1]
    if (nullable) columns.add(nullable)
    else if (!ADDED_WITH_DEFAULT.test(action) && !ADDED_CHECK.test(action)) return false
  }
  const checks = [...text.matchAll(/\bcheck ?(?=\()/g)].map(
    ({ index }) => outermost(text.slice(index)).inside,
  )
  return checks.every((check) =>
    (check.match(/\w+/g) ?? []).every((word) => columns.has(word) || IN_A_CHECK.test(word)),
  )
}

interface Statement {
  readonly text: string
  /** Without what stands in parentheses. */
  readonly outer: string
}

/** Comments, bodies, texts and quoted names. */
const LEXEME =
  /--[^\n]*|\/\*[\s\S]*?\*\/|(?<![\w$])\$(\w*)\$[\s\S]*?\$\1\$|\be'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"/gi

const statementsOf = (sql: string): Statement[] =>
  sql
    .replace(LEXEME, (lexeme) => {
      if (lexeme.startsWith('--') || lexeme.startsWith('/*')) return ' '
      if (lexeme.startsWith('$')) return '$$'
      return lexeme.startsWith('"') ? '"' : "''"
    })
    .toLowerCase()
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '')
    .map((text) => ({ text, outer: outermost(text).outside }))

/** What stands outside of all parentheses, which stay as `()`, and what in the first of them. */
function outermost(text: string): { outside: string; inside: string } {
  let [outside, inside, depth, closed] = ['', '', 0, 0]
  for (const each of text) {
    if (each === ')') depth -= 1
    if (depth === 0) outside += each
    else if (closed === 0) inside += each
    if (each === '(') depth += 1
    if (each === ')' && depth === 0) closed += 1
  }
  return { outside, inside }
}
