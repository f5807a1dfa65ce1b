/** Whether what Beck says is kept in a journal. */
import { fstatSync } from 'node:fs'

const STANDARD_OUTPUT = 1

/** As systemd.exec(5) says: JOURNAL_STREAM names the journal by device and inode, and another output has others. */
export function speaksToJournal(env: NodeJS.ProcessEnv = process.env, descriptor = STANDARD_OUTPUT): boolean {
  if (!env.JOURNAL_STREAM) return false
  const { dev, ino } = fstatSync(descriptor, { bigint: true })
  return env.JOURNAL_STREAM === `${dev}:${ino}`
}
