/**
 * Sweeps of Ethereum deposits to the hot wallet, and to nowhere else. Ether pays its own gas; tokens go in batches, or are
 * given the gas first. What is planned comes from the worker, but every address is derived here again.
 */

import type { ChainName } from '../core/assets.ts'
import { divideDown, notBelowZero, smaller } from '../core/money.ts'
import { findFeeRates } from '../treasury/fee-rates.sql.ts'
import {
  etherSweepPrice,
  gasPrice,
  type NetworkRates,
  quotedGasPrice,
  SWEEP_WORTH_LEAST_TIMES,
  sweepFunding,
} from '../treasury/fees.ts'
import { scheduleOf } from '../treasury/gas.ts'
import type { SignedEntry } from '../treasury/signed-entry.ts'
import { DEPOSIT_BRANCH } from '../wallets/derivation.ts'
import { commit, type Signer, unusedNonce } from './context.ts'
import { allowsFee } from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { listSweeps, nextNonce, type PlannedSweep, spendableBalances } from './requests.sql.ts'
import { rememberScans } from './scan.ts'
import { signBatches, signDeployment } from './sign-batches.ts'
import { chainIdOf, contractOf, HOT_WALLET, transferEntry } from './sign-transfers.ts'
import type { ChainKeys } from './vault.ts'

const SWEEPS_READ = 200

const beginScan = rememberScans<{ readonly id: string }>()

/** What can not be swept now is passed over: deposits behind it are not held up. */
export async function signSweeps(signer: Signer, keys: ChainKeys): Promise<void> {
  const { chain, series } = keys
  const rates = await findFeeRates(signer.db, chain)
  const chainId = await chainIdOf(signer, keys)
  if (!rates || chainId === null) return
  const terms = { price: gasPrice(rates), chainId, gas: scheduleOf(rates) }
  await signDeployment(signer, keys, terms)
  const scan = beginScan(signer, keys)
  const list = (after: string | null) => listSweeps(signer.db, { chain, series, after, limit: SWEEPS_READ })
  for (
    let sweeps = await list(scan.after?.id ?? null);
    sweeps.length > 0;
    sweeps = await list(sweeps.at(-1)?.id ?? null)
  ) {
    const together = sweeps.filter((sweep) => sweep.way === 'batch')
    await signBatches(signer, keys, together, terms)
    for (const sweep of sweeps) {
      if (sweep.way === 'batch') continue
      const entry = await signSweep(signer, keys, sweep, rates, chainId)
      if (typeof entry === 'string') logWaiting(signer, chain, `sweep ${sweep.address}`, entry)
      else await commit(signer, entry)
      if (scan.isOver()) return scan.end(sweep)
    }
    if (scan.isOver()) return scan.end(sweeps.at(-1) ?? null)
  }
  scan.end(null)
}

const NO_MORE_GAS = 'the policy allows no more gas now'

/** @returns Why not, where it can not be signed now. */
async function signSweep(
  signer: Signer,
  keys: ChainKeys,
  sweep: PlannedSweep,
  rates: NetworkRates,
  chainId: number,
): Promise<SignedEntry | string> {
  const { address } = keys.address(DEPOSIT_BRANCH, sweep.position)
  if (address !== sweep.address) return 'its address is not the one at its position'
  // What an earlier sweep left there is used first.
  const needsGas =
    sweep.asset !== 'ETH' &&
    !sweep.isFunded &&
    sweep.etherAtoms < scheduleOf(rates).tokenSweepMost * quotedGasPrice(rates)
  if (needsGas) return fundGas(signer, keys, sweep, rates, chainId)
  const nonce = await nextNonce(signer.db, keys.chain, address)
  if (nonce === null) return 'the nonce of its address is not known yet'
  const moved = await (sweep.asset === 'ETH'
    ? priceEther(signer, keys, sweep, rates)
    : priceToken(signer, keys, sweep, rates))
  if (typeof moved === 'string') return moved
  return transferEntry(keys, {
    ...moved,
    replacementSet: null,
    chainId,
    feeBefore: 0n,
    act: { purpose: 'sweep', sweep: sweep.id },
    kind: 'sweep',
    nonce,
    to: keys.hotWallet.address,
    valueAtoms: moved.atoms,
    from: { branch: DEPOSIT_BRANCH, position: sweep.position },
  })
}

/** Ether for the gas of a token's sweep, from the hot wallet. */
async function fundGas(
  signer: Signer,
  keys: ChainKeys,
  sweep: PlannedSweep,
  rates: NetworkRates,
  chainId: number,
): Promise<SignedEntry | string> {
  const { chain, hotWallet } = keys
  const price = gasPrice(rates)
  const atoms = sweepFunding(rates) - sweep.etherAtoms
  // At the ceiling of all prices.
  if (atoms <= 0n) return 'gas is dearer than any transaction may offer'
  // The address runs no code; until it is given ether, the chain does not know it.
  const { transfer, newAccount } = scheduleOf(rates)
  const gasLimit = transfer + newAccount
  const feeAtoms = gasLimit * price.maxFeeWei
  const ether = (await spendableBalances(signer.db, chain, hotWallet.address)).get('ETH') ?? 0n
  if (ether < atoms + feeAtoms) return 'the hot wallet holds too little ether for its gas'
  if (!(await allowsFee(signer, chain, feeAtoms, atoms))) return NO_MORE_GAS
  const nonce = await unusedNonce(signer, chain, hotWallet.address)
  if (nonce === null) return 'the nonce of the hot wallet is not known yet'
  return transferEntry(keys, {
    replacementSet: null,
    chainId,
    feeBefore: 0n,
    act: { purpose: 'gas', sweep: sweep.id },
    kind: 'gas',
    nonce,
    asset: 'ETH',
    contract: null,
    to: sweep.address,
    atoms,
    valueAtoms: atoms,
    gasLimit,
    price,
    from: HOT_WALLET,
  })
}

type Moved = Pick<Parameters<typeof transferEntry>[1], 'asset' | 'contract' | 'atoms' | 'gasLimit' | 'price'>

async function priceEther(
  signer: Signer,
  { chain, hotWallet }: ChainKeys,
  sweep: PlannedSweep,
  rates: NetworkRates,
): Promise<Moved | string> {
  const price = etherSweepPrice(rates)
  const { transfer, newAccount } = scheduleOf(rates)
  // A plain transfer, for the hot wallet runs no code. With gas for a new account, which the next one does not use, some would stay.
  if (newAccount > 0n && !(await isOnChain(signer, chain, hotWallet.address)))
    return 'the hot wallet is not on the chain yet: send it some ether first'
  const feeAtoms = transfer * price.maxFeeWei
  if (sweep.atoms < SWEEP_WORTH_LEAST_TIMES * feeAtoms) return 'it is not worth its gas at this price'
  if (!(await allowsFee(signer, chain, feeAtoms, 0n))) return NO_MORE_GAS
  return { asset: 'ETH', contract: null, atoms: sweep.atoms - feeAtoms, gasLimit: transfer, price }
}

/** Whether an account of ours has sent or holds something there, as the worker saw it last. */
const isOnChain = async ({ db }: Signer, chain: ChainName, address: string): Promise<boolean> =>
  ((await nextNonce(db, chain, address)) ?? 0n) > 0n ||
  ((await spendableBalances(db, chain, address)).get('ETH') ?? 0n) > 0n

/** At the price that the ether at the address can pay. */
async function priceToken(
  signer: Signer,
  { chain }: ChainKeys,
  { address, asset, atoms }: PlannedSweep,
  rates: NetworkRates,
): Promise<Moved | string> {
  const ether = (await spendableBalances(signer.db, chain, address)).get('ETH') ?? 0n
  const { tokenSweepMost: gasLimit } = scheduleOf(rates)
  const affordable = divideDown(notBelowZero(ether), gasLimit)
  const market = gasPrice(rates)
  const maxFeeWei = smaller(affordable, market.maxFeeWei)
  if (maxFeeWei < rates.rate) return 'the gas it was given does not suffice at this price'
  if (!(await allowsFee(signer, chain, gasLimit * maxFeeWei, 0n))) return NO_MORE_GAS
  const priorityFeeWei = smaller(market.priorityFeeWei, maxFeeWei)
  const contract = contractOf(signer, chain, asset)
  return { asset, contract, atoms, gasLimit, price: { maxFeeWei, priorityFeeWei } }
}
