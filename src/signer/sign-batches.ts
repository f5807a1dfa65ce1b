/**
 * Sweeps of many addresses in one transaction of the hot wallet (EIP-7702): each address authorises our delegate contract,
 * which can pay nobody but the hot wallet. Where it stands follows from its code and from the hot wallet, so the signer
 * authorises nothing that it did not compute itself; see docs/decisions/0021-sweeping.md.
 */
import {
  delegateAddress,
  type SweptAccount,
  signDelegateCreation,
  signSweepBatch,
} from '../chains/ethereum/sign.ts'
import { smaller } from '../core/money.ts'
import { FIRST_GAS_COST_MAX_WEI, type GasPrice } from '../treasury/fees.ts'
import { batchGasMost, type GasSchedule, TRANSACTION_GAS_MOST } from '../treasury/gas.ts'
import type { BatchEntry, SignedEntry } from '../treasury/signed-entry.ts'
import { DEPOSIT_BRANCH } from '../wallets/derivation.ts'
import { commit, type Signer, unusedNonce } from './context.ts'
import { allowsFee } from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { isDeploymentWanted, nextNonce, type PlannedSweep, spendableBalances } from './requests.sql.ts'
import { contractOf, HOT_WALLET } from './sign-transfers.ts'
import type { ChainKeys } from './vault.ts'

interface Terms {
  readonly gas: GasSchedule
  readonly price: GasPrice
  readonly chainId: number
}

/** Puts planned sweeps into as few transactions as they fit into. */
export async function signBatches(
  signer: Signer,
  keys: ChainKeys,
  sweeps: readonly PlannedSweep[],
  terms: Terms,
): Promise<void> {
  const { batchSweepsMost } = terms.gas
  for (let start = 0; start < sweeps.length; start += batchSweepsMost) {
    const entry = await signBatch(signer, keys, sweeps.slice(start, start + batchSweepsMost), terms)
    if (typeof entry === 'string') logWaiting(signer, keys.chain, 'batch of sweeps', entry)
    else await commit(signer, entry)
  }
}

interface Part {
  readonly sweep: PlannedSweep
  readonly account: SweptAccount
}

async function signBatch(
  signer: Signer,
  keys: ChainKeys,
  sweeps: readonly PlannedSweep[],
  { price, chainId, gas }: Terms,
): Promise<SignedEntry | string> {
  const { chain } = keys
  const treasury = keys.hotWallet.address
  let parts = await partsOf(signer, keys, sweeps)
  const ether = (await spendableBalances(signer.db, chain, treasury)).get('ETH') ?? 0n
  const feeOf = (some: readonly Part[]) => gasLimitOf(some, gas) * price.maxFeeWei
  const feeMax = smaller(ether, FIRST_GAS_COST_MAX_WEI)
  const fits = async (some: readonly Part[]) =>
    gasLimitOf(some, gas) <= TRANSACTION_GAS_MOST &&
    feeOf(some) <= feeMax &&
    (await allowsFee(signer, chain, feeOf(some), 0n))
  while (parts.length > 0 && !(await fits(parts))) parts = parts.slice(0, Math.floor(parts.length / 2))
  if (parts.length === 0) return 'the hot wallet holds too little ether, or the policy allows no more gas now'
  const nonce = await unusedNonce(signer, chain, treasury)
  if (nonce === null) return 'the nonce of the hot wallet is not known yet'
  const gasLimit = gasLimitOf(parts, gas)
  const signed = signSweepBatch(
    { chainId, nonce, gasLimit, ...price, treasury, accounts: parts.map((part) => part.account) },
    keys.privateKey(HOT_WALLET.branch, HOT_WALLET.position),
  )
  const authorities = parts.flatMap(({ sweep, account }) =>
    account.authorization ? [{ address: sweep.address, nonce: String(account.authorization.nonce) }] : [],
  )
  return {
    ...callEntry(keys, { ...signed, to: delegateAddress(treasury), nonce, gasLimit, price }),
    kind: 'batch',
    purpose: 'batch',
    batch: { sweeps: parts.map(({ sweep }) => sweep.id), authorities },
  }
}

/** Whatever the rows say, only tokens of addresses that we derive ourselves, and only to our own hot wallet. */
async function partsOf(signer: Signer, keys: ChainKeys, sweeps: readonly PlannedSweep[]): Promise<Part[]> {
  const { chain } = keys
  const parts: Part[] = []
  for (const sweep of sweeps) {
    const { asset, position, delegates } = sweep
    const { address } = keys.address(DEPOSIT_BRANCH, position)
    const token = contractOf(signer, chain, asset)
    const nonce = await nextNonce(signer.db, chain, address)
    if (address !== sweep.address || token === null || nonce === null) {
      logWaiting(signer, chain, `sweep ${sweep.address}`, 'it cannot be part of a batch')
      continue
    }
    const authorization = delegates ? null : { nonce, privateKey: keys.privateKey(DEPOSIT_BRANCH, position) }
    parts.push({ sweep, account: { account: address, token, authorization } })
  }
  return parts
}

const gasLimitOf = (parts: readonly Part[], gas: GasSchedule): bigint =>
  batchGasMost(
    gas,
    parts.map(({ sweep, account }) => ({
      failures: sweep.failures,
      authorizes: account.authorization !== null,
    })),
  )

/** Deploys the delegate of the hot wallet, once, when the worker asks for it. @returns Whether it did. */
export async function signDeployment(
  signer: Signer,
  keys: ChainKeys,
  { price, chainId, gas }: Terms,
): Promise<boolean> {
  const { chain } = keys
  const treasury = keys.hotWallet.address
  const delegate = delegateAddress(treasury)
  if (!(await isDeploymentWanted(signer.db, chain, delegate))) return false
  const gasLimit = gas.deployment
  const feeAtoms = gasLimit * price.maxFeeWei
  const ether = (await spendableBalances(signer.db, chain, treasury)).get('ETH') ?? 0n
  const nonce = await unusedNonce(signer, chain, treasury)
  const isAffordable = feeAtoms <= ether && feeAtoms <= FIRST_GAS_COST_MAX_WEI
  if (nonce === null || !isAffordable || !(await allowsFee(signer, chain, feeAtoms, 0n))) {
    logWaiting(
      signer,
      chain,
      'sweep delegate',
      'gas is too dear, or there is no ether or no allowance for it',
    )
    return false
  }
  const signed = signDelegateCreation(
    { chainId, nonce, gasLimit, ...price, treasury },
    keys.privateKey(HOT_WALLET.branch, HOT_WALLET.position),
  )
  const call = callEntry(keys, { ...signed, to: delegate, nonce, gasLimit, price })
  const entry = { ...call, kind: 'deploy', purpose: 'deploy', deploys: delegate } as const
  return (await commit(signer, entry)) === 'placed'
}

/** A call of the hot wallet that moves nothing of its own. */
function callEntry(
  keys: ChainKeys,
  call: {
    readonly raw: string
    readonly txid: string
    readonly to: string
    readonly nonce: bigint
    readonly gasLimit: bigint
    readonly price: GasPrice
  },
): Omit<BatchEntry, 'kind' | 'purpose' | 'batch'> {
  const { raw, txid, to, nonce, gasLimit, price } = call
  const feeAtoms = String(gasLimit * price.maxFeeWei)
  return {
    chain: keys.chain,
    txid,
    replacementSet: txid,
    raw,
    asset: 'ETH',
    valueAtoms: '0',
    sender: keys.hotWallet.address,
    nonce: String(nonce),
    transfer: {
      to,
      atoms: '0',
      gasLimit: String(gasLimit),
      priorityFeeWei: String(price.priorityFeeWei),
      branch: HOT_WALLET.branch,
      position: String(HOT_WALLET.position),
    },
    feeAtoms,
    feeRate: String(price.maxFeeWei),
    leaves: [{ asset: 'ETH', atoms: feeAtoms }],
  }
}
