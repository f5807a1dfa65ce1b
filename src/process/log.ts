/** The log: one JSON object a line on standard error. What looks like a secret never gets there, whoever logged it. */
import { destination, type Logger, pino } from 'pino'
import { withoutSecrets } from '../core/without-secrets.ts'

/** Fields that hold secrets by their name. */
const SECRET_FIELDS = [
  'key',
  'apiKey',
  'privateKey',
  'password',
  'passphrase',
  'secret',
  'token',
  'authorization',
  'cookie',
  'rpcUrl',
  'wsUrl',
  'databaseUrl',
  'redisUrl',
  'secretKey',
  'mnemonic',
  'words',
  'entropy',
  'seed',
  'xprv',
]

export function openLog(level: string, write?: (line: string) => void): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
        censor: '***',
      },
      hooks: { streamWrite: withoutSecrets },
    },
    write ? { write } : destination({ fd: 2, sync: true }),
  )
}
