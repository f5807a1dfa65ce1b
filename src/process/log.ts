/** The log: one JSON object a line on standard error. What looks like a secret never gets there, whoever logged it. */
import { destination, type Logger, pino } from 'pino'

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

/** Secrets by their shape: the user and password of a URL, API keys, signing secrets, extended private keys. */
const SECRET_TEXTS: readonly [RegExp, string][] = [
  [/\/\/[^/\s"]*@/g, '//***@'],
  [/bk_(live|test)_[0-9A-Za-z]+/g, 'bk_$1_***'],
  [/whsec_[0-9A-Za-z+/=]+/g, 'whsec_***'],
  [/[a-zA-Z]prv[1-9A-HJ-NP-Za-km-z]{50,}/g, 'xprv***'],
]

/** A line of the log as it may be written. */
export const withoutSecrets = (line: string): string =>
  SECRET_TEXTS.reduce((clean, [shape, censored]) => clean.replace(shape, censored), line)

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
