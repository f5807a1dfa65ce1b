/** Folders of a command's own, for as long as it works: what they hold may be what a backup keeps closed. */
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The folder is gone when the work is done, has failed, or is ended by a signal. */
export async function withScratch<Result>(
  prefix: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  // At the exit, so that those of several folders all come to it.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const end = (signal: (typeof SIGNALS)[number]) => process.exit(128 + constants.signals[signal])
  process.on('exit', remove)
  for (const signal of SIGNALS) process.on(signal, end)
  try {
    return await work(folder)
  } finally {
    for (const signal of SIGNALS) process.off(signal, end)
    process.off('exit', remove)
    await rm(folder, { recursive: true, force: true })
  }
}
