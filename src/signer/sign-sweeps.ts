/**
 * Sweeps of Ethereum deposits to the hot wallet, and to nowhere else. Ether pays its own gas; tokens go in batches, or are
 * given the gas first. What is planned comes from the worker, but every address is derived here again.
 */

import { gasPrice, quotedGasPrice, RATE_BOUNDS, sweepFunding, TOKEN_SWEEP_GAS_MAX } from '../treasury/fees.ts'
import type { SignedEntry } from '../treasury/signed-entry.ts'
import { DEPOSIT_BRANCH } from '../wallets/derivation.ts'
import { commit, type Signer, unusedNonce } from './context.ts'
import { allowsFee } from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { listSweeps, nextNonce, type PlannedSweep, readRates, spendableBalances } from './requests.sql.ts'
import { rememberScans } from './scan.ts'
import { signBatches, signDeployment } from './sign-batches.ts'
import { chainIdOf, contractOf, HOT_WALLET, transferEntry } from './sign-transfers.ts'
import type { ChainKeys } from './vault.ts'

const SWEEPS_READ = 200
/** The hot wallet is no contract: a plain transfer, exactly. */
const ETHER_GAS = 21_000n

const beginScan = rememberScans<{ readonly id: string }>()

/** What can not be swept now is passed over: deposits behind it are not held up. */
export async function signSweeps(signer: Signer, keys: ChainKeys): Promise<void> {
  const { chain, series } = keys
  const rates = await readRates(signer.db, chain)
  const chainId = await chainIdOf(signer, keys)
  if (!rates || chainId === null) return
  const terms = { price: gasPrice(rates), chainId }
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

async function signSweep(
  signer: Signer,
  keys: ChainKeys,
  sweep: PlannedSweep,
  rates: { rate: bigint; priorityRate: bigint },
  chainId: number,
): Promise<SignedEntry | string> {
  const { chain } = keys
  const from = { branch: DEPOSIT_BRANCH, position: sweep.position } as const
  const address = keys.address(from.branch, from.position).address
  if (address !== sweep.address) return 'its address is not the one at its position'
  const common = {
    replacementSet: null,
    chainId,
    feeBefore: 0n,
    act: { purpose: 'sweep', sweep: sweep.id },
  } as const

  // What an earlier sweep left there is used first.
  if (
    sweep.asset !== 'ETH' &&
    !sweep.isFunded &&
    sweep.etherAtoms < TOKEN_SWEEP_GAS_MAX * quotedGasPrice(rates)
  ) {
    const price = gasPrice(rates)
    const atoms = sweepFunding(rates) - sweep.etherAtoms
    // At the ceiling of all prices.
    if (atoms <= 0n) return 'gas is dearer than any transaction may offer'
    const gasLimit = ETHER_GAS
    const hot = keys.hotWallet.address
    const ether = (await spendableBalances(signer.db, chain, hot)).get('ETH') ?? 0n
    if (ether < atoms + gasLimit * price.maxFeeWei) return 'the hot wallet holds too little ether for its gas'
    if (!(await allowsFee(signer, chain, gasLimit * price.maxFeeWei, atoms)))
      return 'the policy allows no more gas now'
    const nonce = await unusedNonce(signer, chain, hot)
    if (nonce === null) return 'the nonce of the hot wallet is not known yet'
    const order = { kind: 'gas', nonce, asset: 'ETH', contract: null, to: address, atoms } as const
    const act = { purpose: 'gas', sweep: sweep.id } as const
    return transferEntry(keys, {
      ...common,
      ...order,
      act,
      valueAtoms: atoms,
      gasLimit,
      price,
      from: HOT_WALLET,
    })
  }

  const nonce = await nextNonce(signer.db, chain, address)
  if (nonce === null) return 'the nonce of its address is not known yet'
  const to = keys.hotWallet.address
  if (sweep.asset === 'ETH') {
    // Price and tip alike: the whole price is paid, so that nothing is left behind.
    const wanted = (rates.rate * 5n) / 4n + rates.priorityRate
    const { ceiling } = RATE_BOUNDS.ethereum
    const maxFeeWei = wanted < ceiling ? wanted : ceiling
    const atoms = sweep.atoms - ETHER_GAS * maxFeeWei
    if (atoms <= 0n) return 'it holds less than its gas costs'
    if (!(await allowsFee(signer, chain, ETHER_GAS * maxFeeWei, 0n)))
      return 'the policy allows no more gas now'
    const price = { maxFeeWei, priorityFeeWei: maxFeeWei }
    const order = { kind: 'sweep', nonce, asset: 'ETH', contract: null, to, atoms } as const
    return transferEntry(keys, { ...common, ...order, valueAtoms: atoms, gasLimit: ETHER_GAS, price, from })
  }
  const ether = (await spendableBalances(signer.db, chain, address)).get('ETH') ?? 0n
  const affordable = ether / TOKEN_SWEEP_GAS_MAX
  const market = gasPrice(rates)
  const maxFeeWei = affordable < market.maxFeeWei ? affordable : market.maxFeeWei
  if (maxFeeWei < rates.rate) return 'the gas it was given does not suffice at this price'
  if (!(await allowsFee(signer, chain, TOKEN_SWEEP_GAS_MAX * maxFeeWei, 0n)))
    return 'the policy allows no more gas now'
  const priorityFeeWei = market.priorityFeeWei < maxFeeWei ? market.priorityFeeWei : maxFeeWei
  const contract = contractOf(signer, chain, sweep.asset)
  const order = { kind: 'sweep', nonce, asset: sweep.asset, contract, to, atoms: sweep.atoms } as const
  const price = { maxFeeWei, priorityFeeWei }
  return transferEntry(keys, {
    ...common,
    ...order,
    valueAtoms: sweep.atoms,
    gasLimit: TOKEN_SWEEP_GAS_MAX,
    price,
    from,
  })
}
