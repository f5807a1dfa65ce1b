/** What the house needs of a logger; pino fits. Fields first, then a sentence. Never a secret in either. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** For tests and tools that should stay quiet. */
export const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }
