/** What can not be done is set aside for a minute: others have their turn meanwhile. */
import { MINUTE_MS } from './time.ts'

const ASIDE_MS = MINUTE_MS

/** By when each is tried again, by `performance.now()`. */
export type Aside<Id> = Map<Id, number>

export function setAside<Id>(aside: Aside<Id>, id: Id): void {
  aside.set(id, performance.now() + ASIDE_MS)
}

/** Those that are not to be tried yet. */
export function listAside<Id>(aside: Aside<Id>): Id[] {
  for (const [id, untilMs] of aside) if (untilMs < performance.now()) aside.delete(id)
  return [...aside.keys()]
}
