/**
 * Ends test files whose process goes no further, and says which.
 *
 * Node gives a limit to each test, none to a file's process. One that waits at its top level, keeps a timer after its
 * last test, or deadlocks in Node's own shutdown (nodejs/node#54918) would hold up the run for ever and in silence.
 */
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

export const RUNNING_FILES_VARIABLE = 'BECK_TEST_RUNNING_FILES'
/** Ends the names of entries whose tests are over. */
export const EXITING = '.exiting'

/** After its `exit` event a process has nothing left to do. */
const EXIT_LIMIT_MS = 20_000
const CHECK_EVERY_MS = 1_000

/** Looks until stopped. `silenceMs` is what may lie between two tests that end in a file; `tell` takes a line for people. */
export function endStuckFiles(folder: string, silenceMs: number, tell: (line: string) => void): () => void {
  const timer = setInterval(() => {
    void endThem(folder, silenceMs, tell)
  }, CHECK_EVERY_MS)
  return () => clearInterval(timer)
}

async function endThem(folder: string, silenceMs: number, tell: (line: string) => void): Promise<void> {
  for (const name of await readdir(folder)) {
    const entry = join(folder, name)
    const pid = Number.parseInt(name, 10)
    const written = await stat(entry).catch(() => null)
    if (!written) continue
    const ageMs = Date.now() - written.mtimeMs
    const limitMs = name.endsWith(EXITING) ? EXIT_LIMIT_MS : silenceMs
    if (ageMs < limitMs && isRunning(pid)) continue
    const file = await readFile(entry, 'utf8').catch(() => '')
    await rm(entry, { force: true })
    if (!isRunning(pid)) continue
    tell(
      name.endsWith(EXITING)
        ? `${file}: its tests are over, but its process does not end; it is killed`
        : `${file}: no test of it has ended for ${Math.round(ageMs / 1_000)} s; it is killed`,
    )
    process.kill(pid, 'SIGKILL')
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
