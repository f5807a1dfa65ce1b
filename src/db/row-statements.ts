/** Statements over rows of input: what one asks for, many can ask for in one go. */

/** A plain connection gives it one story's rows; `together` and `gathered` those of many. */
export interface RowStatement<Column extends string> {
  readonly text: string
  /** What the statement is given for these rows. */
  readonly values: (rows: readonly InputRow<Column>[]) => unknown[]
  /** It runs all the time: each connection parses and plans it once. */
  readonly hot?: 'prepared'
}

export type InputRow<Column extends string> = { readonly [column in Column]: unknown }

/** What `unnest` is given: of each of the columns an array. */
export const arraysOf = <Row>(rows: readonly Row[], ...columns: readonly (keyof Row)[]): unknown[][] =>
  columns.map((column) => rows.map((row) => row[column]))

type ColumnTypes<Column extends string> = Readonly<Record<Column, string>>

/**
 * @param types - Columns of the input, with their types.
 * @param write - The statement, given the input as an item of FROM with an alias `r`: it has the columns and `place`, which
 *   answers carry back, so that each story is given its own.
 */
export function overRows<Column extends string>(
  types: ColumnTypes<Column>,
  write: (rows: string) => string,
): RowStatement<Column> {
  const columns = Object.keys(types) as Column[]
  const arrays = columns.map((column, index) => `$${index + 1}::${types[column]}[]`)
  return {
    text: write(`unnest(${arrays.join(', ')}) with ordinality as r (${columns.join(', ')}, place)`),
    values: (rows) => arraysOf(rows, ...columns),
  }
}

/**
 * The same for a statement that is prepared. PostgreSQL keeps a plan only when plans for the values at hand look no cheaper,
 * and the length of an array is such a value: it would plan anew each time. Of JSON it assumes a hundred rows, always; so
 * the statement has to reach its tables by correlated lookups, which use their index whatever the number of rows.
 */
export function overRowsPrepared<Column extends string>(
  types: ColumnTypes<Column>,
  write: (rows: string) => string,
): RowStatement<Column> {
  const columns = Object.keys(types) as Column[]
  // In JSON a column is called by its number: its name would be written and read again for each row.
  const typed = columns.map((column, index) => `"${index}" ${types[column]}`)
  return {
    text: write(
      `rows from (json_to_recordset($1::json) as (${typed.join(', ')})) with ordinality as r (${columns.join(', ')}, place)`,
    ),
    values: (rows) => [`[${rows.map((row) => asJson(columns, row)).join()}]`],
    hot: 'prepared',
  }
}

/** A row as an object of JSON, with its values as PostgreSQL reads them from text. What is null is not there. */
function asJson<Column extends string>(columns: readonly Column[], row: InputRow<Column>): string {
  const fields: string[] = []
  for (const [index, column] of columns.entries()) {
    const value = row[column]
    if (value === null || value === undefined) continue
    const text =
      typeof value === 'bigint'
        ? `"${value}"`
        : value instanceof Uint8Array
          ? `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`
          : JSON.stringify(value)
    fields.push(`"${index}":${text}`)
  }
  return `{${fields.join()}}`
}

/** Who takes the rows of a statement to send them with those of others. */
export interface RowCarrier {
  run(statement: RowStatement<string>, rows: readonly InputRow<string>[]): Promise<unknown[]>
  /** A read whose answer is the same for all that ask at this moment. */
  share?<Answer>(read: unknown, args: readonly unknown[], start: () => Promise<Answer>): Promise<Answer>
}

/** Where a transaction names its carrier. */
export const CARRIER = Symbol('carrier')

export interface Waiting {
  readonly rows: readonly InputRow<string>[]
  readonly answered: (answers: unknown[]) => void
  readonly failed: (error: unknown) => void
}

/** Each story is given the answers to its own rows. */
export function deal(stories: readonly Waiting[], answers: readonly unknown[]): void {
  const owners = stories.flatMap(({ rows }, story) => rows.map(() => story))
  const dealt: unknown[][] = stories.map(() => [])
  for (const answer of answers) {
    const story = owners[Number((answer as { place: bigint }).place) - 1]
    if (story !== undefined) dealt[story]?.push(answer)
  }
  for (const [story, { answered }] of stories.entries()) answered(dealt[story] ?? [])
}
