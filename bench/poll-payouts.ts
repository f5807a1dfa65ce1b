/**
 * A payer's poll after a block of fifty deposits and one unexpected deposit, with a million unspent outputs behind it: it
 * must cost what the block brought, not what ever was. And the slice of old outputs that each proof of the books asks
 * about, among as many that were spent.
 *
 *   node bench/poll-payouts.ts [outputs]
 *
 * Before anything counts, each round's capital is to be booked, and each slice to be whole.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import type { ChainPort } from '../src/chains/chain.ts'
import { createMemoryStorage } from '../src/chains/simulated/memory.ts'
import { simulatedPort } from '../src/chains/simulated/simulated-chain.ts'
import { openSecrets } from '../src/core/secrets.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { listUnspent } from '../src/proof/holdings.sql.ts'
import { pollPayouts } from '../src/workers/pay-out.ts'
import { gatewayOn } from '../test/gateway-on.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'

const LOOK_MS_MAX = 20
const SLICE_MS_MAX = 20
const OUTPUTS = Number(process.argv[2] ?? 1_000_000)
const CHAIN = 'sim-bitcoin'
const PER_BLOCK = 50
const DEPTH = 2
const ROUNDS = 30
const SLICE = 500

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: folder })
try {
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 4 })
  await migrate(db)
  const { lookMs, sliceMs } = await measure(db)
  await db.close()
  const say = (line: string) => process.stdout.write(`${line}\n`)
  const verdict = (ms: number, max: number) =>
    `${ms.toFixed(1)} ms (bar: at most ${max} ms): ${ms <= max ? 'met' : 'MISSED'}`
  say(`a look at ${OUTPUTS} unspent outputs: ${verdict(lookMs, LOOK_MS_MAX)}`)
  say(`a slice of ${SLICE} unspent outputs among ${OUTPUTS} spent: ${verdict(sliceMs, SLICE_MS_MAX)}`)
  process.exitCode = lookMs <= LOOK_MS_MAX && sliceMs <= SLICE_MS_MAX ? 0 : 1
} finally {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

async function measure(db: Database): Promise<{ lookMs: number; sliceMs: number }> {
  const { id: account } = await insertAccount(db, {
    name: 'Shop',
    email: 'shop@example.com',
    mode: 'test',
    currency: 'USD',
  })
  await db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time) values ($1, 'BTC', 'bench', 0, 'block 0', now())`,
    [CHAIN],
  )
  let height = Math.ceil(OUTPUTS / PER_BLOCK)
  await addBlocks(db, account, 1, height)
  await db.query('vacuum analyze')
  const gateway = gatewayOn(db, openSecrets(Buffer.alloc(32, 7)))
  const port: ChainPort = {
    ...simulatedPort(createMemoryStorage({ chain: CHAIN, seed: 'bench', now: () => 0 })),
    tip: async () => ({ height, hash: `block ${height}` }),
  }
  const look = async () => {
    const began = performance.now()
    await pollPayouts(gateway, port, { rate: 1_000n, priorityRate: 0n })
    return performance.now() - began
  }
  const booked = async () =>
    Number(
      (await db.query<{ count: bigint }>("select count(*) from journal_entries where kind = 'capital'"))
        .rows[0]?.count,
    )
  await look()
  assert.equal(await booked(), 0)
  const looks: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    height += 1
    await addBlocks(db, account, height, height)
    await db.query(
      `with place as (insert into addresses (chain, lookup, address, branch, position, series, mac)
         select $1, sha256(('own' || $2::bigint)::bytea), 'own ' || $2::bigint, 1, $2, 'bench', sha256('mac') returning lookup)
       insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
       select $1, encode(sha256(('capital' || $2::bigint)::bytea), 'hex'), 0, lookup, 1000, $2 from place`,
      [CHAIN, height],
    )
    looks.push(await look())
    assert.equal(
      await booked(),
      Math.max(0, round + 2 - DEPTH),
      'what is deep enough is booked, the rest is not',
    )
  }

  await db.query('update utxos set spent_by = txid, spent_height = block_height where chain = $1', [CHAIN])
  await addBlocks(db, account, height + 1, height + 20)
  await db.query('vacuum analyze utxos')
  const slices: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    const slice = await listUnspent(db, CHAIN, { aboveHeight: -1, after: '', limit: SLICE })
    slices.push(performance.now() - began)
    assert.equal(slice.length, SLICE)
  }
  return { lookMs: median(looks), sliceMs: median(slices) }
}

/** Blocks of outputs at addresses of payments, each with its address. */
async function addBlocks(db: Database, account: string, from: number, to: number): Promise<void> {
  await db.query(
    `with given as (
       select height, height || ':' || n as name from generate_series($2::bigint, $3) height, generate_series(1, $4::integer) n
     ), issued as (
       insert into addresses (chain, lookup, address, branch, position, series, mac, account_id, payment_id, issued_at)
       select $1, sha256(name::bytea), name, 0, height * 1000 + split_part(name, ':', 2)::bigint, 'bench', sha256('mac'), $5,
         gen_random_uuid(), now() from given
     )
     insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
     select $1, encode(sha256(('tx' || name)::bytea), 'hex'), 0, sha256(name::bytea), 1000, height from given`,
    [CHAIN, from, to, PER_BLOCK, account],
  )
  await db.query("update chains set tip_height = $2, tip_hash = 'block ' || $2::bigint where chain = $1", [
    CHAIN,
    to,
  ])
}
