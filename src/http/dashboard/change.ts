/** A change by a person: one transaction, with what he did in the audit log beside it. */
import type { Facts } from '../../audit/act.ts'
import { invariant } from '../../core/errors.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import { recordActOf } from '../../flows/people/person.ts'
import type { ListCall } from './row.ts'

export interface Done {
  /** `noun.verb`, as the API's rows name it. */
  readonly action: string
  readonly subject: string | null
  /** Whose log has it, where that is not the account of the page. */
  readonly accountId?: AccountId
  readonly before?: Facts | null
  readonly after?: Facts | null
}

export function change<Result>(
  call: ListCall,
  work: (tx: Tx, record: (done: Done) => void) => Promise<Result>,
): Promise<Result> {
  return call.gateway.db.transaction(async (tx) => {
    const acts: Done[] = []
    const result = await work(tx, (done) => void acts.push(done))
    invariant(acts.length > 0, `${call.request.routeOptions.url} left no record`)
    for (const done of acts)
      await recordActOf(tx, call.person, { accountId: call.place?.account.id ?? null, ...done })
    return result
  })
}
