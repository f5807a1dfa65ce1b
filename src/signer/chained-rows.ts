/** Rows of the signer's files: each ends in digits of a hash over it and all before it, so that a cut or edited file is noticed. */
import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'

export const CHECK_DIGITS = 16

const checkOf = (json: string | Buffer, before: string): string =>
  hash('sha256', typeof json === 'string' ? before + json : Buffer.concat([Buffer.from(before), json])).slice(
    0,
    CHECK_DIGITS,
  )

/** The check digits that a row ends in. */
export const checkIn = (row: Buffer): string => row.toString('latin1', row.length - CHECK_DIGITS)

/** A row as its file keeps it, without the line feed. */
export function writeRow(fact: unknown, before: string): Buffer {
  const json = JSON.stringify(fact)
  return Buffer.from(`${json} ${checkOf(json, before)}`)
}

/** Null for a row that is not the one that followed. */
export function readRow<Row>(row: Buffer, before: string): Row | null {
  const json = row.subarray(0, Math.max(0, row.length - CHECK_DIGITS - 1))
  if (checkIn(row) !== checkOf(json, before)) return null
  return JSON.parse(json.toString('utf8'))
}

export async function* rowsOf(
  path: string,
  start: number,
): AsyncGenerator<{ row: Buffer; isWhole: boolean }> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { start, highWaterMark: 1_048_576 })) {
    const bytes = Buffer.concat([rest, chunk])
    let from = 0
    for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, from)) {
      yield { row: bytes.subarray(from, at), isWhole: true }
      from = at + 1
    }
    rest = bytes.subarray(from)
  }
  if (rest.length > 0) yield { row: rest, isWhole: false }
}
