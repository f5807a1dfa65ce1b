/** Simulated chains for tests, in memory and in PostgreSQL, and wallets that sign for them. */
import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { p2wpkh, TEST_NETWORK, Transaction } from '@scure/btc-signer'
import { pubECDSA } from '@scure/btc-signer/utils.js'
import { encodeFunctionData, erc20Abi, parseEther, type TransactionSerializableEIP1559 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { ChainPort, ChainTransaction, Mempool } from '../src/chains/chain.ts'
import type { SimulatedStorage } from '../src/chains/simulated/chain-store.ts'
import { mint } from '../src/chains/simulated/ledger.ts'
import { createMemoryStorage } from '../src/chains/simulated/memory.ts'
import {
  lookupOf,
  SIMULATED_ETHEREUM_CHAIN_ID,
  SIMULATED_TOKENS,
  type SimulatedChainName,
} from '../src/chains/simulated/network.ts'
import { createSimulatedChain, simulatedPort } from '../src/chains/simulated/simulated-chain.ts'
import { lockSimulatedChain, readsOf } from '../src/chains/simulated/store.sql.ts'
import type { Asset } from '../src/core/assets.ts'
import type { Database } from '../src/db/database.ts'
import { testDatabase } from './database.ts'

/** As wallets write their addresses; Litecoin's as Litecoin Core, `CTestNetParams`. */
const SIMULATED_BITCOIN_NETWORKS = {
  'sim-bitcoin': TEST_NETWORK,
  'sim-litecoin': { bech32: 'tltc', pubKeyHash: 0x6f, scriptHash: 0x3a, wif: 0xef },
} as const

export interface TestChain {
  readonly port: ChainPort
  readonly storage: SimulatedStorage
  readonly change: SimulatedStorage['change']
}

type Open = (chain: SimulatedChainName) => Promise<TestChain>

/** Tells the same stories over both storages; each `open` gives an empty chain. */
export function onBothStorages(stories: (open: Open) => void): void {
  suite('in memory', () => stories(async (chain) => memoryChain(chain)))
  suite('in PostgreSQL', async () => {
    const db = await testDatabase()
    stories((chain) => emptyChain(db, chain))
  })
}

export function memoryChain(chain: SimulatedChainName, seed = 'test'): TestChain {
  const storage = createMemoryStorage({ chain, seed, now: () => 0 })
  return { port: simulatedPort(storage), storage, change: storage.change }
}

export async function emptyChain(db: Database, chain: SimulatedChainName): Promise<TestChain> {
  await db.transaction(async (tx) => {
    for (const table of ['sim_claims', 'sim_transactions', 'sim_balances'])
      await tx.query(`delete from ${table}`)
    await tx.query('delete from sim_blocks where height > 0')
  })
  const change: TestChain['change'] = (work) =>
    db.transaction(async (tx) => work(await lockSimulatedChain(tx, chain)))
  return { port: createSimulatedChain({ db, chain }), storage: { reads: readsOf(db, chain), change }, change }
}

export function lookup(chain: SimulatedChainName, address: string): Uint8Array {
  const found = lookupOf(chain, address)
  assert.ok(found, `${address} is an address of ${chain}`)
  return found
}

export const send = (chain: TestChain, address: string, asset: Asset, atoms: bigint): Promise<string> =>
  chain.change((store) => mint(store, { lookup: lookup(store.chain, address), asset, atoms }))

export type BitcoinLike = 'sim-bitcoin' | 'sim-litecoin'

export function wallet(chain: BitcoinLike, fill: number) {
  const key = new Uint8Array(32).fill(fill)
  const payment = p2wpkh(pubECDSA(key), SIMULATED_BITCOIN_NETWORKS[chain])
  assert.ok(payment.address)
  return { address: payment.address, script: payment.script, key }
}

interface Utxo {
  readonly txid: string
  readonly index: number
  readonly atoms: bigint
}
export interface Spending {
  readonly from: ReturnType<typeof wallet>
  readonly utxos: readonly Utxo[]
  readonly to: string
  readonly atoms: bigint
}

export function spend(
  chain: BitcoinLike,
  { from, utxos, to, atoms }: Spending,
): { txid: string; raw: string } {
  const transaction = new Transaction()
  for (const utxo of utxos) {
    transaction.addInput({
      txid: utxo.txid,
      index: utxo.index,
      sequence: 0xfffffffd,
      witnessUtxo: { script: from.script, amount: utxo.atoms },
    })
  }
  transaction.addOutputAddress(to, atoms, SIMULATED_BITCOIN_NETWORKS[chain])
  transaction.sign(from.key)
  transaction.finalize()
  return { txid: transaction.id, raw: transaction.hex }
}

export const GWEI = 1_000_000_000n
export const owner = privateKeyToAccount(`0x${'11'.repeat(32)}`)
export const buyer = privateKeyToAccount(`0x${'22'.repeat(32)}`).address

/** One ether to the buyer, unless told otherwise. */
export const transfer = (change: Partial<TransactionSerializableEIP1559> = {}) =>
  owner.signTransaction({
    type: 'eip1559',
    chainId: SIMULATED_ETHEREUM_CHAIN_ID,
    to: buyer,
    value: parseEther('1'),
    gas: 21_000n,
    maxFeePerGas: 2n * GWEI,
    maxPriorityFeePerGas: GWEI / 10n,
    nonce: 0,
    ...change,
  })

export const tokenTransfer = (token: 'USDC' | 'USDT', atoms: bigint, nonce: number) =>
  transfer({
    to: SIMULATED_TOKENS[token],
    value: 0n,
    gas: 60_000n,
    nonce,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [buyer, atoms] }),
  })

export async function addedTo(mempool: Mempool | null): Promise<ChainTransaction[]> {
  assert.ok(mempool)
  return (await Array.fromAsync(mempool.added)).flat()
}
