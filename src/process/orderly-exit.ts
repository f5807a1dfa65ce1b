/**
 * Node 24 can hang in its own exit: it waits there for compilers in the background, which may wait for the main thread to
 * collect garbage (nodejs/node#54918). Nothing of Beck's is open by then, but whoever waits for the process would wait
 * for ever.
 */
import { setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { onEndSignals } from '../core/signals.ts'

/** How long closing in order may take before the process ends anyway. */
const STOP_LIMIT_MS = 60_000

/** From now on code is compiled on the main thread, or left as it is: for a process that is soon to end. */
export function compileInForeground(): void {
  setFlagsFromString('--no-maglev')
  setFlagsFromString('--no-concurrent-sparkplug')
}

/**
 * Ends the process where it stands: it still holds its folder, so it must not hang on its way out, as Node's own exit can
 * (nodejs/node#54918). Children are told by the hooks before this one.
 */
function endNow(): void {
  process.on('exit', () => process.kill(process.pid, 'SIGKILL'))
  process.exit(1)
}

/**
 * Ties a program to its signals: the first closes in order, another one a second later or more ends the process at once, and
 * so does an error that nothing caught.
 *
 * @param starting - Rejects when the start failed; whoever awaits it says so.
 */
export function endOnSignals(starting: Promise<{ stop(): Promise<void> }>, log: Logger): void {
  const hearNoMore = onEndSignals((signal) => {
    compileInForeground()
    log.info({ signal }, 'closing in order')
    setTimeout(endNow, STOP_LIMIT_MS).unref()
    starting
      .then((beck) => beck.stop())
      .then(() => {
        log.info({}, 'closed')
        // Nothing is held any more. Should the exit hang all the same, the next signal ends it.
        hearNoMore()
        process.exit(0)
      })
      .catch(() => {})
  }, endNow)
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'Beck cannot go on; what it was doing is taken up at the next start')
    endNow()
  })
}
