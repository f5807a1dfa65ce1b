/**
 * Of `--role all`, the watchers and workers: a process of their own, so that no request waits for a block and no block for
 * requests.
 */
import { fileURLToPath } from 'node:url'
import type { Store } from '../config/store.ts'
import type { Log } from '../core/log.ts'
import type { Queue } from '../flows/gateway.ts'
import { childEnvironment } from './child-environment.ts'
import { startChild, superviseChild, type WatchedChild } from './watched-child.ts'

const PROGRAM = fileURLToPath(new URL('../background.ts', import.meta.url))
/** A child that stands still is told nothing more: waking is a hint. */
const UNREAD_BYTES_MAX = 1_024

export interface Background {
  wake(queue: Queue): void
  stop(): Promise<void>
}

/** Runs them until `stop`, and starts them again when they end by themselves. */
export function superviseBackground(store: Store, log: Log): Background {
  let running: WatchedChild | null = null
  const supervised = superviseChild(
    'the process of watchers and workers',
    () => {
      running = startChild(PROGRAM, [], {
        env: childEnvironment(store, store.url),
        stdio: ['pipe', 'inherit', 'inherit'],
        detached: true,
      })
      running.process.stdin?.on('error', () => {})
      return running
    },
    log,
  )
  return {
    wake(queue) {
      const told = running?.process.stdin
      if (told?.writable && told.writableLength < UNREAD_BYTES_MAX) told.write(`${queue}\n`)
    },
    stop: () => supervised.stop(),
  }
}
