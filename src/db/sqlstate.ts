/**
 * SQLSTATEs by the names of their conditions: PostgreSQL's own, but for the last.
 *
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export const FEATURE_NOT_SUPPORTED = '0A000'
export const FOREIGN_KEY_VIOLATION = '23503'
export const UNIQUE_VIOLATION = '23505'
export const CHECK_VIOLATION = '23514'
export const READ_ONLY_SQL_TRANSACTION = '25006'
export const IDLE_IN_TRANSACTION_SESSION_TIMEOUT = '25P03'
export const INVALID_SQL_STATEMENT_NAME = '26000'
export const INVALID_AUTHORIZATION_SPECIFICATION = '28000'
export const INVALID_PASSWORD = '28P01'
export const INVALID_CATALOG_NAME = '3D000'
export const SERIALIZATION_FAILURE = '40001'
export const DEADLOCK_DETECTED = '40P01'
export const INSUFFICIENT_PRIVILEGE = '42501'
export const DUPLICATE_PREPARED_STATEMENT = '42P05'
export const DUPLICATE_TABLE = '42P07'
export const INSUFFICIENT_RESOURCES = '53000'
export const DISK_FULL = '53100'
export const OUT_OF_MEMORY = '53200'
export const TOO_MANY_CONNECTIONS = '53300'
export const CONFIGURATION_LIMIT_EXCEEDED = '53400'
export const LOCK_NOT_AVAILABLE = '55P03'
export const QUERY_CANCELED = '57014'
export const ADMIN_SHUTDOWN = '57P01'
export const CRASH_SHUTDOWN = '57P02'
export const CANNOT_CONNECT_NOW = '57P03'
export const IO_ERROR = '58030'

/** The first two characters of a SQLSTATE: its class. */
export const CLASSES = {
  CONNECTION_EXCEPTION: '08',
  DATA_EXCEPTION: '22',
  INTEGRITY_CONSTRAINT_VIOLATION: '23',
} as const

/** Beck's own, raised by `refuse_closed`: something new was to be made for a closed account. */
export const ACCOUNT_CLOSED = 'BKCLS'
