/**
 * Everything that the keystore's words own, found on the chains without any database: addresses are derived in order, and
 * asked for on the chain, until a whole gap of them holds nothing. Coins of Bitcoin and Litecoin that were not known
 * become the operator's capital and can be paid out; those of Ethereum are named, with the path that any wallet knows.
 */
import type { ChainPort, FoundFunds } from '../../chains/chain.ts'
import { endLease } from '../../chains/chain-progress.sql.ts'
import { type Asset, type ChainName, hasAccounts, isSimulated, networkOfChain } from '../../core/assets.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { lockTip } from '../../proof/prove-block.sql.ts'
import { searchCapitalAgain } from '../../treasury/unexpected-deposits.sql.ts'
import { recordFoundUtxos } from '../../treasury/utxos.sql.ts'
import { withholdFresh } from '../../wallets/address-pool.sql.ts'
import {
  accountPath,
  type Branch,
  DEPOSIT_BRANCH,
  INTERNAL_BRANCH,
  readAccountKey,
} from '../../wallets/derivation.ts'
import { currentWallets, type Wallet } from '../../wallets/wallets.sql.ts'
import type { Gateway } from '../gateway.ts'
import { meetChain } from '../watching/observe-chain.ts'

export interface Find {
  readonly chain: ChainName
  readonly asset: Asset
  readonly atoms: bigint
  readonly address: string
  /** BIP-32, from the words. */
  readonly path: string
}

export interface Search {
  readonly finds: readonly Find[]
  /** Coins that were not known before and are now, by chain. */
  readonly recorded: Readonly<Partial<Record<ChainName, number>>>
  /** Chains of live wallets that nobody was asked about: what lies there was not looked for. */
  readonly notSearched: readonly ChainName[]
}

const TRIES_MAX = 5
const BRANCHES: readonly Branch[] = [DEPOSIT_BRANCH, INTERNAL_BRANCH]

/**
 * @param gap - As many addresses in a row without funds end the search. Beck derives thousands ahead of a busy shop, a
 *   restore withholds as many, and buyers who never pay leave gaps, as do strangers who only ask for addresses: ten thousand
 *   are not much. None comes back to the pool, for a buyer who was shown one may pay to it at any later time.
 * @throws {OutsideFailure} when a node does not answer, or the chain does not hold still.
 */
export async function findFunds(gateway: Gateway, ports: readonly ChainPort[], gap: number): Promise<Search> {
  const finds: Find[] = []
  const recorded: Partial<Record<ChainName, number>> = {}
  const notSearched: ChainName[] = []
  for (const wallet of await currentWallets(gateway.db, gateway.secrets)) {
    const port = ports.find(({ chain }) => chain === wallet.chain)
    if (!port?.findFunds) {
      if (!isSimulated(wallet.chain)) notSearched.push(wallet.chain)
      continue
    }
    await meetChain(gateway, port)
    // Most funds lie within the first gap, and one pass suffices for them.
    let end = 2 * gap
    for (let attempt = 1; ; attempt++) {
      const found = await searchChain(wallet, (lookups) => askFor(port, lookups), gap, end)
      end = found.end
      const added = hasAccounts(wallet.chain) ? 0 : await record(gateway, wallet, found, gap)
      if (added === null && attempt < TRIES_MAX) continue
      if (added === null)
        throw new OutsideFailure(
          `${wallet.chain} moved on while it was searched, or Beck is behind it; try again`,
          { retryable: true },
        )
      finds.push(
        ...found.finds.map(({ asset, atoms, address, path }) => ({
          chain: wallet.chain,
          asset,
          atoms,
          address,
          path,
        })),
      )
      if (added > 0) recorded[wallet.chain] = added
      break
    }
  }
  return { finds, recorded, notSearched }
}

const askFor = async (port: ChainPort, lookups: readonly Uint8Array[]): Promise<FoundFunds> => {
  if (port.findFunds) return port.findFunds(lookups)
  throw new OutsideFailure(`${port.chain} cannot be searched`, { retryable: false })
}

interface SearchedAddress {
  readonly branch: Branch
  readonly position: bigint
  readonly address: string
  readonly lookup: Uint8Array
}

interface LocatedFind extends Find, SearchedAddress {
  readonly utxo: FoundFunds['funds'][number]['utxo']
}

interface Found {
  /** How many addresses of each branch were asked for. */
  readonly end: number
  readonly at: FoundFunds['at']
  readonly finds: readonly LocatedFind[]
}

/**
 * Asks for all addresses at once, and for twice as many as long as some near the end hold something: what counts is the
 * last answer alone, which is of one block. A pass over Bitcoin's UTXOs takes minutes however many are asked for, and
 * another block may come between two.
 */
async function searchChain(
  wallet: Wallet,
  ask: (lookups: readonly Uint8Array[]) => Promise<FoundFunds>,
  gap: number,
  firstEnd: number,
): Promise<Found> {
  const { chain, mode } = wallet
  const key = readAccountKey(chain, mode, wallet.xpub)
  const root = accountPath(networkOfChain(chain), mode)
  const searched = new Map<string, SearchedAddress>()
  for (let end = firstEnd, derived = 0; ; end *= 2) {
    for (; derived < end; derived++) {
      for (const branch of BRANCHES) {
        const address = { branch, position: BigInt(derived), ...key.derive(branch, BigInt(derived)) }
        searched.set(Buffer.from(address.lookup).toString('hex'), address)
      }
    }
    const { at, funds } = await ask([...searched.values()].map(({ lookup }) => lookup))
    const finds = funds.flatMap(({ lookup, asset, atoms, utxo }) => {
      const address = searched.get(Buffer.from(lookup).toString('hex'))
      if (!address) return []
      const path = `${root}/${address.branch}/${address.position}`
      return [{ ...address, chain, asset, atoms, utxo, path }]
    })
    if (finds.every(({ position }) => position + BigInt(gap) < end)) return { end, at, finds }
  }
}

/** @returns How many UTXOs are new; null when the chain is not where our view of it is. */
async function record(
  gateway: Gateway,
  wallet: Wallet,
  { at, finds }: Found,
  gap: number,
): Promise<number | null> {
  const { chain } = wallet
  if (finds.length === 0) return 0
  const end = (branch: Branch) =>
    finds.reduce(
      (most, find) => (find.branch === branch && find.position >= most ? find.position + 1n : most),
      0n,
    )
  // Whoever searches has lost what was handed out: nothing up to a gap beyond the last find is handed out again.
  await withholdFresh(gateway.db, gateway.secrets, () => gap, {
    chain,
    fresh: end(DEPOSIT_BRANCH),
    internal: end(INTERNAL_BRANCH),
  })
  return gateway.db.transaction(async (tx) => {
    if ((await lockTip(tx, chain))?.hash !== at.hash) return null
    const utxos = finds.flatMap(({ utxo, lookup, atoms }) => (utxo ? [{ ...utxo, lookup, atoms }] : []))
    // They may lie in blocks that were searched for capital before anybody knew of them.
    const lowest = Math.min(...utxos.map(({ height }) => height))
    if (utxos.length > 0) await searchCapitalAgain(tx, chain, lowest - 1)
    const recorded = await recordFoundUtxos(tx, chain, utxos)
    // A watcher that has read the next block may have looked already for what it spends of ours.
    if (recorded > 0) await endLease(tx, chain)
    return recorded
  })
}
