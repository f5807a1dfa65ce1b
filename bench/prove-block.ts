/**
 * The proof of the books after one block of fifty deposits, with a hundred thousand deposits in the past against with ten
 * thousand: it must cost what the block brought, not what ever was.
 *
 *   node bench/prove-block.ts [deposits]
 *
 * Before anything is timed, a coin that the chain does not hold is to be noticed.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import type { ChainPort } from '../src/chains/chain.ts'
import { createMemoryStorage } from '../src/chains/simulated/memory.ts'
import { simulatedPort } from '../src/chains/simulated/simulated-chain.ts'
import { newId } from '../src/core/ids.ts'
import { SILENT } from '../src/core/log.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { type ProverMemory, proveBlock } from '../src/proof/prove-block.ts'
import { benchFolder } from './folder.ts'

const RATIO_MAX = 2
const MANY = Number(process.argv[2] ?? 100_000)
const FEW = 10_000
const ROUNDS = 30
const PER_BLOCK = 50
const ATOMS = 1_000n

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: folder })
try {
  const few = await measure('few', FEW)
  const many = await measure('many', MANY)
  const ratio = many.blockMs / few.blockMs
  const good = ratio <= RATIO_MAX
  const say = (line: string) => process.stdout.write(`${line}\n`)
  say(`${FEW} deposits: first proof ${few.firstMs.toFixed(0)} ms, each block ${few.blockMs.toFixed(1)} ms`)
  say(`${MANY} deposits: first proof ${many.firstMs.toFixed(0)} ms, each block ${many.blockMs.toFixed(1)} ms`)
  say(`ratio ${ratio.toFixed(2)} (bar: at most ${RATIO_MAX}): ${good ? 'met' : 'MISSED'}`)
  process.exitCode = good ? 0 : 1
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function measure(name: string, deposits: number): Promise<{ firstMs: number; blockMs: number }> {
  const admin = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
  await admin.query(`create database ${name}`)
  await admin.close()
  const db = openDatabase({ url: cluster.url(name), connectionsMax: 4 })
  await migrate(db)
  let height = await fill(db, deposits)
  let lost = 0n
  const tip = () => ({ height, hash: `block ${height}` })
  const port: ChainPort = {
    ...simulatedPort(createMemoryStorage({ chain: 'sim-bitcoin', seed: name, now: () => 0 })),
    tip: async () => tip(),
    holdings: async ({ outpoints }) => ({ BTC: BigInt(outpoints.length) * ATOMS - lost }),
  }
  const gateway = { db, log: SILENT }
  const memory: ProverMemory = {}
  const prove = async () => {
    const began = performance.now()
    const verdict = await proveBlock(gateway, port, memory)
    return { verdict, ms: performance.now() - began }
  }
  const first = await prove()
  assert.equal(first.verdict, 'proven')

  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    height += 1
    await addBlocks(db, height, height, PER_BLOCK)
    const { verdict, ms } = await prove()
    assert.equal(verdict, 'proven')
    times.push(ms)
  }
  height += 1
  await addBlocks(db, height, height, PER_BLOCK)
  lost = 1n
  assert.equal((await prove()).verdict, 'unlike', 'a coin that is gone is noticed')
  await db.close()
  return { firstMs: first.ms, blockMs: times.toSorted((a, b) => a - b)[ROUNDS >> 1] ?? 0 }
}

/** Blocks of booked deposits. @returns The height of the last. */
async function fill(db: Database, deposits: number): Promise<number> {
  const { id: account } = await insertAccount(db, {
    name: 'Shop',
    email: 'shop@example.com',
    mode: 'test',
    currency: 'USD',
  })
  const payment = newId('pay')
  await db.query(
    `insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor, quoted_fee_minor,
       rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator, settlement_denominator, settlement_currency, due_atoms, address,
       required_confirmations, fee_bps, terms_mac, expires_at)
     values ($1, $2, 'underpaid', 'sim-bitcoin', 'BTC', 'USD', 100, 0, 100, 0, 1, 1, 'bench', now(), 1, 1, 'USD', 1, 'bench', 1, 0, sha256('bench'), now())`,
    [account, payment],
  )
  await db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time) values ('sim-bitcoin', 'BTC', 'bench', 0, 'block 0', now())`,
  )
  const blocks = Math.ceil(deposits / PER_BLOCK)
  await addBlocks(db, 1, blocks, PER_BLOCK)
  await db.query('vacuum analyze')
  return blocks
}

async function addBlocks(db: Database, from: number, to: number, perBlock: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(
      `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
         block_height, block_hash, required_confirmations, seen_at, late, dust, mac, bookings, booked)
       select p.account_id, gen_random_uuid(), p.id, p.chain, 'BTC', height || ':' || n, 0, 'bench', $4, 'confirmed',
         height, 'block ' || height, 1, now(), false, false, sha256('bench'), 1, true
       from payments p, generate_series($1::bigint, $2) height, generate_series(1, $3::integer) n`,
      [from, to, perBlock, ATOMS],
    )
    await tx.query(
      `insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
       select 'sim-bitcoin', encode(sha256((height || ':' || n)::bytea), 'hex'), 0, '\\x00', $4, height
       from generate_series($1::bigint, $2) height, generate_series(1, $3::integer) n`,
      [from, to, perBlock, ATOMS],
    )
    // One entry of many lines stands for as many entries: the sums read lines alone.
    for (let start = from; start <= to; start += 600)
      await tx.query(
        `with entry as (insert into journal_entries (account_id, id, kind, subject_id, number)
           select account_id, gen_random_uuid(), 'settlement', 'bench:' || $1::bigint || ':' || $2::bigint || ':' || clock_timestamp(), 1
           from payments returning account_id, id)
         insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms, created_at)
         select account_id, id, (row_number() over ())::smallint, 'sim-bitcoin', 'BTC', 'wallet', 'unresolved', $4,
           case when $5 then now() - interval '1 day' else now() end
         from entry, generate_series($1::bigint, $2) height, generate_series(1, $3::integer) n`,
        [start, Math.min(to, start + 599), perBlock, ATOMS, to > from],
      )
    await tx.query("update chains set tip_height = $1, tip_hash = 'block ' || $1::bigint", [to])
  })
}
