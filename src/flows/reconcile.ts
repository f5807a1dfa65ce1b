/**
 * The proof of the books. Every sum is computed on two sides that were written independently: balances against
 * transfers, bookings against deposits, settlements against payments, and, where the chain can be asked, what the
 * books say it holds for us against what it says itself.
 */
import type { ChainPort } from '../chains/chain.ts'
import { type Asset, type ChainName, networkOfChain } from '../core/assets.ts'
import { OutsideFailure } from '../core/errors.ts'
import type { Queryable } from '../db/database.ts'
import { findChainView } from '../deposits/chain-view.sql.ts'
import {
  balancesFollowTransfers,
  bookingsFollowDeposits,
  type Difference,
  heldFundsFollowBalances,
  listOutpoints,
  listOwnEtherAddresses,
  listOwnUnderWay,
  settlementsFollowPayments,
  sumOutsideLedger,
  sumWallets,
} from './reconcile.sql.ts'

export interface Proof {
  /** Everything that does not agree; empty when the books balance. */
  readonly differences: readonly Difference[]
  /** One line per chain and asset that was compared with the chain itself. */
  readonly holdings: readonly HoldingProof[]
  /** Chains that could not be compared: their tip and our view of it did not hold still, or the node did not answer. */
  readonly unproven: readonly { readonly chain: ChainName; readonly reason: string }[]
}

export interface HoldingProof {
  readonly chain: ChainName
  readonly asset: Asset
  /** The ledger's `wallet`. */
  readonly walletAtoms: bigint
  /** What the chain holds and the ledger does not count yet or any more, by reason. */
  readonly outside: Readonly<Record<string, bigint>>
  /** What the chain says it holds at our addresses. */
  readonly chainAtoms: bigint
}

const PROOFS = [
  balancesFollowTransfers,
  heldFundsFollowBalances,
  bookingsFollowDeposits,
  settlementsFollowPayments,
]

/**
 * @param ports - The chains to ask; those whose watcher follows them closely. Others are proven within the database only.
 */
export async function reconcile(db: Queryable, ports: readonly ChainPort[]): Promise<Proof> {
  const differences: Difference[] = []
  for (const prove of PROOFS) differences.push(...(await prove(db)))
  const holdings: HoldingProof[] = []
  const unproven: { chain: ChainName; reason: string }[] = []
  for (const port of ports) {
    const proven = await atOneTip(db, port, () => proveHoldings(db, port))
    if (Array.isArray(proven)) holdings.push(...proven)
    else unproven.push({ chain: port.chain, reason: proven.reason })
  }
  for (const { chain, asset, walletAtoms, outside, chainAtoms } of holdings) {
    const expectedAtoms = Object.values(outside).reduce((sum, atoms) => sum + atoms, walletAtoms)
    if (expectedAtoms !== chainAtoms) {
      differences.push({
        proof: 'books = chain',
        chain,
        asset,
        subject: null,
        expectedAtoms,
        foundAtoms: chainAtoms,
      })
    }
  }
  return { differences, holdings, unproven }
}

const TRIES_MAX = 5

/** The chain and our view of it are compared at one block: before and after, both stand on the same tip. */
async function atOneTip<Result>(
  db: Queryable,
  port: ChainPort,
  compare: () => Promise<Result>,
): Promise<Result | { reason: string }> {
  const standsStill = async (): Promise<string | null> => {
    const [view, tip] = [await findChainView(db, port.chain), await port.tip()]
    return view?.tipHash === tip.hash ? tip.hash : null
  }
  try {
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      const before = await standsStill()
      if (before === null) continue
      const result = await compare()
      if ((await standsStill()) === before) return result
    }
    return { reason: 'its tip moved while it was compared, or Beck is behind it; try again' }
  } catch (error) {
    if (error instanceof OutsideFailure) return { reason: error.message }
    throw error
  }
}

/** What the chain holds = the ledger's wallet + what is in a block and not booked yet, transactions under way included. */
async function proveHoldings(db: Queryable, port: ChainPort): Promise<HoldingProof[]> {
  const { chain } = port
  const accounts = networkOfChain(chain) === 'ethereum'
  const held = await port.holdings({
    outpoints: accounts ? [] : await listOutpoints(db, chain),
    addresses: accounts ? await listOwnEtherAddresses(db, chain) : [],
  })
  const wallets = await sumWallets(db, chain)
  const outside = [...(await sumOutsideLedger(db, chain)), ...(await sumPaying(db, port, accounts))]
  const assets = new Set<Asset>([
    ...wallets.keys(),
    ...outside.map((row) => row.asset),
    ...(Object.keys(held) as Asset[]),
  ])
  return [...assets].sort().map((asset) => ({
    chain,
    asset,
    walletAtoms: wallets.get(asset) ?? 0n,
    outside: Object.fromEntries(
      outside.filter((row) => row.asset === asset).map((row) => [row.reason, row.atoms]),
    ),
    chainAtoms: held[asset] ?? 0n,
  }))
}

/** Our own transactions between their block and their booking, and booked ones whose block was taken. */
async function sumPaying(
  db: Queryable,
  port: ChainPort,
  accounts: boolean,
): Promise<{ asset: Asset; reason: string; atoms: bigint }[]> {
  const sums = new Map<Asset, bigint>()
  const add = (asset: Asset, atoms: bigint) => sums.set(asset, (sums.get(asset) ?? 0n) + atoms)
  for (const own of await listOwnUnderWay(db, port.chain)) {
    const found = accounts ? await port.findTransaction(own.txid) : null
    const isInBlock = accounts ? Boolean(found?.block) : own.isSpent
    const leftAtoms = isInBlock && !found?.reverted ? own.leavesAtoms : 0n
    const paidFeeAtoms = isInBlock ? (found?.feeAtoms ?? own.feeAtoms) : 0n
    add(own.asset, (own.isBooked ? own.leavesAtoms : 0n) - leftAtoms)
    add(accounts ? 'ETH' : own.asset, own.bookedFeeAtoms - paidFeeAtoms)
  }
  return [...sums]
    .filter(([, atoms]) => atoms !== 0n)
    .map(([asset, atoms]) => ({ asset, reason: 'paying', atoms }))
}
