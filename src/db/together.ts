/**
 * Statements of many stories that travel together. What is decided about one payment reads and writes its own rows, one
 * after the other, so that it can be read and tested as one story. A hundred of them that run side by side in one transaction
 * ask for the same at the same moment, and that is then one statement over all their rows.
 *
 * @see docs/decisions/0072-stories-together.md
 */
import type { Queryable, Tx } from './database.ts'
import {
  CARRIER,
  deal,
  type InputRow,
  type RowCarrier,
  type RowStatement,
  type Waiting,
} from './row-statements.ts'
import { allRows } from './rows.ts'

/** What is done once for the items of many stories. */
export type LastWork<Item> = (tx: Tx, items: readonly Item[]) => Promise<void>

interface Carrier extends RowCarrier {
  /** Keeps an item until the last story has ended, or {@link doFirst}. */
  keep?(work: LastWork<unknown>, item: unknown): void
  doFirst?(work: LastWork<unknown>): Promise<void>
}

type Carried = Queryable & { readonly [CARRIER]?: Carrier }

/** @returns The answers to these rows, in the order in which the statement gave them. */
export async function runRows<Answer, Column extends string = string>(
  db: Queryable,
  statement: RowStatement<Column>,
  rows: readonly InputRow<Column>[],
): Promise<Answer[]> {
  if (rows.length === 0) return []
  const carrier = (db as Carried)[CARRIER]
  return (carrier ? carrier.run(statement, rows) : send(db, statement, rows)) as Promise<Answer[]>
}

/**
 * A read whose answer is the same for all that ask with the same arguments at this moment: stories that run together share it.
 *
 * @param read - Its arguments beside the connection are told apart by their identity: names and numbers, or what lives as long
 *   as the process.
 */
export function sharedRead<Args extends readonly unknown[], Answer>(
  read: (db: Queryable, ...args: Args) => Promise<Answer>,
): (db: Queryable, ...args: Args) => Promise<Answer> {
  return (db, ...args) => {
    const share = (db as Carried)[CARRIER]?.share
    const start = () => read(db, ...args)
    return share ? share(read, args, start) : start()
  }
}

/**
 * Does work for one item: at once; among stories that run together, once for the items of all when the last of them has
 * ended. Rows that everybody waits for are locked the shorter. Who reads what the work writes says {@link doFirst} before.
 * What is done last of several works is done in no order that can be relied on.
 */
export async function doLast<Item>(tx: Tx, work: LastWork<Item>, item: Item): Promise<void> {
  const keep = (tx as Carried)[CARRIER]?.keep
  if (keep) keep(work as LastWork<unknown>, item)
  else await work(tx, [item])
}

/**
 * What was put off of this work until the last story ends is done now; when this ends, nothing of it is missing that the caller put
 * off. Other works wait on: what they lock is locked by no story that asks for something else.
 */
export async function doFirst<Item>(db: Queryable, work: LastWork<Item>): Promise<void> {
  await (db as Carried)[CARRIER]?.doFirst?.(work as LastWork<unknown>)
}

/**
 * Runs one story for each item, side by side in one transaction. Statements over rows go out when no story can go on
 * without an answer; every other one goes out by itself.
 *
 * @param sharedBy - Stories of one key read and write the same rows, which one transaction does not keep from each other:
 *   they run one after the other. Null for a story that shares nothing.
 * @throws What the first of them threw, when all have ended: the transaction is to be given up.
 */
export async function together<Item, Result>(
  tx: Tx,
  items: readonly Item[],
  sharedBy: (item: Item) => string | null,
  story: (tx: Tx, item: Item) => Promise<Result>,
): Promise<Result[]> {
  const oneByOne = inTurn(tx)
  const carrier = openTogether(oneByOne)
  const gathering: Tx & Carried = { ...oneByOne, [CARRIER]: carrier }
  const failures: unknown[] = []
  const ahead = new Map<string, Promise<Result>>()
  const results = await Promise.all(
    items.map((item) => {
      const key = sharedBy(item)
      const before = key === null ? undefined : ahead.get(key)
      const told = (before ? before.then(() => story(gathering, item)) : story(gathering, item)).catch(
        (error: unknown) => {
          failures.push(error)
          return undefined as Result
        },
      )
      if (key !== null) ahead.set(key, told)
      return told
    }),
  )
  if (failures.length > 0) throw failures[0]
  await carrier.doRest()
  return results
}

interface SharedRead {
  readonly args: readonly unknown[]
  readonly answer: Promise<unknown>
}

/** A connection works on one statement at a time. */
function inTurn(tx: Tx): Tx {
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...tx,
    query(text, values, hot) {
      const answer = last.then(() => tx.query<never>(text, values, hot))
      last = answer.catch(() => {})
      return answer
    },
  }
}

function openTogether(tx: Tx) {
  let waiting = new Map<RowStatement<string>, Waiting[]>()
  const kept = new Map<LastWork<unknown>, unknown[]>()
  let doing: Promise<void> = Promise.resolve()
  const reads = new Map<unknown, SharedRead[]>()

  const sendAll = () => {
    const statements = waiting
    waiting = new Map()
    // The connection runs them in this order.
    for (const [statement, stories] of statements)
      send(
        tx,
        statement,
        stories.flatMap(({ rows }) => rows),
      ).then(
        (answers) => deal(stories, answers),
        (error: unknown) => {
          for (const { failed } of stories) failed(error)
        },
      )
  }
  const doKept = (isWanted: (work: LastWork<unknown>) => boolean): Promise<void> => {
    // Also after what is being done for another story: its own items may be among them.
    doing = doing.then(async () => {
      for (const [work, items] of [...kept]) {
        if (!isWanted(work)) continue
        kept.delete(work)
        await work(tx, items)
      }
    })
    return doing
  }
  return {
    run: (statement, rows) =>
      new Promise((answered, failed) => {
        // After the stories that can still go on.
        if (waiting.size === 0) setImmediate(sendAll)
        const stories = waiting.get(statement) ?? []
        waiting.set(statement, stories)
        stories.push({ rows, answered, failed })
      }),
    share<Answer>(read: unknown, args: readonly unknown[], start: () => Promise<Answer>) {
      const running = reads.get(read) ?? []
      reads.set(read, running)
      const same = running.find((each) => each.args.every((arg, index) => Object.is(arg, args[index])))
      // Answers of one read have its type.
      if (same) return same.answer as Promise<Answer>
      const answer = start().finally(() => running.splice(running.indexOf(one), 1))
      const one = { args, answer }
      running.push(one)
      return answer
    },
    keep(work, item) {
      const items = kept.get(work) ?? []
      kept.set(work, items)
      items.push(item)
    },
    doFirst: (work) => doKept((each) => each === work),
    doRest: () => doKept(() => true),
  } satisfies Carrier & { doRest(): Promise<void> }
}

const send = (
  db: Queryable,
  statement: RowStatement<string>,
  rows: readonly InputRow<string>[],
): Promise<unknown[]> => allRows(db, statement.text, statement.values(rows), statement.hot)
