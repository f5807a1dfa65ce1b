/**
 * Work that would keep the event loop from answering, on a thread of its own: started by the first piece of work, ended
 * when none came for a while (a thread that waits costs megabytes), and started again after a failure.
 */
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

/** @param script - Calls {@link serveThread}. */
export function openThread<Input, Output>(script: URL, idleMs = IDLE_MS): Thread<Input, Output> {
  let worker: Worker | null = null
  let idle: NodeJS.Timeout | undefined
  const pending: Pending[] = []

  const lose = (lost: Worker, error: Error) => {
    if (worker === lost) worker = null
    for (const each of pending.splice(0)) each.reject(error)
  }
  const start = (): Worker => {
    const started = new Worker(script)
    started.on('message', (answer: { output: unknown } | { error: string }) => {
      const first = pending.shift()
      if ('error' in answer) first?.reject(new Error(answer.error))
      else first?.resolve(answer.output)
      if (pending.length > 0) return
      // A process that has nothing else to do may end.
      started.unref()
      idle = setTimeout(() => end(started), idleMs).unref()
    })
    started.on('error', (error) => lose(started, error instanceof Error ? error : new Error(String(error))))
    started.on('exit', () => lose(started, new Error(`the thread of ${script.pathname} ended`)))
    return started
  }
  const end = async (ended: Worker | null) => {
    if (worker === ended) worker = null
    await ended?.terminate()
  }

  return {
    run: (input) =>
      new Promise<Output>((resolve, reject) => {
        clearTimeout(idle)
        worker ??= start()
        worker.ref()
        pending.push({ resolve: (output) => resolve(output as Output), reject })
        worker.postMessage(input)
      }),
    async close() {
      clearTimeout(idle)
      await end(worker)
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
