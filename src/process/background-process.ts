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
  /** Once is enough. They look at all there is to do then. */
  start(): void
  /** Before they are started nobody hears it. */
  wake(queue: Queue): void
  stop(): Promise<void>
}

/** Runs them from `start` until `stop`, and starts them again when they end by themselves. */
export function openBackground(store: Store, log: Log): Background {
  let running: WatchedChild | null = null
  let supervised: ReturnType<typeof superviseChild> | null = null
  const run = () => {
    running = startChild(PROGRAM, [], {
      env: childEnvironment(store, store.url),
      stdio: ['pipe', 'inherit', 'inherit'],
      detached: true,
    })
    running.process.stdin?.on('error', () => {})
    return running
  }
  return {
    start() {
      supervised ??= superviseChild('the process of watchers and workers', run, log)
    },
    wake(queue) {
      const told = running?.process.stdin
      if (told?.writable && told.writableLength < UNREAD_BYTES_MAX) told.write(`${queue}\n`)
    },
    async stop() {
      await supervised?.stop()
    },
  }
}
