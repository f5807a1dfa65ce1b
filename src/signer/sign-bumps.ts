/**
 * Fee bumps of transactions that no block takes. Bitcoin: a replacement that spends the same UTXOs and pays the same
 * destinations (BIP-125). Litecoin Core relays no replacements: a child that spends our own change and pays for both.
 * Ethereum: the same transfer under the same nonce at a higher price. None of them can ever pay twice.
 */
import { outputsOfRaw, signOutputs, vbytesOfRaw } from '../chains/bitcoin/sign.ts'
import { signAgain } from '../chains/ethereum/sign.ts'
import { ASSET_FACTS, nativeAsset, networkOfChain } from '../core/assets.ts'
import { divideDown, larger, smaller } from '../core/money.ts'
import { STANDARD_VBYTES_MAX, sizesOf, vbytesWith } from '../core/vbytes.ts'
import { findFeeRates } from '../treasury/fee-rates.sql.ts'
import {
  boundedRate,
  etherSweepPrice,
  GAS_COST_MAX_WEI,
  gasPrice,
  type NetworkRates,
  RATE_BOUNDS,
  SWEEP_WORTH_LEAST_TIMES,
} from '../treasury/fees.ts'
import { feeMost } from '../treasury/payout-cost.ts'
import {
  balance,
  CHANGE_SCRIPT_LENGTH,
  CHILD_VBYTES,
  feeAt,
  type Selection,
  type Spending,
} from '../treasury/select-utxos.ts'
import type { AccountEntry, OutputsEntry, SignedEntry } from '../treasury/signed-entry.ts'
import { DEPOSIT_BRANCH, INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { commit, type Signer } from './context.ts'
import { allowsFee } from './judge.ts'
import { logWaiting } from './log-waiting.ts'
import { listBumpsWanted, nextChangePosition, spendableBalances, sweptAtoms } from './requests.sql.ts'
import { inputsOf, spendableNow } from './sign-inputs.ts'
import { chainIdOf, contractOf, transferEntry } from './sign-transfers.ts'
import { listUtxos, type OwnedUtxo } from './spendable-utxos.sql.ts'
import type { ChainKeys } from './vault.ts'

/** Nodes ask for a tenth more on Ethereum, and for the relay fee on top on Bitcoin; a quarter is above both. */
const raised = (rate: bigint): bigint => divideDown(rate * 5n, 4n) + 1n

export async function signBumps(signer: Signer, keys: ChainKeys): Promise<void> {
  const { chain } = keys
  const wanted = await listBumpsWanted(signer.db, chain)
  const rates = wanted.length > 0 ? await findFeeRates(signer.db, chain) : null
  if (!rates) return
  for (const { replacementSet, txid } of wanted) {
    // What another signer signed is its own to bump: only its journal knows that the bytes are authentic.
    const entry = await signer.journal.entryOf(chain, txid)
    if (!entry || entry.replacementSet !== replacementSet) {
      logWaiting(signer, chain, txid, 'a bump is wanted of what this signer did not sign')
      continue
    }
    const bump =
      entry.purpose !== 'outputs'
        ? await replaceTransfer(signer, keys, entry, rates)
        : networkOfChain(chain) === 'litecoin'
          ? await addChild(signer, keys, entry, rates.rate)
          : await replaceOutputs(signer, keys, entry, rates.rate)
    if (typeof bump === 'string') logWaiting(signer, chain, txid, bump)
    else await commit(signer, bump)
  }
}

/** The bump, or in words why there is none. */
type Bump = SignedEntry | string

async function replaceOutputs(
  signer: Signer,
  keys: ChainKeys,
  before: OutputsEntry,
  marketRate: bigint,
): Promise<Bump> {
  const { chain } = before
  const asset = nativeAsset(chain)
  // What the journal's bytes pay, whatever the database says now that the line pays.
  const outputs = outputsOfRaw(before.raw).filter((_, index) => index !== before.change?.index)
  const inputs = await listUtxos(
    signer.db,
    { chain, series: keys.series, replacementSet: before.replacementSet },
    before.spends,
  )
  if (inputs.length !== before.spends.length) return 'a coin it spends is spent, or not known'

  const vbytes = vbytesOfRaw(before.raw)
  const paidRate = divideDown(BigInt(before.feeAtoms) * 1_000n, BigInt(vbytes))
  const least = larger(raised(paidRate), paidRate + 2n * RATE_BOUNDS.bitcoin.floor)
  const most = (await mostToCost(signer, before)) * 1_000n
  const rate = smaller(boundedRate('bitcoin', larger(marketRate, least)), divideDown(most, BigInt(vbytes)))
  if (rate < least) return 'its fee is at the ceiling'
  const spending = {
    outputAtoms: outputs.reduce((sum, output) => sum + output.atoms, 0n),
    scriptLengths: outputs.map(({ script }) => script.length),
    rateAtomsPerKvb: rate,
    dustAtoms: ASSET_FACTS[asset].dustAtoms,
  }
  const extra = await spendableNow(signer, keys, 20)
  const selection = balanceWith(inputs, extra, spending)
  if (!selection) return 'the confirmed coins that fit into it do not suffice for a higher fee'
  const added = selection.feeAtoms - BigInt(before.feeAtoms)
  if (!(await allowsFee(signer, chain, added, 0n))) return 'the policy allows no higher fee now'
  const position = before.change
    ? BigInt(before.change.position)
    : await nextChangePosition(signer.db, chain, keys.series)
  if (position === null) return 'no change address is derived yet'
  const change = selection.changeAtoms > 0n
  const signed = signOutputs(inputsOf(keys, selection.utxos), [
    ...outputs,
    ...(change
      ? [{ script: keys.address(INTERNAL_BRANCH, position).lookup, atoms: selection.changeAtoms }]
      : []),
  ])
  return {
    ...before,
    txid: signed.txid,
    kind: 'replacement',
    raw: signed.raw,
    feeAtoms: String(selection.feeAtoms),
    feeRate: String(rate),
    spends: selection.utxos.map(({ txid, index }) => ({ txid, index })),
    change: change
      ? { position: String(position), index: outputs.length, atoms: String(selection.changeAtoms) }
      : null,
    leaves: [{ asset, atoms: String(added) }],
  }
}

/** As few inputs more as it takes, and no more than nodes relay with the outputs. */
function balanceWith(
  inputs: readonly OwnedUtxo[],
  extra: readonly OwnedUtxo[],
  spending: Spending,
): Selection<OwnedUtxo> | null {
  const outputs = sizesOf([...spending.scriptLengths, CHANGE_SCRIPT_LENGTH])
  for (let count = 0; count <= extra.length; count++) {
    const utxos = [...inputs, ...extra.slice(0, count)]
    const found = vbytesWith(utxos.length, outputs) <= STANDARD_VBYTES_MAX ? balance(utxos, spending) : null
    // What gathers coins pays nobody else: something has to be left of them.
    if (found && (spending.scriptLengths.length > 0 || found.changeAtoms > 0n)) return found
  }
  return null
}

/** With all its bumps, in proportion to what it cost at first and to what it pays. */
async function mostToCost(
  signer: Signer,
  { chain, replacementSet, feeAtoms }: OutputsEntry,
): Promise<bigint> {
  const opening = await signer.journal.entryOf(chain, replacementSet)
  return feeMost(BigInt(opening?.feeAtoms ?? feeAtoms), BigInt(opening?.valueAtoms ?? 0))
}

async function addChild(
  signer: Signer,
  keys: ChainKeys,
  parent: OutputsEntry,
  marketRate: bigint,
): Promise<Bump> {
  const { chain, change, replacementSet } = parent
  const asset = nativeAsset(chain)
  if (!change) return 'it has no change that a child could spend'
  const spends = [{ txid: parent.txid, index: change.index }]
  if ((await listUtxos(signer.db, { chain, series: keys.series, replacementSet }, spends)).length === 0)
    return 'its change is spent, or not known'
  const ancestors = await unconfirmedSet(signer, parent)
  const vbytes = ancestors.reduce((sum, entry) => sum + BigInt(vbytesOfRaw(entry.raw)), 0n)
  const paidFee = ancestors.reduce((sum, entry) => sum + BigInt(entry.feeAtoms), 0n)
  const least = raised(divideDown(paidFee * 1_000n, vbytes))
  const most = (await mostToCost(signer, parent)) * 1_000n
  const rate = smaller(
    boundedRate('litecoin', larger(marketRate, least)),
    divideDown(most, vbytes + CHILD_VBYTES),
  )
  if (rate < least) return 'its fee is at the ceiling'
  const feeAtoms = feeAt(rate, vbytes + CHILD_VBYTES) - paidFee
  const given = BigInt(change.atoms)
  const rest = given - feeAtoms
  if (rest < ASSET_FACTS[asset].dustAtoms) return 'its change does not suffice for a higher fee'
  if (!(await allowsFee(signer, chain, feeAtoms, 0n))) return 'the policy allows no higher fee now'
  const position = await nextChangePosition(signer.db, chain, keys.series)
  if (position === null) return 'no change address is derived yet'
  const from = BigInt(change.position)
  const utxo: OwnedUtxo = {
    txid: parent.txid,
    index: change.index,
    atoms: given,
    script: keys.address(INTERNAL_BRANCH, from).lookup,
    branch: INTERNAL_BRANCH,
    position: from,
  }
  const signed = signOutputs(inputsOf(keys, [utxo]), [
    { script: keys.address(INTERNAL_BRANCH, position).lookup, atoms: rest },
  ])
  // It pays nobody: what approved the payout stands in the journal beside that one.
  const { approvals: _, ...common } = parent
  return {
    ...common,
    txid: signed.txid,
    replacementSet,
    kind: 'child',
    raw: signed.raw,
    valueAtoms: '0',
    feeAtoms: String(feeAtoms),
    feeRate: String(rate),
    withdrawals: [],
    spends,
    change: { position: String(position), index: 0, atoms: String(rest) },
    leaves: [{ asset, atoms: String(feeAtoms) }],
  }
}

/** A payout and its children so far, the newest first. */
async function unconfirmedSet(signer: Signer, newest: OutputsEntry): Promise<OutputsEntry[]> {
  const parent = newest.kind === 'child' ? newest.spends[0] : undefined
  const entry = parent ? await signer.journal.entryOf(newest.chain, parent.txid) : null
  return entry?.purpose === 'outputs' ? [newest, ...(await unconfirmedSet(signer, entry))] : [newest]
}

/** What a sweep of ether may still send at a fee; never more than what was signed for it, whatever its row says. */
async function restOf(signer: Signer, before: AccountEntry, feeAtoms: bigint): Promise<bigint> {
  const taken = BigInt(before.transfer.atoms) + BigInt(before.feeAtoms)
  const planned = before.purpose === 'sweep' ? await sweptAtoms(signer.db, before.chain, before.sweep) : null
  return (planned === null ? taken : smaller(planned, taken)) - feeAtoms
}

async function replaceTransfer(
  signer: Signer,
  keys: ChainKeys,
  before: AccountEntry,
  rates: NetworkRates,
): Promise<Bump> {
  const { chain, transfer, nonce } = before
  const chainId = await chainIdOf(signer, keys)
  if (chainId === null) return 'its chain id is not known yet'
  // A sweep of ether sends all there is: what the fee takes more, the hot wallet receives less.
  const from = { branch: transfer.branch, position: BigInt(transfer.position) }
  const sendsAll = before.purpose === 'sweep' && before.asset === 'ETH' && from.branch === DEPOSIT_BRANCH
  const market = sendsAll ? etherSweepPrice(rates) : gasPrice(rates)
  const least = raised(BigInt(before.feeRate))
  const leastPriority = raised(BigInt(transfer.priorityFeeWei))
  const { ceiling } = RATE_BOUNDS.ethereum
  const maxFeeWei = larger(market.maxFeeWei, least)
  const priorityFeeWei = larger(market.priorityFeeWei, leastPriority)
  if (maxFeeWei > ceiling) return 'its fee is at the ceiling'
  const gasLimit = BigInt(transfer.gasLimit)
  if (gasLimit * maxFeeWei > GAS_COST_MAX_WEI) return 'nodes would not send what may cost more'
  const feeBefore = BigInt(before.feeAtoms)
  const feeAtoms = gasLimit * maxFeeWei
  const added = feeAtoms - feeBefore
  if (!(await allowsFee(signer, chain, added, 0n))) return 'the policy allows no higher fee now'
  const spendable = await spendableBalances(
    signer.db,
    chain,
    keys.address(from.branch, from.position).address,
  )
  // Refused by every node, it would only keep what it replaces from being sent again.
  if (!sendsAll && (spendable.get('ETH') ?? 0n) < added) return 'its sender holds too little ether'
  if (before.purpose === 'batch' || before.purpose === 'deploy') {
    const key = keys.privateKey(from.branch, from.position)
    const signed = signAgain(before.raw, { maxFeeWei, priorityFeeWei }, key)
    return {
      ...before,
      ...signed,
      kind: 'replacement',
      transfer: { ...transfer, priorityFeeWei: String(priorityFeeWei) },
      feeAtoms: String(feeAtoms),
      feeRate: String(maxFeeWei),
      leaves: [{ asset: 'ETH', atoms: String(added) }],
    }
  }
  const atoms = sendsAll ? await restOf(signer, before, feeAtoms) : BigInt(transfer.atoms)
  if (sendsAll && atoms + feeAtoms < SWEEP_WORTH_LEAST_TIMES * feeAtoms)
    return 'what it sweeps is not worth a higher fee'
  const entry = await transferEntry(keys, {
    kind: 'replacement',
    act:
      before.purpose === 'transfer'
        ? { purpose: before.purpose, withdrawals: before.withdrawals }
        : { purpose: before.purpose, sweep: before.sweep },
    replacementSet: before.replacementSet,
    chainId,
    nonce: BigInt(nonce),
    asset: before.asset,
    contract: contractOf(signer, chain, before.asset),
    to: transfer.to,
    atoms,
    valueAtoms: atoms,
    gasLimit,
    price: { maxFeeWei, priorityFeeWei },
    from,
    feeBefore,
  })
  return entry
}
