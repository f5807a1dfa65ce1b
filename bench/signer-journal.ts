/**
 * How long the signer's journal takes to open, however much was ever signed; and what a look-up in it and a fact more cost.
 *
 *   node bench/signer-journal.ts [PAYOUTS]
 *
 * Every payout is two rows as the signer writes them: signed, placed. They are written to the file as they are, for
 * syncing each would take hours; the table beside it is made by the first opening, which is timed apart.
 */
import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { openJournal, type SignedEntry } from '../src/signer/journal.ts'
import { benchFolder } from './folder.ts'

const OPEN_MS_MAX = 2_000
const PAYOUTS = Number(process.argv[2] ?? 1_000_000)
const ROWS_BEHIND = 9_998
const BEGAN_MS = Date.now()

let check = ''

const folder = await benchFolder()
const path = join(folder, 'journal')
try {
  await write(0, PAYOUTS - ROWS_BEHIND / 2)
  const { size } = await stat(path)
  process.stdout.write(`${PAYOUTS} payouts, ${(size / 1e6).toFixed(0)} MB\n`)
  const madeMs = await timed(async () => (await openJournal(path)).close())
  process.stdout.write(`opened without its table, which is made: ${madeMs.toFixed(0)} ms\n`)
  // What came since the table was written last is read row by row: as many as there can ever be.
  await write(PAYOUTS - ROWS_BEHIND / 2, PAYOUTS)
  const openMs = await timed(async () => (await openJournal(path)).close())
  const journal = await openJournal(path)
  const lookMs = await timed(async () => {
    for (let number = 0; number < 1_000; number++) {
      const [entry] = await journal.payingFor(nameOf(Math.floor((number * PAYOUTS) / 1_000)))
      assert.equal(entry?.txid, txidOf(Math.floor((number * PAYOUTS) / 1_000)))
    }
  })
  await journal.close()
  process.stdout.write(`who pays a withdrawal: ${(lookMs / 1_000).toFixed(2)} ms\n`)
  process.stdout.write(
    `opened: ${openMs.toFixed(0)} ms, bar ${OPEN_MS_MAX} ms: ${openMs <= OPEN_MS_MAX ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = openMs <= OPEN_MS_MAX ? 0 : 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function write(from: number, to: number): Promise<void> {
  const file = await open(path, 'a')
  let rows: string[] = []
  const add = (row: unknown) => {
    const json = JSON.stringify(row)
    check = hash('sha256', check + json).slice(0, 16)
    rows.push(`${json} ${check}\n`)
  }
  for (let number = from; number < to; number++) {
    const entry = payout(number)
    // All of them within a day: the policy counts them all.
    add({ fact: 'signed', at: BEGAN_MS - Math.floor(((PAYOUTS - number) * 86_000_000) / PAYOUTS), entry })
    add({ fact: 'placed', chain: entry.chain, txid: entry.txid })
    if (rows.length < 20_000) continue
    await file.appendFile(rows.join(''))
    rows = []
  }
  await file.appendFile(rows.join(''))
  await file.close()
}

function payout(number: number): SignedEntry {
  const txid = txidOf(number)
  return {
    chain: 'bitcoin',
    txid,
    replacementSet: txid,
    kind: 'payout',
    purpose: 'outputs',
    raw: randomBytes(222).toString('hex'),
    asset: 'BTC',
    valueAtoms: '100000',
    feeAtoms: '1410',
    feeRate: '10000',
    withdrawals: [nameOf(number)],
    spends: [{ txid: txidOf(number - 1), index: 1 }],
    change: { position: String(number), index: 1, atoms: '500000' },
    leaves: [{ asset: 'BTC', atoms: '101410' }],
  }
}

function txidOf(number: number): string {
  return hash('sha256', `transaction ${number}`)
}

function nameOf(number: number): string {
  return `01890a5d-ac96-774b-bcce-b302099a8057/01890a5d-ac96-774b-bcce-${number.toString(16).padStart(12, '0')}`
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
