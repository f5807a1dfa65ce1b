/** Stops a process where it stands, as a machine that hangs does; SIGCONT wakes it. */
import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const LIMIT_MS = 10_000

/** Resolves when every thread stands still: the signal alone leaves them running for a moment. */
export async function suspend(child: ChildProcess): Promise<void> {
  const pid = child.pid ?? assert.fail('a process that was started')
  child.kill('SIGSTOP')
  const deadlineMs = Date.now() + LIMIT_MS
  while (!(await standsStill(pid))) {
    assert.ok(Date.now() < deadlineMs, `process ${pid} did not stop within ${LIMIT_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Whether the kernel holds every thread of a process: stopped by a signal. */
export async function standsStill(pid: number): Promise<boolean> {
  if (process.platform !== 'linux')
    return (await execute('ps', ['-o', 'state=', '-p', String(pid)])).stdout.trim().startsWith('T')
  const threads = await readdir(`/proc/${pid}/task`)
  // The state follows the name, which is in parentheses and may hold any of them.
  const stats = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
  )
  return stats.every((stat) => stat.slice(stat.lastIndexOf(')') + 2).startsWith('T'))
}
