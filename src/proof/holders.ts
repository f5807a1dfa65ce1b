/**
 * What holds money of ours on a chain: outputs that nothing spends, deposit addresses, the hot wallet. They are read from the
 * database page by page, each page at a block of its own, so that any number of them is proven while the chain goes on.
 */
import type { ChainPort, TokensMoved } from '../chains/chain.ts'
import type { ChainProgress } from '../chains/chain-progress.sql.ts'
import { type Asset, type ChainName, hasAccounts, nativeAsset } from '../core/assets.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import { findStrays, type Holder, type Stray } from './compare-chain.ts'
import {
  findAddresses,
  listFundedAddresses,
  listHotWallets,
  listUncertain,
  listUnspent,
  type Sums,
  sumAddresses,
  type UncertainTransaction,
} from './holdings.sql.ts'

/** Which UTXOs or addresses to ask the chain about. */
export interface Slice {
  readonly aboveHeight: number
  /** Only holders behind this one, in their order. */
  readonly after: string
  /** Only addresses up to this one; without it as many as the limit takes. */
  readonly upTo?: string
  readonly limit: number
}

/** Holders of one slice; `next` is where a following slice begins. */
export interface HolderPage {
  readonly holders: readonly Holder[]
  readonly next: string | null
  /** Transactions that only the chain can locate: they are in no holder's sum yet. */
  readonly uncertain: readonly UncertainTransaction[]
}

export const readPage = (tx: Queryable, chain: ChainName, slice: Slice): Promise<HolderPage> =>
  hasAccounts(chain) ? readAddresses(tx, chain, slice) : readUtxos(tx, chain, slice)

async function readUtxos(tx: Queryable, chain: ChainName, slice: Slice): Promise<HolderPage> {
  const asset = nativeAsset(chain)
  const utxos = await listUnspent(tx, chain, slice)
  const last = utxos.at(-1)
  return {
    holders: utxos.map(({ txid, index, atoms }) => ({
      subject: `coin ${txid}:${index}`,
      query: { outpoints: [{ txid, index }], addresses: [] },
      atoms: new Map([[asset, atoms]]),
    })),
    next: last && utxos.length === slice.limit ? `${last.txid}:${last.index}` : null,
    uncertain: [],
  }
}

async function readAddresses(tx: Queryable, chain: ChainName, slice: Slice): Promise<HolderPage> {
  const addresses = await listFundedAddresses(tx, chain, slice)
  const uncertain = await listUncertain(tx, chain)
  const sums = new Map<string, Sums>(addresses.map((address) => [address, new Map()]))
  const aside = uncertain.map(({ txid }) => txid)
  for (const { address, asset, atoms } of await sumAddresses(tx, chain, addresses, aside))
    sums.get(address)?.set(asset, atoms)
  const last = addresses.at(-1)
  return {
    holders: [...sums].map(([address, atoms]) => ({
      subject: `address ${address}`,
      query: { outpoints: [], addresses: [address] },
      atoms,
    })),
    next: last && addresses.length === slice.limit ? last : null,
    uncertain,
  }
}

/** Asks the chain about a page as it was at our tip. */
export async function findPageStrays(
  port: ChainPort,
  page: HolderPage,
  progress: ChainProgress,
  locator: Locator,
): Promise<Stray[]> {
  const located = await locator(page.uncertain, progress)
  return findStrays(
    port,
    page.holders.map((holder) => withLocated(holder, located)),
    progress.tipHash,
  )
}

function withLocated(holder: Holder, located: readonly Located[]): Holder {
  const [address] = holder.query.addresses
  const atoms: Sums = new Map(holder.atoms)
  const add = (asset: Asset, amount: bigint) => atoms.set(asset, (atoms.get(asset) ?? 0n) + amount)
  for (const { sender, asset, valueAtoms, now } of located) {
    if (!now) continue
    if (sender === address) {
      add(asset, now.reverted ? 0n : -valueAtoms)
      add('ETH', -now.feeAtoms)
    }
    for (const swept of now.swept) if (swept.address === address) add(swept.asset, -swept.atoms)
  }
  return { ...holder, atoms }
}

/** Our transactions that only the chain can locate, with where it has them now. */
type Located = UncertainTransaction & {
  readonly now: { reverted: boolean; feeAtoms: bigint; swept: readonly SweptFrom[] } | null
}

/** Tokens of an address of ours that a batch brought to the hot wallet. */
interface SweptFrom {
  readonly address: string
  readonly asset: Asset
  readonly atoms: bigint
}

/** Asks the chain where transactions are; what it shows above our tip does not count yet. */
export type Locator = (
  uncertain: readonly UncertainTransaction[],
  progress: ChainProgress,
) => Promise<Located[]>

const ASKED_AT_ONCE = 32

/** Each transaction is asked about once a block, however many pages it may concern. */
export function createLocator(db: Database | Tx, port: ChainPort): Locator {
  let tipHash = ''
  let known = new Map<string, Promise<Located['now']>>()
  return async (uncertain, progress) => {
    if (progress.tipHash !== tipHash) {
      tipHash = progress.tipHash
      known = new Map()
    }
    const of = known
    const located: Located[] = []
    for (let start = 0; start < uncertain.length; start += ASKED_AT_ONCE)
      located.push(
        ...(await Promise.all(
          uncertain.slice(start, start + ASKED_AT_ONCE).map(async (transaction): Promise<Located> => {
            const now = of.get(transaction.txid) ?? locate(db, port, transaction, progress)
            of.set(transaction.txid, now)
            return { ...transaction, now: await now }
          }),
        )),
      )
    return located
  }
}

async function locate(
  db: Queryable,
  port: ChainPort,
  transaction: UncertainTransaction,
  { tipHeight, tipHash }: ChainProgress,
): Promise<Located['now']> {
  const found = await port.findTransaction(transaction.txid, undefined, tipHash)
  if (!found?.block || found.block.height > tipHeight) return null
  return {
    reverted: found.reverted ?? false,
    feeAtoms: found.feeAtoms ?? transaction.feeAtoms,
    swept: await sweptBy(db, port.chain, transaction, found.tokensMoved ?? []),
  }
}

/** What a transaction moves from its own sender is its value, and counted as such. */
async function sweptBy(
  db: Queryable,
  chain: ChainName,
  { sender }: UncertainTransaction,
  moved: readonly TokensMoved[],
): Promise<SweptFrom[]> {
  const addresses = await findAddresses(
    db,
    chain,
    moved.map(({ from }) => from),
  )
  return moved.flatMap(({ asset, atoms }, position) => {
    const address = addresses[position]
    return address && address !== sender ? [{ address, asset, atoms }] : []
  })
}

/** The hot wallet, with what retired ones still hold. */
export interface HotWalletPage {
  /** What our rows say it holds. */
  readonly hotWallet: Sums
  readonly addresses: readonly string[]
  readonly uncertain: readonly UncertainTransaction[]
}

export const readHotWallet = async (
  tx: Queryable,
  chain: ChainName,
  hotWallet: Sums,
): Promise<HotWalletPage> => ({
  hotWallet,
  addresses: await listHotWallets(tx, chain),
  uncertain: await listUncertain(tx, chain),
})

/** Asks the chain about the hot wallet as it was at our tip. */
export async function findHotWalletStrays(
  port: ChainPort,
  { hotWallet, addresses, uncertain }: HotWalletPage,
  progress: ChainProgress,
  locator: Locator,
): Promise<Stray[]> {
  const atoms: Sums = new Map(hotWallet)
  const add = (asset: Asset, amount: bigint) => atoms.set(asset, (atoms.get(asset) ?? 0n) + amount)
  for (const { isHotWallet, asset, valueAtoms, feeAtoms, blockHeight, reverted, swept, now } of await locator(
    uncertain,
    progress,
  )) {
    const move = (sign: bigint, failed: boolean, fee: bigint) => {
      add(asset, failed ? 0n : isHotWallet ? -sign * valueAtoms : sign * valueAtoms)
      if (isHotWallet) add('ETH', -sign * fee)
    }
    if (blockHeight !== null) {
      move(-1n, reverted, feeAtoms)
      for (const moved of swept) add(moved.asset, -moved.atoms)
    }
    if (now) {
      move(1n, now.reverted, now.feeAtoms)
      for (const moved of now.swept) add(moved.asset, moved.atoms)
    }
  }
  return findStrays(
    port,
    [{ subject: 'the hot wallet', query: { outpoints: [], addresses }, atoms }],
    progress.tipHash,
  )
}
