/** The port to a simulated chain, wherever it is kept. */
import { type Asset, hasAccounts, nativeAsset } from '../../core/assets.ts'
import { invariant, OutsideFailure } from '../../core/errors.ts'
import type { Database } from '../../db/database.ts'
import {
  type BatchSweeping,
  type ChainPort,
  type ChainTransaction,
  type Mempool,
  nonceAsOutpoint,
  type Outpoint,
  type TokensMoved,
} from '../chain.ts'
import { delegateAddress } from '../ethereum/delegate.ts'
import { accept } from './accept.ts'
import { isDelegated, isDeployed } from './calls.ts'
import {
  type ChainReads,
  claimKey,
  holdingKey,
  type SimulatedStorage,
  type SimulatedTransaction,
} from './chain-store.ts'
import { hintAt, hints } from './hints.ts'
import {
  ASSETS_OF_ACCOUNTS,
  lookupOf,
  SIMULATED_ETHEREUM_CHAIN_ID,
  SIMULATED_FEE_RATES,
  type SimulatedChainName,
} from './network.ts'
import { lockSimulatedChain, readsOf } from './store.sql.ts'

/** The port to a simulated chain in PostgreSQL; any number of processes may open one. */
export const createSimulatedChain = (options: { db: Database; chain: SimulatedChainName }): ChainPort =>
  simulatedPort({
    reads: readsOf(options.db, options.chain),
    change: (work) => options.db.transaction(async (tx) => work(await lockSimulatedChain(tx, options.chain))),
  })

const MEMPOOL_BATCH = 500

/** In one piece: the methods of the port, most of them a line or two. */
export function simulatedPort({ reads, change }: SimulatedStorage): ChainPort {
  const { chain } = reads
  const accounts = hasAccounts(chain)
  const shown = ({ txid, claims, outputs, debits }: SimulatedTransaction): ChainTransaction => ({
    key: txid,
    hash: txid,
    outputs,
    // Of what a call claims its sender's nonce comes first.
    inputs: accounts
      ? claims.slice(0, 1).map(({ txid: sender, index }) => nonceAsOutpoint(sender, index))
      : claims,
    ...(accounts ? { senders: debits.map(({ lookup }) => lookup) } : {}),
  })
  const lookAtMempool = mempoolLook(reads, shown)

  return {
    chain,

    async identity() {
      const first = await reads.blockAt(0)
      invariant(first, `${chain} has no first block; run the migrations`)
      return accounts ? `${SIMULATED_ETHEREUM_CHAIN_ID}:${first.hash}` : first.hash
    },

    tip: () => reads.tip(),

    async blockHash(height) {
      return (await reads.blockAt(height))?.hash ?? null
    },

    async readBlock(hash) {
      const block = await reads.block(hash)
      if (!block) {
        throw new OutsideFailure(`${chain} has no block ${hash}: it was reorganised away or pruned`, {
          retryable: true,
        })
      }
      return { ...block, transactions: block.transactions.map(shown) }
    },

    lookAtMempool: async (ledSince) => (accounts ? null : lookAtMempool(ledSince)),

    onHint(wake) {
      hints.on(chain, wake)
      return () => hints.off(chain, wake)
    },

    async broadcast(rawTransaction) {
      const outcome = await change((store) => accept(store, rawTransaction))
      if (outcome.kind === 'accepted') hintAt(chain)
      return outcome
    },

    async findTransaction(txid) {
      const placed = (await reads.transactions([txid])).get(txid)
      if (!placed?.block || !accounts) return placed ? { block: placed.block } : null
      return {
        block: placed.block,
        feeAtoms: gasPaid(placed.transaction),
        tokensMoved: tokensMoved(placed.transaction),
      }
    },

    holdings: ({ outpoints, addresses }) => (accounts ? held(reads, addresses) : unspent(reads, outpoints)),

    feeRates: async () => SIMULATED_FEE_RATES[chain],

    ...(accounts
      ? {
          nextNonce: (address: string) => reads.nextNonce(address.toLowerCase()),
          batchSweeping: (treasury: string, addresses: readonly string[]) =>
            batchSweeping(reads, treasury, addresses),
        }
      : {}),

    async close() {},
  }
}

/** Shows what entered the mempool since the last look. */
function mempoolLook(
  reads: ChainReads,
  shown: (transaction: SimulatedTransaction) => ChainTransaction,
): (ledSince: bigint) => Promise<Mempool> {
  const handedOver = new Set<string>()
  let shownSince: bigint | null = null
  return async (ledSince) => {
    if (ledSince !== shownSince) handedOver.clear()
    shownSince = ledSince
    const waiting = new Set(await reads.mempoolIds())
    const added = [...waiting.difference(handedOver)]
    for (const txid of handedOver.difference(waiting)) handedOver.delete(txid)
    return {
      has: (txid) => waiting.has(txid),
      added: (async function* () {
        for (let from = 0; from < added.length; from += MEMPOOL_BATCH) {
          const found = await reads.transactions(added.slice(from, from + MEMPOOL_BATCH))
          yield [...found.values()].map((placed) => shown(placed.transaction))
          // Only what the caller took in: when he fails in the middle, the next look shows the rest.
          for (const txid of found.keys()) handedOver.add(txid)
        }
      })(),
    }
  }
}

/** What left its sender beside what arrived; coins out of nowhere cost nobody anything. */
function gasPaid({ debits, outputs }: SimulatedTransaction): bigint {
  const ether = (moves: readonly { asset: Asset; atoms: bigint }[]): bigint =>
    moves.reduce((sum, move) => (move.asset === 'ETH' ? sum + move.atoms : sum), 0n)
  return debits.length === 0 ? 0n : ether(debits) - ether(outputs)
}

const tokensMoved = ({ debits }: SimulatedTransaction): TokensMoved[] =>
  debits.flatMap(({ lookup, asset, atoms }) =>
    asset === 'ETH' || atoms === 0n ? [] : [{ from: lookup, asset, atoms }],
  )

async function batchSweeping(
  reads: ChainReads,
  treasury: string,
  addresses: readonly string[],
): Promise<BatchSweeping> {
  const accounts: BatchSweeping['accounts'][number][] = []
  for (const address of addresses.map((each) => each.toLowerCase()))
    accounts.push({
      nonce: await reads.nextNonce(address),
      delegates: await isDelegated(reads, address, treasury),
    })
  return { delegate: delegateAddress(treasury), isDeployed: await isDeployed(reads, treasury), accounts }
}

async function held(
  reads: ChainReads,
  addresses: readonly string[],
): Promise<Partial<Record<Asset, bigint>>> {
  const lookups = addresses.flatMap((address) => lookupOf(reads.chain, address) ?? [])
  const balances = await reads.balances(lookups)
  const total = (asset: Asset): bigint => {
    const keys = new Set(lookups.map((lookup) => holdingKey({ lookup, asset })))
    return [...keys].reduce((sum, key) => sum + (balances.get(key) ?? 0n), 0n)
  }
  return Object.fromEntries(ASSETS_OF_ACCOUNTS.map((asset) => [asset, total(asset)]))
}

/** Outputs in a block that nothing in a block spends. */
async function unspent(
  reads: ChainReads,
  outpoints: readonly Outpoint[],
): Promise<Partial<Record<Asset, bigint>>> {
  const [parents, spenders] = await Promise.all([
    reads.transactions([...new Set(outpoints.map((outpoint) => outpoint.txid))]),
    reads.claimants(outpoints),
  ])
  let atoms = 0n
  for (const outpoint of outpoints) {
    const parent = parents.get(outpoint.txid)
    if (!parent?.block || spenders.get(claimKey(outpoint))?.block) continue
    atoms += parent.transaction.outputs.find((output) => output.index === outpoint.index)?.atoms ?? 0n
  }
  return { [nativeAsset(reads.chain)]: atoms }
}
