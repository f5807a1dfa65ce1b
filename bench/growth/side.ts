/** One Beck of the growth bench: how large it is, and how it is asked. */
import type { AccountId } from '../../src/core/ids.ts'
import type { Database } from '../../src/db/database.ts'
import type { StartedBeck } from '../started-beck.ts'

export interface Side {
  readonly name: string
  readonly db: Database
  readonly payments: number
  readonly accountId: AccountId
  readonly key: string
  /** Of webhooks; it hears of nothing that happens here. */
  readonly endpointId: string
  readonly env: NodeJS.ProcessEnv
}
export interface Running extends Side {
  readonly beck: StartedBeck
  /** What the API answered that it made. */
  made: number
}
