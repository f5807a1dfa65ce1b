/**
 * Names for prepared statements, where the way to PostgreSQL keeps what was prepared: a connection of one's own, or a
 * pooler that prepares again wherever a statement comes to (PgBouncer from 1.21 on, if `max_prepared_statements` is not
 * 0). Behind any other pooler the next transaction may meet a connection that never heard of the name, so there statements
 * stay unnamed.
 */
import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'
import { onConnection } from './on-connection.ts'
import {
  DUPLICATE_PREPARED_STATEMENT,
  FEATURE_NOT_SUPPORTED,
  INVALID_SQL_STATEMENT_NAME,
} from './sqlstate.ts'

export interface StatementNames {
  /** How a text is sent under a name; undefined while names are not known to hold, or known not to. */
  of(text: string): NamedStatement | undefined
  /** Whether an error says that a connection has other statements than its names say. For a time there are no names then. */
  forgetsAfter(sqlState: string | null): boolean
}

export interface NamedStatement {
  readonly name: string
  readonly text: string
}

/** The connection does not know the name, knows another text by it, or knows it with columns that a migration changed. */
const NAME_TROUBLE = new Set<string | null>([
  INVALID_SQL_STATEMENT_NAME,
  DUPLICATE_PREPARED_STATEMENT,
  FEATURE_NOT_SUPPORTED,
])
/** So long statements go without names after the first trouble; twice as long after each further one. */
const PAUSE_MS = 60_000

export function openStatementNames(pool: pg.Pool): StatementNames {
  const named = new Map<string, NamedStatement>()
  let state: 'unknown' | 'asking' | 'hold' | 'do not hold' = 'unknown'
  let troubles = 0
  let askAt = 0
  const ask = async () => {
    state = 'asking'
    const answer = await namesHold(pool).catch(() => null)
    if (answer === null) state = 'unknown'
    else state = answer ? 'hold' : 'do not hold'
  }
  return {
    of(text) {
      if (state === 'unknown' && performance.now() >= askAt) void ask()
      if (state !== 'hold') return undefined
      const known = named.get(text)
      if (known) return known
      const statement = nameOf(text, troubles)
      named.set(text, statement)
      return statement
    },
    forgetsAfter(sqlState) {
      if (!NAME_TROUBLE.has(sqlState)) return false
      // What was sent under a name before is late with its error.
      if (state !== 'hold') return troubles > 0
      state = 'unknown'
      askAt = performance.now() + PAUSE_MS * 2 ** troubles
      troubles += 1
      named.clear()
      return true
    },
  }
}

/**
 * By the text, so that two versions of Beck behind one pooler never mean different texts by one name. After a trouble the
 * text differs by a comment, so that every connection prepares anew: it keeps what it has under the old name, and PgBouncer
 * knows a statement by its text whatever the name.
 */
function nameOf(text: string, troubles: number): NamedStatement {
  const sent = troubles === 0 ? text : `${text}\n/* ${troubles} */`
  return { name: `beck_${createHash('sha256').update(sent).digest('hex').slice(0, 24)}`, text: sent }
}

/**
 * Without a pooler, the process that PostgreSQL named when the connection was made is the one that answers. A pooler
 * that keeps track of names gives the statement another one on its own connection to PostgreSQL.
 */
const namesHold = (pool: pg.Pool): Promise<boolean> =>
  onConnection(pool, async (client) => {
    const name = `beck_asks_${randomBytes(8).toString('hex')}`
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    if ('processID' in client && client.processID === rows[0]?.pid) return true
    await client.query('begin')
    try {
      await client.query({ name, text: `select '${name}'` })
      const seen = await client.query<{ name: string }>(
        'select name from pg_prepared_statements where statement = $1',
        [`select '${name}'`],
      )
      const kept = seen.rows.some((row) => row.name === name)
      if (kept) await client.query(`deallocate ${name}`)
      return seen.rows.length > 0 && !kept
    } finally {
      await client.query('rollback')
    }
  })
