/**
 * Watchers and workers of `--role all`, started by `process/background-process.ts`. Each line of standard input names what the API
 * has something for.
 */
import { createInterface } from 'node:readline'
import { readConfig } from './config/config.ts'
import { isQueue } from './flows/gateway.ts'
import { openLog } from './process/log.ts'
import { endOnSignals } from './process/orderly-exit.ts'
import { startBeck } from './start.ts'

const config = readConfig(process.env)
const log = openLog(config.logLevel)
const starting = startBeck(config, 'background', log)
endOnSignals(starting, log)
try {
  const { wake } = await starting
  createInterface(process.stdin).on('line', (line) => {
    if (isQueue(line)) wake(line)
  })
} catch (error) {
  log.error({ err: error }, 'watchers and workers could not be started')
  process.exit(1)
}
