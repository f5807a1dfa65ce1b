/** Ending processes: asked first, then made to. Nobody waits for ever for a process that does not end. */
import type { ChildProcess } from 'node:child_process'

export const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null || child.pid === undefined

/** A signal, and how long a process has to end by it. */
export type EndingStep = readonly [signal: NodeJS.Signals, limitMs: number]

/** Sends each signal in turn to a process that has not ended by the one before, and SIGKILL after the last. */
export async function endProcess(child: ChildProcess, steps: readonly EndingStep[]): Promise<void> {
  if (hasEnded(child)) return
  const ended = new Promise<true>((resolve) => child.once('exit', () => resolve(true)))
  for (const [signal, limitMs] of steps) {
    child.kill(signal)
    let timer: NodeJS.Timeout | undefined
    const tooLate = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, limitMs, false)
    })
    const hasObeyed = await Promise.race([ended, tooLate])
    clearTimeout(timer)
    if (hasObeyed) return
  }
  child.kill('SIGKILL')
  await ended
}
