/**
 * The way to PostgreSQL: a pool, and transactions that survive what a database does to its clients.
 * Works behind a transaction pooler: no session state, no LISTEN, and prepared statements only where they hold.
 */
import pg from 'pg'
import { invariant, OutsideFailure } from '../core/errors.ts'
import { type Backoff, backoffMs, pause } from '../core/pause.ts'
import {
  failureOf,
  failureOfTransaction,
  isConflict,
  isConnectionLoss,
  isLockedOut,
  isOfBrokenConnection,
  isReadOnlySession,
  leavesInDoubt,
  outcomeUnknown,
  sqlState,
} from './failures.ts'
import { openGathered } from './gathered.ts'
import { CONNECT_MS_MAX, isOfNoConnection, unlessSilent } from './no-connection.ts'
import { CARRIER, type RowCarrier } from './row-statements.ts'
import { run, runAlone } from './run-statement.ts'
import { openStatementNames, type StatementNames } from './statement-names.ts'

const NUMERIC_OID = 1700
const INT8_OID = 20

/** Whole numbers of any size arrive as bigint. Every numeric column of the schema has scale 0. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === NUMERIC_OID || oid === INT8_OID
      ? BigInt
      : pg.types.getTypeParser(oid, format)) as pg.CustomTypesConfig['getTypeParser'],
}

/** The pool for single reads, a transaction for everything else. */
export interface Queryable {
  /**
   * @param hot - `'prepared'` for a statement that runs all the time: each connection parses and plans it once. Its text
   *   is a constant, for PostgreSQL keeps every text it ever saw so.
   */
  query<Row>(
    text: string,
    values?: readonly unknown[],
    hot?: 'prepared',
  ): Promise<{ rows: Row[]; rowCount: number }>
}

/** A running transaction. Functions that write take this type, so that nobody writes outside of one by accident. */
export interface Tx extends Queryable {
  readonly inTransaction: true
}

export interface TransactionOptions<Result> {
  /**
   * Asked when the connection broke during COMMIT, so that nobody knows whether it happened, and after every attempt from then on:
   * re-reads a unique key and returns the result, or undefined when nothing is committed. The work runs again then, and must claim
   * the same key: PostgreSQL may still be at the attempt that broke off.
   */
  readonly ifCommitted?: (db: Queryable) => Promise<Result | undefined>
  /**
   * The work is one statement, which needs no BEGIN and no COMMIT: one round trip. What else it reads, it reads through
   * the database. A second statement is refused.
   */
  readonly oneStatement?: true
  /**
   * Of a transaction of one statement over rows: those of one group that run at the same moment may travel as one, and each
   * has its own outcome all the same.
   */
  readonly group?: string
  /** How long each statement may take, in milliseconds, before PostgreSQL ends it (SQLSTATE 57014); for ever when absent. */
  readonly statementLimitMs?: number
}

export interface Database extends Queryable {
  /**
   * Runs `work` in one READ COMMITTED transaction. Serialization failures, deadlocks and connections lost
   * before COMMIT run the whole work again (so it must have no effect outside the transaction), up to five times.
   *
   * @throws {OutsideFailure} `retryable` when PostgreSQL stays unreachable, or others stay in the way.
   * @throws {OutcomeUnknown} when the connection broke during COMMIT and no `ifCommitted` was given, or the database was away after
   *   it for as long as was tried.
   */
  transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    options?: TransactionOptions<Result>,
  ): Promise<Result>
  /**
   * For reads of one group (an account's) outside of a transaction: those over rows that are asked for at the same moment go as one.
   */
  gathering(group: string): Queryable
  /** Of its pool, now. */
  connections(): Connections
  close(): Promise<void>
}

export interface Connections {
  readonly busy: number
  readonly idle: number
  /** Work that waits for one. */
  readonly waiting: number
}

const ATTEMPTS_MAX = 5
const RETRY_PAUSE: Backoff = { firstMs: 20, maxMs: 1_000 }
/** A database that starts again is there within seconds, and only it knows what was committed: so long is looked, and sent again. */
const DOUBT_MS_MAX = 10_000
const LOOK_PAUSE: Backoff = { firstMs: 100, maxMs: 2_000 }
/** Of silence, until the other side is asked, ten times, whether it is there; Linux alone asks whoever vanished after two hours. */
const KEEP_ALIVE_MS = 5_000
/** A process that freezes in a transaction gives its locks back, undone. Said per transaction: a pooler's session is not ours to set. */
const BEGIN = "begin; set local idle_in_transaction_session_timeout = '10s'"

export interface DatabaseOptions {
  readonly url: string
  readonly connectionsMax?: number
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string
  /** Looks at each new connection before it is used; what it throws refuses it. */
  readonly verify?: (connection: Queryable) => Promise<void>
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax ?? 10,
    application_name: options.applicationName ?? 'beck',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types,
    // Not the pool's `verify`: whom it is given to may have been told by then that none was free, and its statement would be sent after all.
    ...(options.verify ? { onConnect: verifier(options.verify) } : {}),
  })
  // One that breaks while idle is dropped by the pool. On its way to its work it is nobody's: it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const names = openStatementNames(pool)
  const gathered = openGathered({
    run: async ({ text, hot }, values) => (await runAlone({ names, pool }, text, values, hot)).rows,
    leavesOpen: isConnectionLoss,
  })
  const server: Server = { pool, url: options.url, names, gathered }
  const { query } = reader(server)
  const gatheredReads = openGathered({
    // A connection that breaks costs no more than when each read by itself: they are asked for once more.
    run: async ({ text, hot }, values) => {
      const read = () => query(text, values, hot)
      const { rows } = await read().catch((error) =>
        isOfBrokenConnection(error) ? read() : Promise.reject(error),
      )
      return rows
    },
    // What went wrong with many of them is not of one: a database that is away is not asked for each.
    leavesOpen: (error) => error instanceof OutsideFailure,
  })

  return {
    query,
    gathering: (group) => Object.assign({ query }, { [CARRIER]: gatheredReads(group) }),
    transaction: (work, transactionOptions) => transact(server, work, transactionOptions ?? {}),
    connections: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

const verifier = (verify: (connection: Queryable) => Promise<void>) => (client: pg.ClientBase) =>
  unlessSilent(
    verify({
      async query<Row>(text: string, values: readonly unknown[] = []) {
        const { rows, rowCount } = await client.query(text, [...values])
        return { rows: rows as Row[], rowCount: rowCount ?? 0 }
      },
    }),
  )

interface Server {
  readonly pool: pg.Pool
  readonly url: string
  readonly names: StatementNames
  readonly gathered: (group: string) => RowCarrier
}

async function transact<Result>(
  server: Server,
  work: (tx: Tx) => Promise<Result>,
  options: TransactionOptions<Result>,
): Promise<Result> {
  let doubtEndsAt: number | null = null
  for (let attempt = 1; ; attempt++) {
    const outcome = await (options.oneStatement
      ? attemptStatement(server, work, options.group)
      : attemptOnce(server, work, options.statementLimitMs))
    if (outcome.kind === 'done') return outcome.result
    const { kind, cause } = outcome
    if (kind === 'commit_unknown') doubtEndsAt ??= performance.now() + DOUBT_MS_MAX
    if (doubtEndsAt !== null) {
      // Also behind a later attempt: what PostgreSQL still worked on when the connection broke may have come first.
      const found = await lookWhetherCommitted(server, options, cause, doubtEndsAt)
      if (found !== undefined) return found
    }
    if (kind === 'failed' || attempt >= ATTEMPTS_MAX || isLockedOut(cause)) {
      if (doubtEndsAt !== null && leavesInDoubt(cause)) throw outcomeUnknown(cause)
      throw kind === 'failed' ? cause : failureOfTransaction(server.url, cause, ATTEMPTS_MAX)
    }
    await pauseAfter(attempt, RETRY_PAUSE)
  }
}

const pauseAfter = (attempt: number, backoff: Backoff): Promise<void> =>
  pause(backoffMs(attempt, backoff) * (0.5 + Math.random()))

/** @throws {OutcomeUnknown} when nobody can look, or the database is still away. */
async function lookWhetherCommitted<Result>(
  server: Server,
  { ifCommitted }: TransactionOptions<Result>,
  cause: unknown,
  endsAt: number,
): Promise<Result | undefined> {
  if (!ifCommitted) throw outcomeUnknown(cause)
  for (let attempt = 1; ; attempt++) {
    let failure: unknown = null
    const looking: Queryable = {
      async query(...statement) {
        try {
          return await reader(server).query(...statement)
        } catch (error) {
          failure = error
          throw error
        }
      },
    }
    try {
      const found = await ifCommitted(looking)
      if (found !== undefined || performance.now() < endsAt) return found
    } catch (error) {
      // Whoever looked found something, and refuses it.
      if (failure === null) throw error
    }
    if (performance.now() >= endsAt) throw outcomeUnknown(failure ?? cause)
    await pauseAfter(attempt, LOOK_PAUSE)
  }
}

/** Outside of transactions, and for a second look at what became of one: the database may still be away. */
const reader = (server: Server): Queryable => ({
  async query<Row>(text: string, values?: readonly unknown[], hot?: 'prepared') {
    try {
      return await runAlone<Row>(server, text, values, hot)
    } catch (cause) {
      // Nothing of it was executed: the connection it came to did not know the name.
      if (hot && server.names.forgetsAfter(sqlState(cause))) return await runAlone<Row>(server, text, values)
      throw failureOf(server.url, cause)
    }
  },
})

type Attempt<Result> =
  | { kind: 'done'; result: Result }
  | { kind: 'retry' | 'commit_unknown' | 'failed'; cause: unknown }

async function attemptOnce<Result>(
  server: Server,
  work: (tx: Tx) => Promise<Result>,
  statementLimitMs: number | undefined,
): Promise<Attempt<Result>> {
  let client: pg.PoolClient
  try {
    client = await server.pool.connect()
  } catch (cause) {
    return { kind: 'retry', cause }
  }
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  let committing = false
  let lost = false
  let isStale = false
  try {
    const limit = statementLimitMs === undefined ? '' : `; set local statement_timeout = ${statementLimitMs}`
    await client.query(BEGIN + limit)
    const result = await work({
      inTransaction: true,
      query: (text, values, hot) => run(server, client, text, values, hot),
    })
    committing = true
    const { command } = await client.query('commit')
    // Otherwise somebody caught a failure of PostgreSQL's and went on, and nothing is written.
    invariant(command === 'COMMIT', 'a transaction that had failed was taken for a good one')
    return { kind: 'done', result }
  } catch (cause) {
    lost = broken !== undefined || isConnectionLoss(cause)
    isStale = isReadOnlySession(cause)
    if (lost) return committing ? { kind: 'commit_unknown', cause } : { kind: 'retry', cause }
    await client.query('rollback').catch(() => {})
    return { kind: isRetryable(server, cause) ? 'retry' : 'failed', cause }
  } finally {
    client.off('error', onError)
    client.release(broken ?? (lost || isStale))
  }
}

/** As {@link attemptOnce}, where the statement is the transaction: whether it was committed is unknown once it is sent. */
async function attemptStatement<Result>(
  server: Server,
  work: (tx: Tx) => Promise<Result>,
  group: string | undefined,
): Promise<Attempt<Result>> {
  let sent = false
  const once = () => {
    invariant(!sent, 'a transaction of one statement has no second one')
    sent = true
  }
  const tx: Tx = {
    inTransaction: true,
    query: (text, values, hot) => {
      once()
      return runAlone(server, text, values, hot)
    },
  }
  const carrier = group === undefined ? null : server.gathered(group)
  const carried: RowCarrier | null = carrier && {
    run(statement, rows) {
      once()
      return carrier.run(statement, rows)
    },
  }
  try {
    const result = await work(carried ? Object.assign(tx, { [CARRIER]: carried }) : tx)
    return { kind: 'done', result }
  } catch (cause) {
    if (isConnectionLoss(cause))
      return { kind: sent && !isOfNoConnection(cause) ? 'commit_unknown' : 'retry', cause }
    return { kind: isRetryable(server, cause) ? 'retry' : 'failed', cause }
  }
}

function isRetryable({ names }: Server, cause: unknown): boolean {
  return isConflict(cause) || names.forgetsAfter(sqlState(cause))
}
