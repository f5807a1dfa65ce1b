/**
 * The least work that finds which outputs of a block are ours: its bytes from hex, one pass over them that keeps where each
 * output is, and one indexed query for their scripts. Written without Beck's parser, its statements or its way to PostgreSQL,
 * so that none of these becomes its own measure.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'

/** What is known of a paid output in the end. */
export interface PaidOutput {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
  readonly payment: string
}

export interface LeastWork {
  /** @returns How long it took, and the outputs that addresses of ours are paid by, which are named after the clock stops. */
  find(blockHex: string): Promise<{ tookMs: number; paid: PaidOutput[] }>
  close(): Promise<void>
}

export async function openLeastWork(url: string): Promise<LeastWork> {
  const client = new pg.Client({ connectionString: url })
  // When its server stops, whatever is left idle breaks.
  client.on('error', () => {})
  await client.connect()
  return {
    async find(blockHex) {
      const began = performance.now()
      const bytes = Buffer.from(blockHex, 'hex')
      const outputs = outputsOf(bytes)
      const { rows } = await client.query<{ lookup: Buffer; payment: string }>(
        "select lookup, payment_id as payment from addresses where chain = 'bitcoin' and lookup = any($1::bytea[])",
        [arrayOfScripts(bytes, outputs)],
      )
      const tookMs = performance.now() - began
      return { tookMs, paid: paidOutputs(bytes, outputs, rows) }
    },
    close: () => client.end(),
  }
}

/** Places in the bytes of a block, one behind another. */
interface Outputs {
  /** Of each output: where its amount begins, where its script begins, where that ends. */
  readonly places: number[]
  /** Of each transaction: where it begins, its inputs, the end of its outputs, its lock time, and outputs up to its last. */
  readonly transactions: number[]
}
const PER_OUTPUT = 3
const PER_TRANSACTION = 5
const HEADER_BYTES = 80

function outputsOf(bytes: Buffer): Outputs {
  const places: number[] = []
  const transactions: number[] = []
  let at = HEADER_BYTES
  const size = (): number => {
    const first = bytes[at++] ?? 0
    if (first < 0xfd) return first
    const width = first === 0xfd ? 2 : 4
    at += width
    return bytes.readUIntLE(at - width, width)
  }
  for (let left = size(); left > 0; left--) {
    const from = at
    at += 4
    const hasWitnesses = bytes[at] === 0
    if (hasWitnesses) at += 2
    const bodyFrom = at
    const inputs = size()
    for (let i = 0; i < inputs; i++) {
      at += 36
      const script = size()
      at += script + 4
    }
    for (let i = size(); i > 0; i--) {
      const amountAt = at
      at += 8
      const script = size()
      places.push(amountAt, at, at + script)
      at += script
    }
    const bodyTo = at
    for (let i = hasWitnesses ? inputs : 0; i > 0; i--)
      for (let items = size(); items > 0; items--) {
        const item = size()
        at += item
      }
    transactions.push(from, bodyFrom, bodyTo, at, places.length / PER_OUTPUT)
    at += 4
  }
  if (at !== bytes.length) throw new Error(`the block ends at ${at}, its bytes at ${bytes.length}`)
  return { places, transactions }
}

const BYTEA_OID = 17

/** A bytea[] as PostgreSQL reads it from a binary parameter: nothing of it is quoted, and nothing parsed. */
function arrayOfScripts(bytes: Buffer, { places }: Outputs): Buffer {
  const count = places.length / PER_OUTPUT
  let length = 20
  for (let i = 0; i < places.length; i += PER_OUTPUT)
    length += 4 + (places[i + 2] ?? 0) - (places[i + 1] ?? 0)
  const packed = Buffer.allocUnsafe(length)
  let at = 0
  // One dimension, no nulls, the type of an element, how many, from 1 on.
  for (const word of [1, 0, BYTEA_OID, count, 1]) at = packed.writeInt32BE(word, at)
  for (let i = 0; i < places.length; i += PER_OUTPUT) {
    const from = places[i + 1] ?? 0
    const to = places[i + 2] ?? 0
    at = packed.writeInt32BE(to - from, at)
    at += bytes.copy(packed, at, from, to)
  }
  return packed
}

function paidOutputs(
  bytes: Buffer,
  { places, transactions }: Outputs,
  rows: readonly { lookup: Buffer; payment: string }[],
): PaidOutput[] {
  const payments = new Map(rows.map(({ lookup, payment }) => [lookup.toString('latin1'), payment]))
  const paid: PaidOutput[] = []
  let output = 0
  for (let i = 0; i < transactions.length; i += PER_TRANSACTION) {
    const [from = 0, bodyFrom = 0, bodyTo = 0, lockTimeAt = 0, end = 0] = transactions.slice(
      i,
      i + PER_TRANSACTION,
    )
    for (const first = output; output < end; output++) {
      const [amountAt = 0, scriptFrom, scriptTo] = places.slice(
        output * PER_OUTPUT,
        (output + 1) * PER_OUTPUT,
      )
      const payment = payments.get(bytes.toString('latin1', scriptFrom, scriptTo))
      if (payment === undefined) continue
      const named = [
        [from, from + 4],
        [bodyFrom, bodyTo],
        [lockTimeAt, lockTimeAt + 4],
      ] as const
      const txid = doubleSha256(Buffer.concat(named.map(([start, stop]) => bytes.subarray(start, stop))))
      paid.push({
        txid: txid.reverse().toString('hex'),
        index: output - first,
        atoms: bytes.readBigUInt64LE(amountAt),
        payment,
      })
    }
  }
  return paid
}

const doubleSha256 = (bytes: Buffer): Buffer => sha256(sha256(bytes))
const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()
