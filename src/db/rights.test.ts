/**
 * The rights of server and signer against the statements in `src/`: none that a program makes is without its right, and no
 * right is without a statement. What the command line alone runs does not count, for it comes as the owner.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Computed, type Need, needsOf, type Text, textsOf } from '../../test/statements.ts'
import { readMigrations } from './migrate.ts'
import { type Rights, SERVER_RIGHTS, SIGNER_RIGHTS } from './rights.ts'

const SERVER = ['src/start.ts', 'src/main.ts', 'src/background.ts', 'src/wallets/derive.thread.ts']
const SIGNER = ['src/signer/main.ts']

/** Declarations that put a name into their text. */
const COMPUTED: Computed = new Map<string, Omit<Need, 'of'>[]>([
  [
    'src/users/credentials.sql.ts:dropHandedOver',
    ['passkeys', 'totp', 'recovery_codes'].map(
      (table) => ({ table, right: 'delete', column: null }) as const,
    ),
  ],
  [
    'src/users/merchants.sql.ts:setMerchantAccount',
    ['live_account_id', 'test_account_id'].map((column) => ({ table: 'merchants', right: 'update', column })),
  ],
])

/** Reached by the server, and run by a command alone. */
const COMMANDS = new Set(['wallets.update.next_change in src/wallets/address-pool.sql.ts:withholdFresh'])

const schema = (await readMigrations()).map(({ sql }) => sql).join('\n')
const tables = new Set(
  [...schema.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name = '']) => name),
)
const bodies = new Map(
  [
    ...schema.matchAll(
      /^create function (\w+)\([\s\S]*?(?:\$\$([\s\S]*?)\$\$|begin atomic([\s\S]*?)^end;)/gm,
    ),
  ].map(([, name = '', plpgsql, sql]) => [name, plpgsql ?? sql ?? '']),
)
const triggers = [
  ...schema.matchAll(
    /^create (?:constraint )?trigger \w+ (?:before|after) (.*?) on (\w+)[\s\S]*?execute function (\w+)/gm,
  ),
].map(([, events = '', table = '', name = '']) => ({ events, table, name }))

/** A program's needs, with those of the functions that it calls and of the triggers that it sets off. */
function needs(roots: readonly string[]): Need[] {
  const texts = textsOf(roots)
  const own = needsOf(texts, tables, COMPUTED)
  const called = [...bodies].filter(
    ([name]) =>
      texts.some(({ text }) => text.includes(`${name}(`)) ||
      triggers.some(
        (trigger) =>
          trigger.name === name &&
          own.some(({ table, right }) => table === trigger.table && trigger.events.includes(right)),
      ),
  )
  const inside: Text[] = called.map(([name, text]) => ({ of: `the function ${name}`, text }))
  return [...own, ...needsOf(inside, tables, COMPUTED)].filter((need) => !COMMANDS.has(written(need)))
}

const written = ({ table, right, column, of }: Need): string =>
  `${table}.${right}${column === null ? '' : `.${column}`} in ${of}`

interface Right {
  readonly right: string
  /** Null for the whole table. */
  readonly columns: readonly string[] | null
}

const rightsOf = (rights: Rights): Right[] =>
  rights.map((text) => {
    const [, right = '', columns] = /^(\w+)(?: \((.*)\))?$/.exec(text) ?? assert.fail(text)
    return { right, columns: columns?.split(', ') ?? null }
  })

const allows = ({ right, columns }: Right, need: Need): boolean =>
  right === need.right &&
  (columns === null || need.right === 'select' || need.column === null || columns.includes(need.column))

for (const [program, roots, given] of [
  ['server', SERVER, SERVER_RIGHTS],
  ['signer', SIGNER, SIGNER_RIGHTS],
] as const) {
  const needed = needs(roots)

  test(`no statement of the ${program} is without its right`, () => {
    assert.deepEqual(
      needed
        .filter((need) => !rightsOf(given[need.table] ?? []).some((right) => allows(right, need)))
        .map(written),
      [],
    )
  })

  test(`no right of the ${program} is without a statement`, () => {
    const unused = Object.entries(given).flatMap(([table, rights]) =>
      rightsOf(rights).flatMap(({ right, columns }) => {
        const uses = needed.filter((need) => need.table === table && need.right === right)
        if (uses.length === 0) return [`${table}: ${right}`]
        if (columns === null || right === 'select') return []
        return columns
          .filter((column) => !uses.some((use) => use.column === column || use.column === '*'))
          .map((column) => `${table}: ${right} of ${column}`)
      }),
    )
    // Which migrations ran is asked before any statement is.
    assert.deepEqual(unused, ['schema_migrations: select'])
  })
}
