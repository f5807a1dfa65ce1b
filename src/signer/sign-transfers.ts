/** Payouts on Ethereum: one transaction each from the hot wallet, nonces in order. */
import { signTransfer } from '../chains/ethereum/sign.ts'
import { SIMULATED_CHAIN_ID, SIMULATED_TOKEN_CONTRACTS } from '../chains/simulated/sign.ts'
import type { Asset, ChainName } from '../core/assets.ts'
import { crashPoint } from '../core/crash-point.ts'
import { showId } from '../core/ids.ts'
import { findFeeRates } from '../treasury/fee-rates.sql.ts'
import { type GasPrice, gasPrice, type NetworkRates, payoutGasLimit } from '../treasury/fees.ts'
import { scheduleOf } from '../treasury/gas.ts'
import { nameOf, type SignedEntry, type SweepEntry, type TransferEntry } from '../treasury/signed-entry.ts'
import { type Branch, HOT_WALLET_POSITION, INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { rehearsalWith, type WaitingFor } from '../withdrawals/withdrawal.ts'
import { withReleases } from './approvals/release.ts'
import { commit, isPaid, keepWaiting, refuse, refuseIfTooLarge, type Signer, unusedNonce } from './context.ts'
import { allowsFee, judgeRequest, type LeftRows, readHeldOnce, readLeftOnce } from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { listRequested, pinnedChainId, type Requested, spendableBalances } from './requests.sql.ts'
import { rememberScans } from './scan.ts'
import type { ChainKeys } from './vault.ts'

const REQUESTS_READ = 200

export const HOT_WALLET = { branch: INTERNAL_BRANCH, position: HOT_WALLET_POSITION } as const

const beginScan = rememberScans<Requested>()

/**
 * Some may wait for long, for coins of their asset or for the policy; those behind them do not.
 *
 * @returns Whether there may be more to sign at once.
 */
export async function signTransfers(signer: Signer, keys: ChainKeys): Promise<boolean> {
  const { chain } = keys
  const scan = beginScan(signer, keys)
  let requests = await listRequested(signer.db, chain, scan.after, REQUESTS_READ)
  if (requests.length === 0) {
    scan.end(null)
    return false
  }
  let hasSigned = false
  const rates = await findFeeRates(signer.db, chain)
  const chainId = await chainIdOf(signer, keys)
  if (!rates || chainId === null) {
    logWaiting(signer, chain, 'payouts', rates ? 'its chain id is not known yet' : 'no fee rate is known')
    return false
  }
  while (requests.length > 0) {
    let left = readLeftOnce(signer.db)
    for (const request of requests) {
      const outcome = await signRequest(signer, keys, request, rates, chainId, left)
      // What it needs was taken meanwhile: the next turn looks again, after a rest.
      if (outcome === 'taken') return false
      if (outcome === 'placed') {
        hasSigned = true
        left = readLeftOnce(signer.db)
      }
      if (scan.isOver()) {
        scan.end(request)
        return hasSigned
      }
    }
    requests = await listRequested(signer.db, chain, requests.at(-1) ?? null, REQUESTS_READ)
  }
  scan.end(null)
  return hasSigned && scan.after !== null
}

async function signRequest(
  signer: Signer,
  keys: ChainKeys,
  request: Requested,
  rates: NetworkRates,
  chainId: number,
  left: LeftRows,
): Promise<'placed' | 'taken' | 'waits'> {
  if (await isPaid(signer, request, new Set())) return 'waits'
  const { chain, asset, netAtoms } = request
  const price = gasPrice(rates)
  const gasLimit = payoutGasLimit(request, price, scheduleOf(rates))
  const rehearsal = rehearsalWith(request, gasLimit)
  const planned = { atoms: 0n, freely: signer.approvals.planFreely() }
  const rows = { left, held: readHeldOnce(signer.db, [request]) }
  const judgement = await judgeRequest(signer, { ...request, rehearsal }, keys.mode, planned, rows)
  if (judgement.kind === 'refuse') {
    await refuse(signer, request, judgement.reason)
    return 'waits'
  }
  const wait = async (waitingFor: WaitingFor, reason: string): Promise<'waits'> => {
    await keepWaiting(signer, request, waitingFor, reason)
    return 'waits'
  }
  if (judgement.kind === 'wait') return wait(judgement.for, judgement.reason)

  const feeAtoms = gasLimit * price.maxFeeWei
  const sender = keys.hotWallet.address
  const holds = await spendableBalances(signer.db, chain, sender)
  const ether = holds.get('ETH') ?? 0n
  if (asset !== 'ETH' && (holds.get(asset) ?? 0n) < netAtoms)
    return wait('coins', 'the hot wallet holds too little of it')
  if (ether < feeAtoms + (asset === 'ETH' ? netAtoms : 0n))
    return wait('coins', 'the hot wallet holds too little ether')
  if (!(await allowsFee(signer, chain, feeAtoms, asset === 'ETH' ? netAtoms : 0n))) {
    if (asset === 'ETH') await refuseIfTooLarge(signer, request, feeAtoms)
    return 'waits'
  }
  if (rehearsal !== 'succeeds') {
    logWaiting(
      signer,
      chain,
      showId('wd', request.id),
      'its worker has not asked the node yet whether it would succeed with so much gas',
    )
    return 'waits'
  }
  const nonce = await unusedNonce(signer, chain, sender)
  if (nonce === null) return wait('confirmations', 'the nonce of the hot wallet is not known yet')
  crashPoint('signer:planned')
  const entry = await transferEntry(keys, {
    kind: 'payout',
    act: { purpose: 'transfer', withdrawals: [nameOf(request)] },
    replacementSet: null,
    chainId,
    nonce,
    asset,
    contract: contractOf(signer, chain, asset),
    to: judgement.destination.address,
    atoms: netAtoms,
    valueAtoms: netAtoms,
    gasLimit,
    price,
    from: HOT_WALLET,
    feeBefore: 0n,
  })
  return commit(signer, await withReleases(signer, entry, [{ request, release: judgement.release }]))
}

export interface TransferOrder {
  readonly kind: SignedEntry['kind']
  /** What it is for. */
  readonly act: Pick<TransferEntry, 'purpose' | 'withdrawals'> | Pick<SweepEntry, 'purpose' | 'sweep'>
  /** Null when it opens its replacement set. */
  readonly replacementSet: string | null
  readonly chainId: number
  readonly nonce: bigint
  readonly asset: Asset
  readonly contract: string | null
  readonly to: string
  readonly atoms: bigint
  /** What leaves the sender besides the fee. */
  readonly valueAtoms: bigint
  readonly gasLimit: bigint
  readonly price: GasPrice
  /** Whose key signs. */
  readonly from: { readonly branch: Branch; readonly position: bigint }
  /** The most that what it replaces could cost, which the policy counted already. */
  readonly feeBefore: bigint
}

/** Signs a transfer into a journal entry. */
export async function transferEntry(keys: ChainKeys, order: TransferOrder): Promise<SignedEntry> {
  const { act, asset, gasLimit, price } = order
  const { raw, txid } = signTransfer(
    { ...order, maxFeeWei: price.maxFeeWei, priorityFeeWei: price.priorityFeeWei },
    keys.privateKey(order.from.branch, order.from.position),
  )
  const feeAtoms = gasLimit * price.maxFeeWei
  const pays = act.purpose === 'transfer' && order.replacementSet === null
  return {
    ...act,
    chain: keys.chain,
    txid,
    replacementSet: order.replacementSet ?? txid,
    kind: order.kind,
    raw,
    asset,
    valueAtoms: String(order.valueAtoms),
    sender: keys.address(order.from.branch, order.from.position).address,
    nonce: String(order.nonce),
    transfer: {
      to: order.to,
      atoms: String(order.atoms),
      gasLimit: String(gasLimit),
      priorityFeeWei: String(price.priorityFeeWei),
      branch: order.from.branch,
      position: String(order.from.position),
    },
    feeAtoms: String(feeAtoms),
    feeRate: String(price.maxFeeWei),
    leaves: [
      ...(pays ? [{ asset, atoms: String(order.atoms) }] : []),
      { asset: 'ETH', atoms: String(feeAtoms - order.feeBefore) },
    ],
  }
}

/** The token's contract on this chain; null for ether. */
export function contractOf(signer: Signer, chain: ChainName, asset: Asset): string | null {
  if (asset !== 'USDC' && asset !== 'USDT') return null
  return (chain === 'sim-ethereum' ? SIMULATED_TOKEN_CONTRACTS : signer.config.tokens)[asset]
}

/** Mainnet and Sepolia have fixed ids; a private chain the one that was pinned at first contact. */
export async function chainIdOf(signer: Signer, keys: ChainKeys): Promise<number | null> {
  if (keys.chain === 'sim-ethereum') return SIMULATED_CHAIN_ID
  if (keys.mode === 'mainnet') return 1
  if (keys.mode === 'testnet') return 11_155_111
  return pinnedChainId(signer.db, keys.chain)
}
