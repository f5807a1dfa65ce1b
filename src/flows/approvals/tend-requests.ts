/** What becomes of requests besides people's answers: some were never opened, some are over, and people have to be told. */
import { closeOver } from '../../approvals/approval-requests.sql.ts'
import type { Gateway } from '../gateway.ts'
import { askForUnasked } from './ask-for-approval.ts'

/** Money that waits for approvals is asked for, and what is over is closed. @returns How many changed. */
export async function tendRequests({ db }: Pick<Gateway, 'db'>): Promise<number> {
  const asked = await askForUnasked(db)
  const closed = await db.transaction((tx) => closeOver(tx))
  return asked + closed
}
