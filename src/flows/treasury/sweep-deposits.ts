/**
 * Which deposits move to the hot wallet, and how: those that are worth their gas, tokens in batches through the delegate,
 * which is deployed with the wallet; and with them what earlier sweeps left of their gas. Only where a chain lacks EIP-7702
 * are tokens given gas and swept alone. The signer does the rest.
 */
import type { BatchSweeping, ChainPort, Rehearsal } from '../../chains/chain.ts'
import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import { ASSET_FACTS, type ChainName, isSimulated, type Mode } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { Refusal } from '../../core/errors.ts'
import { divideUp, notBelowZero, pow10, smaller } from '../../core/money.ts'
import { type NetworkRates, quotedGasPrice, SWEEP_WORTH_LEAST_TIMES } from '../../treasury/fees.ts'
import { scheduleOf } from '../../treasury/gas.ts'
import { setNonce } from '../../treasury/senders.sql.ts'
import { findUnseenEnd, wishSweepBumps } from '../../treasury/signed-transactions.sql.ts'
import {
  listSweepCandidates,
  listUnminedSweeps,
  lowerSweep,
  markSwept,
  planSweep,
  refuseSweep,
  type SweepCandidate,
  type SweepPlan,
  takeBackSweeps,
} from '../../treasury/sweeps.sql.ts'
import { isAskedFor } from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'
import { tendDelegate } from './tend-delegate.ts'
import { hotWalletOf } from './tend-senders.ts'

const PLANNED_PER_TURN = 40
const SWEPT_ASSETS = ['ETH', 'USDC', 'USDT'] as const
type SweptAsset = (typeof SWEPT_ASSETS)[number]
/** What a sweep moves is worth at least this many times its gas; the rest is left until prices fall. */
const WORTH_GAS_TIMES = 20n
/** The same while a withdrawal waits for the coin: what a merchant owns has to be payable. */
const WORTH_GAS_TIMES_ASKED = SWEEP_WORTH_LEAST_TIMES
/**
 * What is left for a sweep that is lowered is worth more than this many times what was offered for it: a bump offers a quarter
 * more, and has to be worth it.
 */
const LOWERED_TIMES_FEE = SWEEP_WORTH_LEAST_TIMES + 1n

/**
 * Nothing is planned while the node is on another branch than our rows, or while a transaction of ours that ended is not in
 * the branch of both: there balances are less, and nonces unused, that our transactions use again when they come back.
 *
 * @returns How many sweeps were planned.
 */
export async function planSweeps(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<number> {
  const { chain } = port
  const followed = await findChainProgress(gateway.db, chain)
  const { found, emptied } = await findSweeps(gateway, port, rates)
  const tokens = found.filter((plan) => plan.asset !== 'ETH')
  const batching = await readBatching(gateway, port, tokens)
  const rehearsals = await rehearseTokens(gateway, port, tokens, rates)
  const nonces = await readNonces(port, found, tokens, batching)
  if (!followed || (await port.blockHash(followed.tipHeight)) !== followed.tipHash) return 0
  const unseen = await findUnseenEnd(gateway.db, chain)
  if (unseen !== null) {
    if (found.length > 0)
      gateway.log.info(
        { chain, txid: unseen },
        'no sweep is planned until the block of a settled transaction of ours is followed',
      )
    return 0
  }

  await lowerUnmined(gateway, port, followed.tipHash)
  if (batching) await tendDelegate(gateway, chain, batching, tokens.length > 0)
  for (const { sweep, candidate } of emptied) await markSwept(gateway.db, chain, sweep, candidate)
  if (found.length === 0) return 0
  // All at once, so that the signer finds them together.
  return gateway.db.transaction(async (tx) => {
    let planned = 0
    for (const [index, plan] of found.entries()) {
      const rehearsal = rehearsals?.[tokens.indexOf(plan)]
      if (rehearsal?.kind === 'reverts') {
        const { address, asset } = plan
        gateway.log.warn(
          { chain, address, asset, reason: rehearsal.reason },
          'a token refuses to be swept; tried again later',
        )
        await refuseSweep(tx, chain, plan)
        continue
      }
      if (rehearsal && rehearsal.kind !== 'succeeds') continue
      const account = batching?.accounts[tokens.indexOf(plan)]
      // Its batch waits for the contract.
      if (account && !batching?.isDeployed) continue
      const delegates = account?.delegates ?? false
      // Cheaper even for one, and an address that delegates runs code when ether comes: no plain transfer funds its gas.
      const way = account ? 'batch' : 'alone'
      if (!(await planSweep(tx, chain, { ...plan, way, delegates }))) continue
      const nonce = nonces[index]
      // A batch that never entered the chain has used none of what it was signed with.
      if (nonce !== undefined) await setNonce(tx, chain, plan.address, nonce)
      planned += 1
    }
    if (planned > 0) crashPoint('sweep:planned')
    return planned
  })
}

type FoundSweep = Omit<SweepPlan, 'way' | 'delegates'>

interface FoundSweeps {
  readonly found: readonly FoundSweep[]
  /** What these deposits brought left with an earlier sweep. */
  readonly emptied: readonly { readonly sweep: string; readonly candidate: SweepCandidate }[]
}

async function findSweeps(gateway: Gateway, port: ChainPort, rates: NetworkRates): Promise<FoundSweeps> {
  const { chain } = port
  const found: FoundSweep[] = []
  const emptied: FoundSweeps['emptied'][number][] = []
  const { hash: at } = await port.tip()
  for (const asset of SWEPT_ASSETS) {
    const atomsMin = await worthSweeping(gateway, chain, asset, rates)
    if (atomsMin === null) continue
    // Planned while gas was cheaper, and not signed since.
    const takenBack = await takeBackSweeps(gateway.db, chain, asset, atomsMin)
    if (takenBack > 0)
      gateway.log.info({ chain, asset, sweeps: takenBack }, 'sweeps wait until gas is cheaper')
    // Nobody asks for what is left of gas: it can always wait until it is worth the most.
    const gasLeftMin = WORTH_GAS_TIMES * gasOf('ETH', rates)
    const of = { asset, atomsMin, gasLeftMin, limit: PLANNED_PER_TURN }
    for (const candidate of await listSweepCandidates(gateway.db, chain, of)) {
      const { bookedAtoms, etherAtoms, lastSweep, ...taken } = candidate
      const { address } = taken
      const { [asset]: balance = 0n, ETH: ether = 0n } = await port.holdings({
        outpoints: [],
        addresses: [address],
        at,
      })
      // What is not confirmed yet stays: a sweep that counts on it could not be sent after a reorganisation.
      const atoms = least(balance, asset === 'ETH' ? etherAtoms : bookedAtoms)
      // By our books too, whatever somebody else sent there since.
      if (atoms === 0n && lastSweep) emptied.push({ sweep: lastSweep, candidate })
      if (atoms < (bookedAtoms > 0n ? atomsMin : gasLeftMin)) continue
      found.push({ ...taken, atoms, etherAtoms: least(ether, etherAtoms) })
    }
  }
  return { found, emptied }
}

/** Atoms that are worth a sweep at the present prices; null for a token without a rate. */
async function worthSweeping(
  gateway: Pick<Gateway, 'db' | 'rates'>,
  chain: ChainName,
  asset: SweptAsset,
  rates: NetworkRates,
): Promise<bigint | null> {
  const times = (await isAskedFor(gateway.db, chain, asset)) ? WORTH_GAS_TIMES_ASKED : WORTH_GAS_TIMES
  return worthOf(gateway, isSimulated(chain) ? 'test' : 'live', asset, times * gasOf(asset, rates))
}

/**
 * A sweep of ether that offers less than gas costs now is bumped where it would be planned at that price too; otherwise it waits
 * until prices fall.
 *
 * @param afterMs - So long after it was signed.
 * @returns How many are to be bumped.
 */
export async function bumpSweeps(
  gateway: Pick<Gateway, 'db' | 'rates'>,
  chain: ChainName,
  rates: NetworkRates,
  afterMs: number,
): Promise<number> {
  const atomsMin = await worthSweeping(gateway, chain, 'ETH', rates)
  const rate = rates.rate + rates.priorityRate
  return atomsMin === null ? 0 : wishSweepBumps(gateway.db, chain, { afterMs, rate, atomsMin })
}

/**
 * A sweep of ether that was signed for more than a reorganisation left at its address can not enter the chain: it is replaced, under
 * its nonce, by one that takes what is there. Where that does not pay for a higher fee, it waits for more. What comes back before it
 * was replaced is taken too.
 *
 * @param at - The block that our rows are at.
 */
async function lowerUnmined(gateway: Gateway, port: ChainPort, at: string): Promise<void> {
  const { chain } = port
  // Any number of others, whose deposits are gone, hold up none of these.
  const of = { timesFee: LOWERED_TIMES_FEE, limit: PLANNED_PER_TURN }
  for (const sweep of await listUnminedSweeps(gateway.db, chain, of)) {
    const { address, signedAtoms, plannedAtoms, feeAtoms, etherAtoms, isBumpWanted } = sweep
    const { ETH: balance = 0n } = await port.holdings({ outpoints: [], addresses: [address], at })
    const isWhole = balance >= signedAtoms
    const atoms = isWhole ? signedAtoms : least(balance, etherAtoms)
    // Of more than was signed its next bump makes no use.
    if (isWhole ? plannedAtoms >= signedAtoms : atoms === plannedAtoms && isBumpWanted) continue
    if (!isWhole && atoms <= LOWERED_TIMES_FEE * feeAtoms) continue
    await gateway.db.transaction((tx) => lowerSweep(tx, chain, sweep, atoms))
    gateway.log.warn(
      { chain, address, atoms: String(atoms) },
      'a sweep is to take what a reorganisation left',
    )
  }
}

const least = (one: bigint, other: bigint): bigint => notBelowZero(smaller(one, other))

async function readBatching(
  gateway: Gateway,
  port: ChainPort,
  tokens: readonly FoundSweep[],
): Promise<BatchSweeping | null> {
  if (!port.batchSweeping) return null
  const hot = await hotWalletOf(gateway, port.chain)
  if (hot === null) return null
  return port.batchSweeping(
    hot,
    tokens.map((plan) => plan.address),
  )
}

/** The next nonce of each plan's address by the chain's blocks; what is batched was told already. */
async function readNonces(
  port: ChainPort,
  found: readonly FoundSweep[],
  tokens: readonly FoundSweep[],
  batching: BatchSweeping | null,
): Promise<(bigint | undefined)[]> {
  const nonces: (bigint | undefined)[] = []
  for (const plan of found)
    nonces.push(batching?.accounts[tokens.indexOf(plan)]?.nonce ?? (await port.nextNonce?.(plan.address)))
  return nonces
}

/** Whether tokens let themselves be moved now, of each plan: one that blocks an address takes the gas and moves nothing. */
async function rehearseTokens(
  gateway: Gateway,
  port: ChainPort,
  tokens: readonly FoundSweep[],
  rates: NetworkRates,
): Promise<readonly Rehearsal[] | null> {
  const to = port.rehearse && tokens.length > 0 ? await hotWalletOf(gateway, port.chain) : null
  if (to === null || !port.rehearse) return null
  return port.rehearse(
    tokens.map(({ address: from, asset, atoms }) => ({
      from,
      asset,
      to,
      atoms,
      gasMax: scheduleOf(rates).tokenSweepMost,
    })),
  )
}

/** Wei of the gas that a sweep is planned with. */
function gasOf(asset: SweptAsset, rates: NetworkRates): bigint {
  const { transfer, tokenSweepPlanned } = scheduleOf(rates)
  return quotedGasPrice(rates) * (asset === 'ETH' ? transfer : tokenSweepPlanned)
}

/** Atoms of a coin that are worth so much ether at the present prices, rounded up; null for a token without a rate. */
function worthOf(gateway: Pick<Gateway, 'rates'>, mode: Mode, asset: SweptAsset, wei: bigint): bigint | null {
  if (asset === 'ETH') return wei
  try {
    const ether = gateway.rates[mode].rate('ETH', 'USD').ratio
    const token = gateway.rates[mode].rate(asset, 'USD').ratio
    return divideUp(
      wei * ether.numerator * token.denominator,
      ether.denominator * token.numerator * pow10(ASSET_FACTS.ETH.decimals - ASSET_FACTS[asset].decimals),
    )
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
