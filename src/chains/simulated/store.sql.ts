/** The simulated chain in PostgreSQL. Every answer comes from one statement, so that no reader sees half a change. */
import type { Asset } from '../../core/assets.ts'
import { invariant } from '../../core/errors.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { arraysOf } from '../../db/row-statements.ts'
import type { BlockRef } from '../chain.ts'
import { readBody, writeBody } from './body.ts'
import {
  type Balances,
  type ChainReads,
  type ChainStore,
  claimKey,
  holdingKey,
  type Placed,
  type SimulatedTransaction,
} from './chain-store.ts'
import { newSimulatedHash, SIMULATED_CHAINS, type SimulatedChainName } from './network.ts'

/**
 * Empty blocks this far below the tip are pruned: half a day at one block in five seconds. Reorganisations and
 * watchers that catch up stay far above it: nobody mines on where half as many wait (src/flows/sandbox.ts).
 */
export const BLOCKS_KEPT = 10_000

interface BlockRow {
  height: bigint
  hash: string
}
const blockRef = (row: BlockRow): BlockRef => ({ height: Number(row.height), hash: row.hash })

interface PlacedRow {
  body: unknown
  height: bigint | null
  hash: string | null
}
const placed = ({ body, height, hash }: PlacedRow): Placed => ({
  transaction: readBody(body),
  block: height === null || hash === null ? null : { height: Number(height), hash },
})

/** In one piece: every method is one statement, and none knows another. */
export function readsOf(db: Queryable, chain: SimulatedChainName): ChainReads {
  return {
    chain,

    async tip() {
      const { rows } = await db.query<BlockRow>(
        'select height, hash from sim_blocks where chain = $1 order by height desc limit 1',
        [chain],
        'prepared',
      )
      invariant(rows[0], `${chain} has no first block; run the migrations`)
      return blockRef(rows[0])
    },

    async blockAt(height) {
      const { rows } = await db.query<BlockRow>(
        'select height, hash from sim_blocks where chain = $1 and height = $2',
        [chain, height],
        'prepared',
      )
      return rows[0] ? blockRef(rows[0]) : null
    },

    async block(hash) {
      const { rows } = await db.query<BlockRow & { parent_hash: string; block_time: Date; body: unknown }>(
        `select b.height, b.hash, b.parent_hash, b.block_time, t.body
         from sim_blocks b left join sim_transactions t on t.chain = b.chain and t.height = b.height
         where b.chain = $1 and b.hash = $2 order by t.sequence`,
        [chain, hash],
      )
      const first = rows[0]
      if (!first) return null
      const transactions = rows.filter((row) => row.body !== null).map((row) => readBody(row.body))
      return {
        ...blockRef(first),
        parentHash: first.parent_hash,
        timeMs: first.block_time.getTime(),
        transactions,
      }
    },

    async transactions(txids) {
      const { rows } = await db.query<PlacedRow & { txid: string }>(
        `select t.txid, t.body, b.height, b.hash
         from sim_transactions t left join sim_blocks b on b.chain = t.chain and b.height = t.height
         where t.chain = $1 and t.txid = any($2::text[])`,
        [chain, txids],
      )
      return new Map(rows.map((row) => [row.txid, placed(row)]))
    },

    async claimants(claims) {
      const { rows } = await db.query<PlacedRow & { name: string; position: bigint }>(
        `select c.name, c.position, t.body, b.height, b.hash
         from unnest($2::text[], $3::bigint[]) as wanted (name, position)
         join sim_claims c on c.chain = $1 and c.name = wanted.name and c.position = wanted.position
         join sim_transactions t on t.chain = c.chain and t.txid = c.txid
         left join sim_blocks b on b.chain = t.chain and b.height = t.height`,
        [chain, ...arraysOf(claims, 'txid', 'index')],
      )
      return new Map(
        rows.map((row) => [claimKey({ txid: row.name, index: Number(row.position) }), placed(row)]),
      )
    },

    async mempool() {
      const { rows } = await db.query<{ body: unknown }>(
        'select body from sim_transactions where chain = $1 and height is null order by sequence',
        [chain],
      )
      return rows.map((row) => readBody(row.body))
    },

    async mempoolIds() {
      const { rows } = await db.query<{ txid: string }>(
        'select txid from sim_transactions where chain = $1 and height is null order by sequence',
        [chain],
      )
      return rows.map((row) => row.txid)
    },

    async nextNonce(sender) {
      const { rows } = await db.query<{ position: bigint }>(
        `select c.position from sim_claims c join sim_transactions t on t.chain = c.chain and t.txid = c.txid
         where c.chain = $1 and c.name = $2 and t.height is not null order by c.position desc limit 1`,
        [chain, sender],
      )
      return rows[0] ? rows[0].position + 1n : 0n
    },

    async balances(lookups) {
      const { rows } = await db.query<{ lookup: Buffer; asset: Asset; atoms: bigint }>(
        'select lookup, asset, atoms from sim_balances where chain = $1 and lookup = any($2::bytea[])',
        [chain, lookups.map((lookup) => Buffer.from(lookup))],
      )
      return new Map(rows.map((row) => [holdingKey(row), row.atoms]))
    },
  }
}

/**
 * Takes a chain to change it: locks its one row, so that every other writer waits until this transaction ends.
 *
 * In one piece: every method is a statement or two, and none knows another.
 */
export async function lockSimulatedChain(tx: Tx, chain: SimulatedChainName): Promise<ChainStore> {
  const { rowCount } = await tx.query('select from sim_chains where chain = $1 for update', [chain])
  invariant(rowCount === 1, `${chain} has no row in sim_chains; run the migrations`)
  return {
    ...readsOf(tx, chain),
    newHash: () => newSimulatedHash(chain),

    async addToMempool(transaction) {
      await tx.query('insert into sim_transactions (chain, txid, body) values ($1, $2, $3)', [
        chain,
        transaction.txid,
        writeBody(transaction),
      ])
      await insertClaims(tx, chain, transaction)
    },

    async rewrite(transaction) {
      const { txid } = transaction
      await tx.query('update sim_transactions set body = $3 where chain = $1 and txid = $2', [
        chain,
        txid,
        writeBody(transaction),
      ])
      await tx.query('delete from sim_claims where chain = $1 and txid = $2', [chain, txid])
      await insertClaims(tx, chain, transaction)
    },

    async removeFromMempool(txids) {
      if (txids.length === 0) return
      await tx.query(
        'delete from sim_transactions where chain = $1 and txid = any($2::text[]) and height is null',
        [chain, txids],
      )
    },

    async append(blocks, txids) {
      const first = blocks[0]
      if (!first) return
      await tx.query(
        `insert into sim_blocks (chain, height, hash, parent_hash, block_time)
         select $1, height, hash, parent_hash, clock_timestamp()
         from unnest($2::bigint[], $3::text[], $4::text[]) as mined (height, hash, parent_hash)`,
        [chain, ...arraysOf(blocks, 'height', 'hash', 'parentHash')],
      )
      if (txids.length > 0) {
        await tx.query(
          'update sim_transactions set height = $2 where chain = $1 and txid = any($3::text[])',
          [chain, first.height, txids],
        )
      }
      await prune(tx, chain, first.height - BLOCKS_KEPT, blocks.length)
    },

    async cut(height) {
      const { rows } = await tx.query<{ body: unknown }>(
        'update sim_transactions set height = null where chain = $1 and height > $2 returning body',
        [chain, height],
      )
      await tx.query('delete from sim_blocks where chain = $1 and height > $2', [chain, height])
      return rows.map((row) => readBody(row.body))
    },

    async setBalances(balances: Balances) {
      const entries = [...balances].map(([key, atoms]) => ({ parts: key.split(':'), atoms }))
      if (entries.length === 0) return
      await tx.query(
        `insert into sim_balances (chain, lookup, asset, atoms)
         select $1, decode(lookup, 'hex'), asset, atoms
         from unnest($2::text[], $3::text[], $4::numeric[]) as held (lookup, asset, atoms)
         on conflict (chain, lookup, asset) do update set atoms = excluded.atoms`,
        [
          chain,
          entries.map(({ parts }) => parts[0]),
          entries.map(({ parts }) => parts[1]),
          entries.map(({ atoms }) => atoms),
        ],
      )
    },
  }
}

async function insertClaims(
  tx: Tx,
  chain: SimulatedChainName,
  { txid, claims }: SimulatedTransaction,
): Promise<void> {
  await tx.query(
    `insert into sim_claims (chain, name, position, txid)
     select $1, name, position, $4 from unnest($2::text[], $3::bigint[]) as claimed (name, position)`,
    [chain, ...arraysOf(claims, 'txid', 'index'), txid],
  )
}

/** As many blocks as were mined fall out of what is kept; of these the empty ones go. Block 0 stays for ever. */
async function prune(tx: Tx, chain: SimulatedChainName, from: number, count: number): Promise<void> {
  if (from + count <= 1) return
  await tx.query(
    `delete from sim_blocks b where b.chain = $1 and b.height > 0 and b.height >= $2 and b.height < $3
       and not exists (select from sim_transactions t where t.chain = b.chain and t.height = b.height)`,
    [chain, from, from + count],
  )
}

/** The chains whose newest block is at least this old. A plain read: who mines looks again under the lock. */
export async function chainsDue(db: Queryable, ageMs: number): Promise<SimulatedChainName[]> {
  const { rows } = await db.query<{ chain: SimulatedChainName }>(
    `select wanted.chain from unnest($1::text[]) as wanted (chain)
     where (select b.block_time from sim_blocks b where b.chain = wanted.chain order by b.height desc limit 1)
       <= clock_timestamp() - $2::double precision * interval '1 millisecond'`,
    [SIMULATED_CHAINS, ageMs],
    'prepared',
  )
  return rows.map((row) => row.chain)
}
