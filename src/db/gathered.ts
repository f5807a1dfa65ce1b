/**
 * Transactions of one statement that run at the same moment travel as one: PostgreSQL plans, writes its log and answers once
 * for all of them. Nobody waits for others to come: what is there goes, and what comes meanwhile goes next.
 *
 * They share a fate only when it is a good one. What fails together was undone, and is sent again one by one: then each has
 * its own outcome.
 *
 * @see docs/decisions/0074-payments-together.md
 */
import { deal, type RowCarrier, type RowStatement, type Waiting } from './row-statements.ts'

/** While a statement of a group is under way, the next ones are gathered. What waits for a lock soon counts no longer. */
const COUNTED_MS = 50
const TOGETHER_MAX = 32
/** Connections that one group may hold, whatever its statements wait for; and of them, those that have to go alone. */
const SENT_MAX = 6
const ALONE_MAX = 3

interface Group {
  readonly waiting: Waiting[]
  /** Of a statement that failed: each goes alone. */
  readonly alone: Waiting[]
  aloneNow: number
  isUnderway: boolean
  /** Also those that count no longer. */
  sent: number
  isAwaited: boolean
}

export interface Sender {
  run(statement: RowStatement<string>, values: readonly unknown[]): Promise<unknown[]>
  /** Whether an error leaves open what happened: such a statement is not sent again, each of its stories asks for itself. */
  leavesOpen(error: unknown): boolean
}

/** @returns The carrier of a group: only what belongs to one group is ever sent together. */
export function openGathered({ run, leavesOpen }: Sender): (group: string) => RowCarrier {
  const gathered = new Map<RowStatement<string>, Map<string, Group>>()

  const send = async (
    statement: RowStatement<string>,
    group: Group,
    stories: readonly Waiting[],
  ): Promise<void> => {
    group.sent += 1
    try {
      deal(stories, await run(statement, statement.values(stories.flatMap(({ rows }) => rows))))
    } catch (error) {
      if (stories.length > 1 && !leavesOpen(error)) group.alone.push(...stories)
      else for (const { failed } of stories) failed(error)
    } finally {
      group.sent -= 1
    }
  }

  const sendNext = (statement: RowStatement<string>, name: string, group: Group): void => {
    const goOn = () => sendNext(statement, name, group)
    while (group.alone.length > 0 && group.aloneNow < ALONE_MAX && group.sent < SENT_MAX) {
      group.aloneNow += 1
      void send(statement, group, group.alone.splice(0, 1)).finally(() => {
        group.aloneNow -= 1
        goOn()
      })
    }
    if (group.waiting.length > 0 && !group.isUnderway && group.sent < SENT_MAX) {
      group.isUnderway = true
      let isCounted = true
      const countNoLonger = () => {
        clearTimeout(slow)
        if (isCounted) group.isUnderway = false
        isCounted = false
        goOn()
      }
      const slow = setTimeout(countNoLonger, COUNTED_MS)
      void send(statement, group, group.waiting.splice(0, TOGETHER_MAX)).finally(countNoLonger)
    }
    const groups = gathered.get(statement)
    const isOver = group.sent === 0 && group.waiting.length === 0 && group.alone.length === 0
    if (isOver && groups?.get(name) === group) groups.delete(name)
  }

  return (name) => ({
    run: (statement, rows) =>
      new Promise((answered, failed) => {
        const groups = gathered.get(statement) ?? new Map<string, Group>()
        gathered.set(statement, groups)
        const group = groups.get(name) ?? {
          waiting: [],
          alone: [],
          aloneNow: 0,
          isUnderway: false,
          sent: 0,
          isAwaited: false,
        }
        groups.set(name, group)
        group.waiting.push({ rows, answered, failed })
        if (group.isAwaited) return
        group.isAwaited = true
        // After all that arrived with it.
        setImmediate(() => {
          group.isAwaited = false
          sendNext(statement, name, group)
        })
      }),
  })
}
