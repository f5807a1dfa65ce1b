/** A file of payouts: one a line, `address,amount,coin` and, if wanted, a note. Every line that is wrong is named. */
import { type Asset, isAsset, type Network, networkOf } from '../core/assets.ts'
import { Refusal } from '../core/errors.ts'
import { readAmount } from './amount.ts'

export const PAYOUT_LINES_MAX = 1_000
const NOTE_LENGTH_MAX = 80
/** With the empty ones between them: a form holds a million line ends, and each line costs. */
const ROWS_MAX = 10 * PAYOUT_LINES_MAX
/** Far above an address, an amount and a note with all its quotes doubled. */
const ROW_LENGTH_MAX = 1_000

export interface PayoutLine {
  /** Of the file, counted from one, so that people find it. */
  readonly line: number
  readonly destination: string
  /** A decimal of the coin, gross. */
  readonly amount: string
  readonly asset: Asset
  readonly note: string
}

export interface LineProblem {
  readonly line: number
  readonly message: string
}

export interface PayoutFile {
  readonly lines: readonly PayoutLine[]
  readonly problems: readonly LineProblem[]
}

/**
 * Reads what spreadsheets write: commas, semicolons or tabs; quotes; a first line of headings; empty lines. A field ends on its
 * line: what is read across two is refused, so that no note becomes a payout.
 */
export function readPayoutFile(text: string): PayoutFile {
  const lines: PayoutLine[] = []
  const problems: LineProblem[] = []
  let network: Network | null = null
  const rows = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/, ROWS_MAX + 1)
  for (const [position, row] of rows.entries()) {
    const line = position + 1
    if (position >= ROWS_MAX) {
      problems.push({ line, message: `a file has at most ${ROWS_MAX} lines, empty ones too; split it` })
      break
    }
    if (row.length > ROW_LENGTH_MAX) {
      problems.push({ line, message: `the line is longer than ${ROW_LENGTH_MAX} characters` })
      continue
    }
    const fields = fieldsOf(row)
    if (fields?.every((field) => field === '')) continue
    if (lines.length + problems.length === 0 && /^address$/i.test(fields?.[0] ?? '')) continue
    if (lines.length + problems.length >= PAYOUT_LINES_MAX) {
      problems.push({ line, message: `a file has at most ${PAYOUT_LINES_MAX} payouts; split it` })
      break
    }
    const read = fields ? readLine(line, fields) : { line, message: WRONG_QUOTES }
    if ('message' in read) {
      problems.push(read)
      continue
    }
    network ??= networkOf(read.asset)
    if (networkOf(read.asset) !== network)
      problems.push({
        line,
        message: `${read.asset} is not of ${network}, as the lines above are: one file has one network`,
      })
    else lines.push(read)
  }
  return { lines, problems: [...problems, ...doubled(lines)] }
}

function readLine(line: number, fields: readonly string[]): PayoutLine | LineProblem {
  const [destination = '', amount = '', coin = '', note = '', ...more] = fields
  const asset = coin.toUpperCase()
  if (more.some((field) => field !== '') || coin === '')
    return { line, message: `expected address, amount, coin and perhaps a note; got ${fields.length} fields` }
  if (!isAsset(asset))
    return { line, message: `${JSON.stringify(coin.slice(0, 20))} is no coin that Beck pays out` }
  if (destination === '' || destination.length > 128)
    return { line, message: 'the address is missing, or too long' }
  if (note.length > NOTE_LENGTH_MAX)
    return { line, message: `the note is longer than ${NOTE_LENGTH_MAX} characters` }
  try {
    readAmount(asset, amount)
  } catch (error) {
    if (error instanceof Refusal) return { line, message: error.message }
    throw error
  }
  return { line, destination, amount, asset, note }
}

/** The same payout twice is a mistake far more often than meant; two amounts, or a note, tell them apart. */
function doubled(lines: readonly PayoutLine[]): LineProblem[] {
  const seen = new Map<string, number>()
  return lines.flatMap(({ line, destination, amount, asset, note }) => {
    const key = JSON.stringify([destination, amount, asset, note])
    const first = seen.get(key)
    if (first !== undefined)
      return [{ line, message: `is the same as line ${first}; give them notes if both are meant` }]
    seen.set(key, line)
    return []
  })
}

/** Written again, in one form: what the person looked at is what is asked for. */
export const writePayoutFile = (lines: readonly PayoutLine[]): string =>
  lines
    .map(({ destination, amount, asset, note }) =>
      [destination, amount, asset, ...(note ? [`"${note.replaceAll('"', '""')}"`] : [])].join(','),
    )
    .join('\n')

const WRONG_QUOTES =
  'a quote is not closed on this line, or stands inside a field: quote a field as a whole, on one line, and write a quote in it twice'

/**
 * RFC 4180 in one line: a quoted field holds separators, and a doubled quote for one.
 *
 * @returns Null for quotes that say nothing certain: one that is not closed, or with more than spaces outside of it.
 */
function fieldsOf(row: string): string[] | null {
  const separator = /[,;\t]/.exec(row.replace(/"[^"]*"/g, ''))?.[0] ?? ','
  const fields: string[] = []
  let field = ''
  let isQuoted = false
  let wasQuoted = false
  for (let at = 0; at < row.length; at++) {
    const character = row[at] ?? ''
    if (character === '"' && isQuoted && row[at + 1] === '"') {
      field += '"'
      at += 1
    } else if (character === '"' && isQuoted) isQuoted = false
    else if (character === '"') {
      if (wasQuoted || field.trim() !== '') return null
      isQuoted = true
      wasQuoted = true
      field = ''
    } else if (character === separator && !isQuoted) {
      fields.push(field)
      field = ''
      wasQuoted = false
    } else if (wasQuoted && !isQuoted && character.trim() !== '') return null
    else field += character
  }
  if (isQuoted) return null
  return [...fields, field].map((each) =>
    each
      .replace(/\p{Cc}/gu, ' ')
      .toWellFormed()
      .trim(),
  )
}
