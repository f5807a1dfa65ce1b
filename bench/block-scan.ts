/**
 * Following one 4 MB block with ten million addresses issued, and payments and UTXOs of 300,000 of them: the watcher's own
 * reading and writing of it, against no more than decoding and parsing the same bytes and one indexed query for their outputs,
 * without a line of Beck's.
 *
 *   node bench/block-scan.ts [addresses]
 *
 * Every block pays some of our addresses; what was found is checked, to the atom, before any time is printed, and is what
 * the least work finds in the same block.
 * Takes about 3 GB of disk, and gives PostgreSQL the memory that a table of that size asks for. Bars: 200 ms, and three times the
 * least work.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { bech32 } from '@scure/base'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { createBitcoinChain } from '../src/chains/bitcoin/bitcoin-chain.ts'
import type { ChainPort } from '../src/chains/chain.ts'
import { openChain, takeLease } from '../src/chains/chain-progress.sql.ts'
import type { AccountId, PaymentId } from '../src/core/ids.ts'
import { SILENT } from '../src/core/log.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { applyBlock } from '../src/flows/watching/observe-chain.ts'
import { findPayment } from '../src/payments/payments.sql.ts'
import { macOfTerms } from '../src/payments/terms.ts'
import { settleNext } from '../src/workers/settle.ts'
import { gatewayOn } from '../test/gateway-on.ts'
import { TEST_SECRETS } from '../test/wallet.ts'
import { type LeastWork, openLeastWork, type PaidOutput } from './block-scan/least-work.ts'
import { type MadeBlock, makeBlock } from './block-scan/made-block.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'

const SCAN_MS_MAX = 200
const RATIO_MAX = 3
const ADDRESSES = Number(process.argv[2] ?? 10_000_000)
const BLOCK_BYTES = 4_000_000
const PAID_PER_BLOCK = 50
/** What a gateway has that is at it for long: the last addresses have payments, and UTXOs that nobody spends here. */
const PAYMENTS = Math.min(300_000, ADDRESSES)
const WARM_UPS = 4
const ROUNDS = 11
const GENESIS = '00'.repeat(32)

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: folder, settings: ['max_wal_size=4GB', 'shared_buffers=1GB'] })
const node = await startStandIn()
const port = createBitcoinChain({ chain: 'bitcoin', rpcUrl: node.url, network: 'regtest', log: SILENT })
try {
  const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 4 })
  await migrate(db)
  await fill(db)
  const least = await openLeastWork(cluster.url('postgres'))
  process.exitCode = (await measure(db, port, least)) ? 0 : 1
  await least.close()
  await db.close()
} finally {
  await port.close()
  await node.close()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

/** The hash of the nth key, as the addresses below hold it. */
async function keyHash(db: Database, position: number): Promise<Buffer> {
  const { rows } = await db.query<{ hash: Buffer }>(
    'select substr(sha256(int8send($1::bigint)), 1, 20) as hash',
    [position],
  )
  assert.ok(rows[0])
  return rows[0].hash
}

/** Addresses at random places of their index, as hashes are; the last ones wait for a payment each. */
async function fill(db: Database): Promise<void> {
  const began = performance.now()
  const account = await insertAccount(db, {
    name: 'Shop',
    email: 'shop@example.com',
    mode: 'live',
    currency: 'USD',
  })
  // The other indexes are not read here, and the one that is comes out the same when it is built at the end.
  await db.query(`alter table addresses drop constraint addresses_pkey,
    drop constraint addresses_chain_series_branch_position_key, drop constraint addresses_account_id_fkey`)
  await db.query('drop index addresses_fresh')
  await db.query('drop index addresses_by_payment')
  await db.query('alter table addresses set unlogged')
  const chunk = 1_000_000
  for (let from = 0; from < ADDRESSES; from += chunk) {
    await db.query(
      `insert into addresses (chain, lookup, address, branch, position, series, mac, account_id, payment_id, issued_at)
       select 'bitcoin', '\\x0014'::bytea || substr(hash, 1, 20), 'bcrt1q' || encode(substr(hash, 1, 19), 'hex'), 0, n,
         '12345678', hash, $1, md5(n::text)::uuid, now()
       from generate_series($2::bigint, $3::bigint) as n, sha256(int8send(n)) as hash`,
      [account.id, from, Math.min(from + chunk, ADDRESSES) - 1],
    )
    process.stdout.write(`${Math.min(from + chunk, ADDRESSES)} addresses\r`)
  }
  await db.query('alter table addresses add primary key (lookup, chain)')
  await writePaidAddresses(db)
  await db.query(
    `insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor,
       quoted_fee_minor, rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator,
       settlement_denominator, settlement_currency, due_atoms, address, required_confirmations, fee_bps, terms_mac, expires_at)
     select account_id, payment_id, 'pending', 'bitcoin', 'BTC', 'USD', 100, 1, 99, 1, 65000, 1, 'bench', now(), 1, 1, 'USD', 1000,
       address, 2, 100, sha256('bench'), now() + interval '1 hour'
     from generate_series($1::bigint, $2::bigint) as n
     join addresses a on a.chain = 'bitcoin' and a.lookup = '\\x0014'::bytea || substr(sha256(int8send(n)), 1, 20)`,
    [ADDRESSES - PAYMENTS, ADDRESSES - 1],
  )
  await db.query(
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
     select 'bitcoin', encode(sha256(int8send(n)), 'hex'), 0, '\\x0014'::bytea || substr(sha256(int8send(n)), 1, 20), 1000, 0
     from generate_series($1::bigint, $2::bigint) as n`,
    [ADDRESSES - PAYMENTS, ADDRESSES - 1],
  )
  await sealTerms(db)
  await db.query('vacuum analyze')
  const { rows } = await db.query<{ size: string }>(
    "select pg_size_pretty(pg_total_relation_size('addresses')) as size",
  )
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  process.stdout.write(`${ADDRESSES} addresses, ${rows[0]?.size}, filled in ${seconds} s\n`)
}

/** Settlers settle what Beck itself wrote, and nothing else. */
async function sealTerms(db: Database): Promise<void> {
  const { rows } = await db.query<{ accountId: AccountId; id: PaymentId }>(
    `select account_id as "accountId", payment_id as id from addresses
     where chain = 'bitcoin' and position >= $1 and payment_id is not null`,
    [firstPaid()],
  )
  for (const { accountId, id } of rows) {
    const payment = await findPayment(db, accountId, id)
    assert.ok(payment)
    await db.query('update payments set terms_mac = $3 where account_id = $1 and id = $2', [
      accountId,
      id,
      macOfTerms(TEST_SECRETS, payment),
    ])
  }
}

/** What is paid is held against its script, to the last letter; of the others no text is ever read. */
async function writePaidAddresses(db: Database): Promise<void> {
  const hashes: Buffer[] = []
  for (let position = firstPaid(); position < ADDRESSES; position++) hashes.push(await keyHash(db, position))
  const { rowCount } = await db.query(
    `update addresses a set address = paid.address from unnest($1::bytea[], $2::text[]) as paid (hash, address)
     where a.chain = 'bitcoin' and a.lookup = '\\x0014'::bytea || paid.hash`,
    [hashes, hashes.map((hash) => bech32.encode('bcrt', [0, ...bech32.toWords(hash)]))],
  )
  assert.equal(rowCount, hashes.length)
}

function firstPaid(): number {
  return ADDRESSES - (WARM_UPS + ROUNDS) * PAID_PER_BLOCK
}

async function measure(db: Database, port: ChainPort, least: LeastWork): Promise<boolean> {
  const gateway = gatewayOn(db, TEST_SECRETS)
  const first = { identity: 'bench', height: 0, hash: GENESIS, parentHash: GENESIS, time: new Date() }
  await db.transaction((tx) => openChain(tx, 'bitcoin', first, []))
  const lease = await takeLease(db, 'bitcoin', 'bench')
  assert.ok(lease)

  let parentHash = GENESIS
  let position = firstPaid()
  const figures: { bareMs: number; readMs: number; scanMs: number }[] = []
  for (let height = 1; height <= WARM_UPS + ROUNDS; height++) {
    const paying: { keyHash: Buffer; atoms: number }[] = []
    for (let i = 0; i < PAID_PER_BLOCK; i++)
      paying.push({ keyHash: await keyHash(db, position++), atoms: 1_000 + i })
    // Another block of the same kind for the least work, so that neither warms the pages of the other.
    const other = await least.find(hexOf(makeBlock(GENESIS, BLOCK_BYTES, await somePaid(db))))
    assert.equal(other.paid.length, PAID_PER_BLOCK)
    const made = makeBlock(parentHash, BLOCK_BYTES, paying)
    await node.show(made, height)

    const began = performance.now()
    const block = await port.readBlock(made.hash)
    const readAt = performance.now()
    const view = await applyBlock(gateway, lease, block)
    const scanMs = performance.now() - began
    assert.equal(view.tipHash, made.hash)
    await check(db, height, (await least.find(hexOf(made))).paid)
    // As the settlers of a gateway do before the next block.
    while (await settleNext(gateway));
    if (height > WARM_UPS) figures.push({ bareMs: other.tookMs, readMs: readAt - began, scanMs })
    if (height === 1)
      process.stdout.write(`blocks of ${made.bytes.length} bytes with ${made.outputs} outputs\n`)
    parentHash = made.hash
  }
  const bareMs = median(figures.map((each) => each.bareMs))
  const readMs = median(figures.map((each) => each.readMs))
  const scanMs = median(figures.map((each) => each.scanMs))
  const ratio = median(figures.map((each) => each.scanMs / each.bareMs))
  const good = scanMs <= SCAN_MS_MAX && ratio <= RATIO_MAX
  process.stdout.write(
    `decode, parse and one query ${bareMs.toFixed(0)} ms; whole scan ${scanMs.toFixed(0)} ms, of it ${readMs.toFixed(0)} ms ` +
      `to fetch and read the block (bar: at most ${SCAN_MS_MAX} ms)\n` +
      `ratio ${ratio.toFixed(2)} (bar: at most ${RATIO_MAX}): ${good ? 'met' : 'MISSED'}\n`,
  )
  return good
}

async function somePaid(db: Database) {
  const positions = new Set<number>()
  while (positions.size < PAID_PER_BLOCK) positions.add(Math.floor(Math.random() * firstPaid()))
  const paid: { keyHash: Buffer; atoms: number }[] = []
  for (const position of positions) paid.push({ keyHash: await keyHash(db, position), atoms: 1 })
  return paid
}

function hexOf(made: MadeBlock): string {
  return made.bytes.toString('hex')
}

/** Exactly what was paid to us became deposits, and UTXOs, and is all that the least work finds. */
async function check(db: Database, height: number, paid: readonly PaidOutput[]): Promise<void> {
  const atoms = paid.reduce((sum, output) => sum + output.atoms, 0n)
  assert.equal(atoms, BigInt(PAID_PER_BLOCK * 1_000 + (PAID_PER_BLOCK * (PAID_PER_BLOCK - 1)) / 2))
  const { rows: deposits } = await db.query<PaidOutput>(
    `select tx_key as txid, output_index as index, amount_atoms as atoms, payment_id as payment from deposits
     where block_height = $1 order by atoms`,
    [height],
  )
  assert.deepEqual(deposits, paid)
  const { rows: utxos } = await db.query<Omit<PaidOutput, 'payment'>>(
    'select txid, output_index as index, atoms from utxos where block_height = $1 order by atoms',
    [height],
  )
  assert.deepEqual(
    utxos,
    paid.map(({ txid, index, atoms }) => ({ txid, index, atoms })),
  )
}

/** The node is a thread of its own: what a node takes for its answers is not ours to measure. */
async function startStandIn() {
  const thread = new Worker(new URL('./block-scan/stand-in.ts', import.meta.url))
  const [port] = (await once(thread, 'message')) as [number]
  return {
    url: `http://127.0.0.1:${port}`,
    async show(made: MadeBlock, height: number): Promise<void> {
      thread.postMessage({ block: made.bytes, height })
      await once(thread, 'message')
    },
    close: () => thread.terminate(),
  }
}
