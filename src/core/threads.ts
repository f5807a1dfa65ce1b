/**
 * Work that would keep the event loop from answering, on a thread of its own: started by the first piece of work, ended
 * when none came for a while (a thread that waits costs megabytes), and started again after a failure.
 */
import { readlinkSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { parentPort, Worker } from 'node:worker_threads'

export interface Thread<Input, Output> {
  /**
   * One piece after another. Input and output are copied, so they are plain data; bytes arrive as `Uint8Array`.
   *
   * @throws What the work threw, as a plain `Error` with its message.
   */
  run(input: Input): Promise<Output>
  /** Ends the thread at once; what it was working on rejects. */
  close(): Promise<void>
}

const IDLE_MS = 10_000

interface Pending {
  resolve(output: unknown): void
  reject(error: Error): void
}

interface Running {
  readonly worker: Worker
  /** What it was given and has not answered, oldest first. */
  readonly pending: Pending[]
  idle?: NodeJS.Timeout
}

/** @param script - Calls {@link serveThread}. */
export function openThread<Input, Output>(script: URL, idleMs = IDLE_MS): Thread<Input, Output> {
  let running: Running | null = null

  const end = async (ended: Running, error: Error) => {
    if (running === ended) running = null
    clearTimeout(ended.idle)
    for (const each of ended.pending.splice(0)) each.reject(error)
    await ended.worker.terminate()
  }
  const start = (): Running => {
    const worker = new Worker(script)
    const started: Running = { worker, pending: [] }
    const lost = new Error('the thread ended before it answered')
    worker.on('message', (answer: { output: unknown } | { error: string }) => {
      // Under `node --watch` a thread also tells which files it loaded: no answer to anything.
      if (!('output' in answer || 'error' in answer)) return
      const first = started.pending.shift()
      if ('error' in answer) first?.reject(new Error(answer.error))
      else first?.resolve(answer.output)
      if (started.pending.length > 0) return
      // A process that has nothing else to do may end.
      worker.unref()
      started.idle = setTimeout(() => end(started, lost), idleMs).unref()
    })
    worker.on('error', (error) => end(started, error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => end(started, lost))
    return started
  }

  return {
    run: (input) =>
      new Promise<Output>((resolve, reject) => {
        running ??= start()
        clearTimeout(running.idle)
        running.worker.ref()
        running.pending.push({ resolve: (output) => resolve(output as Output), reject })
        running.worker.postMessage(input)
      }),
    async close() {
      if (running) await end(running, new Error('the thread was closed'))
    },
  }
}

/** The other side: answers each piece of work in the order they came. */
export function serveThread<Input, Output>(work: (input: Input) => Output | Promise<Output>): void {
  let last: Promise<void> = Promise.resolve()
  parentPort?.on('message', (input: Input) => {
    last = last.then(async () => {
      try {
        parentPort?.postMessage({ output: await work(input) })
      } catch (error) {
        parentPort?.postMessage({ error: error instanceof Error ? error.message : String(error) })
      }
    })
  })
}

/**
 * The calling thread, and no other of the process, goes behind: beside one that wants all of a processor it gets a tenth of
 * it. Where that is not allowed, it goes on as it was.
 */
export function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    // `<process>/task/<thread>`: what Linux gives a priority to.
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // A sandbox without /proc, or one that forbids it.
  }
}
