/**
 * Names for prepared statements, where the way to PostgreSQL keeps what was prepared: a connection of one's own, or a
 * pooler that prepares again wherever a statement comes to (PgBouncer from 1.21 on). Behind any other pooler the next
 * transaction may meet a connection that never heard of the name, so there statements stay unnamed.
 */
import { createHash, randomBytes } from 'node:crypto'
import type pg from 'pg'

export interface StatementNames {
  /** The name of a text; undefined while it is not known, or known not to hold. */
  of(text: string): string | undefined
  /** Whether an error says that names do not hold after all. From then on there are none. */
  forgetsAfter(sqlState: string | null): boolean
}

/** The connection does not know the name, knows another text by it, or knows it with columns that a migration changed. */
const NAME_TROUBLE = new Set(['26000', '42P05', '0A000'])

export function openStatementNames(pool: pg.Pool): StatementNames {
  const names = new Map<string, string>()
  let holds: boolean | 'unknown' | 'asking' = 'unknown'
  const ask = async () => {
    holds = 'asking'
    const answer = await namesHold(pool).catch(() => 'unknown' as const)
    if (holds === 'asking') holds = answer
  }
  return {
    of(text) {
      if (holds === 'unknown') void ask()
      if (holds !== true) return undefined
      const known = names.get(text)
      if (known) return known
      // By the text, so that two versions of Beck behind one pooler never mean different texts by one name.
      const name = `beck_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
      names.set(text, name)
      return name
    },
    forgetsAfter(sqlState) {
      if (typeof holds === 'string' || !NAME_TROUBLE.has(sqlState ?? '')) return false
      holds = false
      return true
    },
  }
}

/**
 * Without a pooler, the process that PostgreSQL named when the connection was made is the one that answers. A pooler
 * that keeps track of names gives the statement another one on its own connection to PostgreSQL.
 */
async function namesHold(pool: pg.Pool): Promise<boolean> {
  const client = await pool.connect()
  try {
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
  } finally {
    client.release()
  }
}
