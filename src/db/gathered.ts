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

/** Of one group: while so many are under way, the next are gathered. What waits for a lock soon counts no longer. */
const UNDERWAY_MAX = 2
const COUNTED_MS = 50
const TOGETHER_MAX = 32

interface Group {
  waiting: Waiting[]
  underway: number
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

  const send = async (statement: RowStatement<string>, stories: readonly Waiting[]): Promise<void> => {
    const values = statement.values(stories.flatMap(({ rows }) => rows))
    try {
      deal(stories, await run(statement, values))
    } catch (error) {
      if (stories.length > 1 && !leavesOpen(error))
        await Promise.all(stories.map((story) => send(statement, [story])))
      else for (const { failed } of stories) failed(error)
    }
  }

  const sendNext = (statement: RowStatement<string>, name: string, group: Group): void => {
    while (group.waiting.length > 0 && group.underway < UNDERWAY_MAX) {
      group.underway++
      let isCounted = true
      const goOn = () => {
        clearTimeout(slow)
        if (!isCounted) return
        isCounted = false
        group.underway--
        sendNext(statement, name, group)
      }
      const slow = setTimeout(goOn, COUNTED_MS)
      void send(statement, group.waiting.splice(0, TOGETHER_MAX)).finally(goOn)
    }
    const groups = gathered.get(statement)
    if (group.underway === 0 && groups?.get(name) === group) groups.delete(name)
  }

  return (name) => ({
    run: (statement, rows) =>
      new Promise((answered, failed) => {
        const groups = gathered.get(statement) ?? new Map<string, Group>()
        gathered.set(statement, groups)
        const group = groups.get(name) ?? { waiting: [], underway: 0, isAwaited: false }
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
