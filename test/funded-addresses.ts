/**
 * Ethereum with many funded addresses: their deposits in the database, and a stand-in for the node that answers late and goes
 * on block by block. For size alone; what a node really says is proven on Anvil.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { ChainPort } from '../src/chains/chain.ts'
import { createMemoryStorage } from '../src/chains/simulated/memory.ts'
import { simulatedPort } from '../src/chains/simulated/simulated-chain.ts'
import { OutsideFailure } from '../src/core/errors.ts'
import type { Database } from '../src/db/database.ts'
import { recordAddressSpends } from '../src/proof/address-spends.sql.ts'
import { testAccount } from './gateway.ts'

const CHAIN = 'ethereum'
const HOT_WALLET = `0x${'f'.repeat(40)}`
const ATOMS = 1_000n
/** A full node has the state of so many blocks. */
const STATE_BLOCKS = 128
const WORDS_PER_CALL = 250

export interface FundedAddresses {
  readonly port: ChainPort
  /** Some of the addresses, in their order. */
  addressAt(part: number): Promise<string>
  /** The node makes a block, and the watcher sees it. */
  addBlock(): Promise<void>
  /**
   * From the next block on an address has less than the books say: by a transaction that the block shows, as who has its key
   * sends one, or by code that moves ether without a trace.
   */
  steal(address: string, atoms: bigint, by?: 'transaction' | 'code'): void
}

export async function fundAddresses(
  db: Database,
  of: {
    readonly addresses: number
    /** Transactions of ours that no block holds yet. */
    readonly underWay: number
    readonly latencyMs: number
    /** Called whenever the node is asked anything. */
    onCall?(): Promise<void>
  },
): Promise<FundedAddresses> {
  const account = await testAccount({ db })
  let height = 1_000
  const hashOf = (of: number) => `block ${of}`
  await fill(db, account.id, of.addresses, of.underWay, height)
  const stolen = new Map<string, { height: number; atoms: bigint; by: 'transaction' | 'code' }>()
  const answer = async () => {
    await of.onCall?.()
    if (of.latencyMs > 0) await wait(of.latencyMs)
  }
  const port: ChainPort = {
    ...simulatedPort(createMemoryStorage({ chain: 'sim-ethereum', seed: 'many', now: () => 0 })),
    chain: CHAIN,
    async tip() {
      await answer()
      return { height, hash: hashOf(height), parentHash: hashOf(height - 1), time: new Date() }
    },
    async blockHash(at) {
      await answer()
      return at <= height ? hashOf(at) : null
    },
    async findTransaction() {
      await answer()
      return { block: null }
    },
    async etherAt() {
      throw new Error('the proof reads all coins of an address at once')
    },
    async holdings({ addresses, at }) {
      // As the adapter does: calls of some hundred addresses, a hundred of them in one batch.
      for (let start = 0; start === 0 || start < addresses.length; start += WORDS_PER_CALL * 100)
        await answer()
      const asked = Number(at?.slice('block '.length) ?? height)
      if (asked <= height - STATE_BLOCKS || asked > height)
        throw new OutsideFailure(`missing trie node of ${at}`, { retryable: true })
      const held = addresses.reduce((sum, address) => {
        const theft = stolen.get(address)
        if (address === HOT_WALLET) return sum - (theft && theft.height <= asked ? theft.atoms : 0n)
        return sum + ATOMS - (theft && theft.height <= asked ? theft.atoms : 0n)
      }, 0n)
      return { ETH: held + (addresses.includes(HOT_WALLET) ? ATOMS : 0n), USDC: 0n, USDT: 0n }
    },
  }
  return {
    port,
    async addressAt(part) {
      const { rows } = await db.query<{ address: string }>(
        `select address from deposits where chain = $1 order by address offset $2 limit 1`,
        [CHAIN, Math.floor(part * (of.addresses - 1))],
      )
      return rows[0]?.address ?? ''
    },
    async addBlock() {
      height += 1
      const senders = [...stolen]
        .filter(([, theft]) => theft.height === height && theft.by === 'transaction')
        .map(([address]) => Buffer.from(address.slice(2), 'hex'))
      const transactions = [{ key: 'theft', hash: 'theft', outputs: [], inputs: [], senders }]
      await db.transaction((tx) => recordAddressSpends(tx, CHAIN, { height, transactions }))
      await db.query(
        `update chains set tip_height = $2, tip_hash = $3, tip_time = now(), polled_at = now() where chain = $1`,
        [CHAIN, height, hashOf(height)],
      )
    },
    steal: (address, atoms, by = 'code') => stolen.set(address, { height: height + 1, atoms, by }),
  }
}

async function fill(db: Database, accountId: string, addresses: number, underWay: number, tip: number) {
  await db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
     values ($1, 'ETH', 'stand-in', $2, 'block ' || $2::bigint, now(), now())`,
    [CHAIN, tip],
  )
  const payment = '00000000-0000-7000-8000-000000000001'
  await db.query(
    `insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor, quoted_fee_minor,
       rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator, settlement_denominator, settlement_currency, due_atoms, address,
       required_confirmations, fee_bps, expires_at, terms_mac)
     values ($1, $2, 'underpaid', $3, 'ETH', 'USD', 100, 0, 100, 0, 1, 1, 'test', now(), 1, 1, 'USD', 1, 'any', 1, 0, now(), sha256('mac'))`,
    [accountId, payment, CHAIN],
  )
  await db.query(
    `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
       block_height, block_hash, required_confirmations, seen_at, late, dust, bookings, booked, mac)
     select $1, gen_random_uuid(), $2, $3, 'ETH', 'tx' || n, -1, '0x' || md5(n::text) || substr(md5('more' || n), 1, 8), $4,
       'confirmed', 1 + n % 800, 'block', 1, now(), false, false, 1, true, sha256('mac')
     from generate_series(1, $5::integer) n`,
    [accountId, payment, CHAIN, ATOMS, addresses],
  )
  await db.query(
    `insert into addresses (chain, lookup, address, branch, position, series, mac)
     values ($1, decode(repeat('ff', 20), 'hex'), $2, 1, 0, 'test', sha256('mac'))`,
    [CHAIN, HOT_WALLET],
  )
  await db.query(
    `insert into addresses (chain, lookup, address, branch, position, series, mac)
     select $1, decode(substr(address, 3), 'hex'), address, 0, substr(tx_key, 3)::bigint, 'test', sha256('mac') from deposits
     where chain = $1`,
    [CHAIN],
  )
  await db.query(
    `insert into unexpected_deposits (chain, tx_key, output_index, lookup, asset, atoms, block_height)
     values ($1, 'capital', -1, decode(repeat('ff', 20), 'hex'), 'ETH', $2, 1)`,
    [CHAIN, ATOMS],
  )
  await db.query(
    `with entry as (
       insert into journal_entries (account_id, id, kind, subject_id, number)
       select account_id, gen_random_uuid(), 'deposit', id::text, 1 from deposits where chain = $1
       union all
       select '00000000-0000-0000-0000-000000000000'::uuid, gen_random_uuid(), 'capital', 'capital', -1
       returning account_id, id, kind)
     insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms)
     select account_id, id, 0, $1, 'ETH', 'wallet', case kind when 'capital' then 'capital' else 'unresolved' end, $2::numeric
     from entry`,
    [CHAIN, ATOMS],
  )
  const held = [accountId, CHAIN, ATOMS * BigInt(addresses)]
  await db.query(
    `insert into balances (account_id, asset, kind, chain, atoms) values ($1, 'ETH', 'unresolved', $2, $3)`,
    held,
  )
  await db.query(
    `insert into unresolved_funds (account_id, payment_id, asset, atoms) select $1, id, 'ETH', $3 from payments where chain = $2`,
    held,
  )
  await db.query(
    `insert into signed_transactions (chain, txid, replacement_set, kind, status, raw, asset, value_atoms, sender, nonce, fee_atoms, fee_rate,
       sent_at)
     select $1, 'own' || n, 'own' || n, 'sweep', 'sent', '0x', 'ETH', 0, $2, n, 1, 1, now() from generate_series(1, $3::integer) n`,
    [CHAIN, HOT_WALLET, underWay],
  )
  await db.query('analyze')
}

export { HOT_WALLET as STAND_IN_HOT_WALLET }
