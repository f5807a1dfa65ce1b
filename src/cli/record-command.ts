/** Every command that changes something leaves a record of who ran it where, in the transaction of the change. */
import { hostname, userInfo } from 'node:os'
import type { Act } from '../audit/act.ts'
import { recordAct } from '../audit/audit-log.sql.ts'
import type { Tx } from '../db/database.ts'

export type CommandAct = Pick<Act, 'action'> &
  Partial<Pick<Act, 'accountId' | 'subject' | 'before' | 'after'>>

export const recordCommand = (tx: Tx, act: CommandAct): Promise<void> =>
  recordAct(tx, {
    accountId: null,
    subject: null,
    before: null,
    after: null,
    ...act,
    actor: { kind: 'cli', id: userName(), name: null },
    address: whereFrom(),
  })

/** Who is behind `sudo`; a container's user may have no name. */
function userName(): string {
  const user = process.env.SUDO_USER
  if (user) return user
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** The address that somebody came from over SSH, else this machine. */
const whereFrom = (): string => process.env.SSH_CONNECTION?.split(' ')[0] || hostname()
