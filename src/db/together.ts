/**
 * Statements of many stories that travel together. What is decided about one payment reads and writes its own rows, one
 * after the other, so that it can be read and tested as one story. Fifty of them that run side by side in one transaction
 * ask for the same at the same moment, and that is then one statement over all their rows.
 *
 * @see docs/decisions/0072-stories-together.md
 */
import type { Queryable, Tx } from './database.ts'

/** A statement over rows of input. A plain connection gives it one story's rows, {@link together} those of many. */
export interface RowStatement<Column extends string> {
  readonly text: string
  readonly columns: readonly Column[]
}

export type InputRow<Column extends string> = { readonly [column in Column]: unknown }

/**
 * @param types - Columns of the input, with their types.
 * @param write - The statement, given the input as an item of FROM with an alias `r`: it has the columns and `place`, which
 *   answers carry back, so that each story is given its own.
 */
export function overRows<Column extends string>(
  types: Readonly<Record<Column, string>>,
  write: (rows: string) => string,
): RowStatement<Column> {
  const columns = Object.keys(types) as Column[]
  const arrays = columns.map((column, index) => `$${index + 1}::${types[column]}[]`)
  return {
    text: write(`unnest(${arrays.join(', ')}) with ordinality as r (${columns.join(', ')}, place)`),
    columns,
  }
}

interface Together {
  run(statement: RowStatement<string>, rows: readonly InputRow<string>[]): Promise<unknown[]>
  share(key: string, read: () => Promise<unknown>): Promise<unknown>
}

const TOGETHER = Symbol('together')
type Gathering = Queryable & { readonly [TOGETHER]?: Together }

/** @returns The answers to these rows, in the order in which the statement gave them. */
export async function runRows<Answer, Column extends string = string>(
  db: Queryable,
  statement: RowStatement<Column>,
  rows: readonly InputRow<Column>[],
): Promise<Answer[]> {
  if (rows.length === 0) return []
  const gathering = (db as Gathering)[TOGETHER]
  return (gathering ? gathering.run(statement, rows) : send(db, statement, rows)) as Promise<Answer[]>
}

/** A read whose answer is the same for all that ask at this moment. */
export function readShared<Answer>(db: Queryable, key: string, read: () => Promise<Answer>): Promise<Answer> {
  const gathering = (db as Gathering)[TOGETHER]
  return gathering ? (gathering.share(key, read) as Promise<Answer>) : read()
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
  const gathering: Tx & Gathering = { ...oneByOne, [TOGETHER]: openTogether(oneByOne) }
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
  return results
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

interface Waiting {
  readonly rows: readonly InputRow<string>[]
  readonly answered: (answers: unknown[]) => void
  readonly failed: (error: unknown) => void
}

function openTogether(tx: Tx): Together {
  let waiting = new Map<RowStatement<string>, Waiting[]>()
  const shared = new Map<string, Promise<unknown>>()

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
  return {
    run: (statement, rows) =>
      new Promise((answered, failed) => {
        // After the stories that can still go on.
        if (waiting.size === 0) setImmediate(sendAll)
        const stories = waiting.get(statement) ?? []
        waiting.set(statement, stories)
        stories.push({ rows, answered, failed })
      }),
    share(key, read) {
      const running = shared.get(key) ?? read().finally(() => shared.delete(key))
      shared.set(key, running)
      return running
    },
  }
}

/** Each story is given the answers to its own rows. */
function deal(stories: readonly Waiting[], answers: readonly unknown[]): void {
  const owners = stories.flatMap(({ rows }, story) => rows.map(() => story))
  const dealt: unknown[][] = stories.map(() => [])
  for (const answer of answers) {
    const story = owners[Number((answer as { place: bigint }).place) - 1]
    if (story !== undefined) dealt[story]?.push(answer)
  }
  for (const [story, { answered }] of stories.entries()) answered(dealt[story] ?? [])
}

async function send(
  db: Queryable,
  { text, columns }: RowStatement<string>,
  rows: readonly InputRow<string>[],
): Promise<unknown[]> {
  const answer = await db.query(
    text,
    columns.map((column) => rows.map((row) => row[column])),
  )
  return answer.rows
}
