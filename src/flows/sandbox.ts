/**
 * What test accounts can make happen on the simulated chain: a buyer who pays, blocks, the end of a window, a
 * reorganisation, a double-spend. Only the chain and the window are touched; what follows from it for a payment takes
 * the same road as on a live network. The chain is shared by all test accounts.
 */
import type { Account } from '../accounts/account.ts'
import { setSandboxTrouble, takeBlocks } from '../accounts/accounts.sql.ts'
import { type BlockRef, REORGANISATION_DEPTH_MAX } from '../chains/chain.ts'
import { findChainProgress } from '../chains/chain-progress.sql.ts'
import { type ChainStore, holdingKey } from '../chains/simulated/chain-store.ts'
import { hintAt } from '../chains/simulated/hints.ts'
import { mine, mint, reorganise, replace } from '../chains/simulated/ledger.ts'
import { lookupOf, type SimulatedChainName } from '../chains/simulated/network.ts'
import { BLOCKS_KEPT, chainsDue, lockSimulatedChain } from '../chains/simulated/store.sql.ts'
import { ASSET_FACTS, isSimulated, type Network } from '../core/assets.ts'
import { conflict, forbidden, invalidField, invariant, unavailable } from '../core/errors.ts'
import { type PaymentId, showId } from '../core/ids.ts'
import { parseDecimal, pow10 } from '../core/money.ts'
import type { Database, Tx } from '../db/database.ts'
import { endWindow } from '../payments/end-window.sql.ts'
import { type Payment, paymentNotFound } from '../payments/payment.ts'
import { findPayment } from '../payments/payments.sql.ts'
import { findHotWallet } from '../wallets/hot-wallet.sql.ts'
import type { Withdrawal } from '../withdrawals/withdrawal.ts'
import { markRefused } from '../withdrawals/withdrawals.sql.ts'

/** Blocks mined by one request. */
export const SANDBOX_BLOCKS_MAX = 100
/**
 * Blocks that may wait for the watchers, who are everybody's: whoever mines on and on would keep all other test accounts
 * waiting behind his blocks.
 */
const WAITING_MAX = 50
/** As many as a test needs at once; then as many as watchers follow beside their work for others. */
const ALLOWANCE = { atOnce: 300, perSecond: 10 }
/** Nothing is mined on where nobody follows the chain, or ever did: a block that no watcher saw is never pruned. */
const UNSEEN_MAX = BLOCKS_KEPT / 2
/** Blocks taken away by one request: what watchers follow. */
export const SANDBOX_DEPTH_MAX = REORGANISATION_DEPTH_MAX
/** Whole coins sent by one request. */
const COINS_MAX = 1_000_000_000n

/** Ether given to the hot wallet when it holds less than the least. */
const GAS_ATOMS = 10n * pow10(18)
const GAS_ATOMS_MIN = pow10(18)

/** @throws {Refusal} `forbidden` for a live account: its coins are real, nothing here concerns them. */
export function requireTestAccount(account: Account): void {
  if (account.mode === 'test') return
  throw forbidden(
    'test_accounts_only',
    'the sandbox is for test accounts; this key belongs to a live one, use a bk_test_ key',
  )
}

export interface SandboxPay {
  /** Whole coins as a decimal; exactly what is due when absent. */
  readonly amount?: string
  /** Blocks mined on top, the one that holds the payment included; none when absent. */
  readonly confirmations?: number
}

/**
 * A buyer sends coins to the payment's address, whatever state the payment is in.
 *
 * @throws {Refusal} `not_found`; `invalid` for an amount that is no decimal, not above zero, too precise or too large;
 *   `sandbox_busy` when it asks for blocks and too many wait already, or the account added too many of late.
 */
export async function payInSandbox(
  tx: Tx,
  account: Account,
  id: PaymentId,
  pay: SandboxPay,
): Promise<Payment> {
  const { payment, chain } = await testPaymentOf(tx, account, id)
  const atoms = pay.amount === undefined ? payment.dueAtoms : readAmount(payment, pay.amount)
  const store = pay.confirmations
    ? await lockToMine(tx, account, chain, pay.confirmations)
    : await lockSimulatedChain(tx, chain)
  await mint(store, { lookup: lookupOfPayment(payment, chain), asset: payment.asset, atoms })
  if (pay.confirmations) await mineWithGas(tx, store, pay.confirmations)
  return payment
}

/** @returns The new tip. @throws {Refusal} `unavailable`, `sandbox_busy`. */
export async function mineInSandbox(
  tx: Tx,
  account: Account,
  network: Network,
  count: number,
): Promise<BlockRef> {
  requireTestAccount(account)
  return mineWithGas(tx, await lockToMine(tx, account, `sim-${network}`, count), count)
}

/** @throws {Refusal} `unavailable`, `sandbox_busy`. */
async function lockToMine(
  tx: Tx,
  account: Account,
  chain: SimulatedChainName,
  blocks: number,
): Promise<ChainStore> {
  // Whoever is refused for himself does not wait for the chain, nor do others wait for him.
  const waitSeconds = await takeBlocks(tx, account.id, blocks, ALLOWANCE)
  if (waitSeconds > 0)
    throw unavailable(
      'sandbox_busy',
      `the chains are everybody's: an account adds ${ALLOWANCE.atOnce} blocks at once and ` +
        `${ALLOWANCE.perSecond} a second; mine on in ${waitSeconds} s`,
      [],
      waitSeconds,
    )
  const store = await lockSimulatedChain(tx, chain)
  const { isFollowed, waiting } = await readWaiting(tx, store)
  const most = isFollowed ? WAITING_MAX : UNSEEN_MAX
  if (waiting > most)
    throw unavailable(
      'sandbox_busy',
      `more than ${most} blocks of this chain wait to be followed; mine on in a few seconds`,
    )
  return store
}

/** How many blocks no watcher has seen yet: where there never was one, all that are above the first, at which it begins. */
async function readWaiting(tx: Tx, store: ChainStore): Promise<{ isFollowed: boolean; waiting: number }> {
  const progress = await findChainProgress(tx, store.chain)
  return {
    isFollowed: progress !== null,
    waiting: (await store.tip()).height - (progress?.tipHeight ?? 0),
  }
}

/**
 * The payment's window ends now; the payment expires as soon as the chain was seen once more.
 *
 * @throws {Refusal} `not_found`; `conflict`, reason `window_over`, when it no longer waits for funds.
 */
export async function expireInSandbox(tx: Tx, account: Account, id: PaymentId): Promise<Payment> {
  const { payment } = await testPaymentOf(tx, account, id)
  if (!(await endWindow(tx, account.id, id))) {
    throw conflict(
      'window_over',
      `only the window of a payment that waits for funds can be ended; this one is ${payment.status}, ` +
        `its window ends or ended at ${payment.expiresAt.toISOString()}`,
    )
  }
  const ended = await findPayment(tx, account.id, id)
  invariant(ended, 'a payment is never deleted')
  return ended
}

/**
 * A longer branch takes the place of the last blocks; their transactions wait in the mempool again.
 *
 * @returns The new tip, one higher than before.
 * @throws {Refusal} `conflict`, reason `chain_too_short`, when there are fewer blocks; `unavailable`, `sandbox_busy`.
 */
export async function reorganiseInSandbox(
  tx: Tx,
  account: Account,
  network: Network,
  depth: number,
): Promise<BlockRef> {
  requireTestAccount(account)
  // Watchers take blocks away and follow others. They keep twice as many hashes as that, and fewer blocks wait for them, so they find the fork.
  const store = await lockToMine(tx, account, `sim-${network}`, 2 * depth + 1)
  return reorganise(store, depth)
}

/**
 * Double-spends every unconfirmed transaction that pays the payment's address.
 *
 * @throws {Refusal} `not_found`; `conflict`, reason `nothing_unconfirmed`, when none waits in the mempool.
 */
export async function replaceInSandbox(tx: Tx, account: Account, id: PaymentId): Promise<Payment> {
  const { payment, chain } = await testPaymentOf(tx, account, id)
  const store = await lockSimulatedChain(tx, chain)
  const address = Buffer.from(lookupOfPayment(payment, chain))
  const paying = (await store.mempool()).filter(({ outputs }) =>
    outputs.some((output) => address.equals(output.lookup)),
  )
  if (paying.length === 0) {
    throw conflict(
      'nothing_unconfirmed',
      'no unconfirmed transaction pays this payment; pay it with no confirmations first, or take its block away',
    )
  }
  for (const transaction of paying) await replace(store, transaction.txid)
  return payment
}

/**
 * A withdrawal that was requested in this very transaction fails as one that the signer refuses, which never sees it: its
 * hold is given back, and `payout.failed` announced.
 *
 * @throws {Refusal} `forbidden` for a live account.
 */
export async function failInSandbox(
  tx: Tx,
  account: Account,
  withdrawal: Pick<Withdrawal, 'accountId' | 'id'>,
): Promise<void> {
  requireTestAccount(account)
  await markRefused(tx, withdrawal, 'sandbox')
}

/** Twenty bytes of ones: a witness program, or an address of Ethereum, that nobody has. */
const FAILING = Buffer.alloc(20, 0xff)

/** The same for whoever has no dashboard: a test account's payout to the address of {@link FAILING} fails. Call it as above. */
export async function failWhereAsked(
  tx: Tx,
  account: Account,
  { accountId, id, chain, destination }: Pick<Withdrawal, 'accountId' | 'id' | 'chain' | 'destination'>,
): Promise<void> {
  if (account.mode !== 'test') return
  invariant(isSimulated(chain), `withdrawal ${showId('wd', id)} of a test account is on ${chain}`)
  if (FAILING.equals(lookupOf(chain, destination)?.subarray(-FAILING.length) ?? Buffer.alloc(0)))
    await failInSandbox(tx, account, { accountId, id })
}

const TROUBLE_MINUTES = 5

/**
 * For some minutes no exchange answers, or no node, as far as this account sees: nothing can be priced or taken.
 *
 * @param trouble - Null when all is well again.
 * @throws {Refusal} `forbidden` for a live account.
 */
export async function troubleInSandbox(tx: Tx, account: Account, trouble: Account['trouble']): Promise<void> {
  requireTestAccount(account)
  await setSandboxTrouble(tx, account.id, trouble, TROUBLE_MINUTES)
}

/**
 * Mines one block on each simulated chain whose newest one is this old.
 *
 * @returns How many were mined; another process may have been first.
 */
export async function mineDueBlocks(db: Database, ageMs: number): Promise<number> {
  let mined = 0
  for (const chain of await chainsDue(db, ageMs)) {
    const isDue = await db.transaction(async (tx) => {
      const store = await lockSimulatedChain(tx, chain)
      const isDue = (await chainsDue(tx, ageMs)).includes(chain)
      if (!isDue || (await readWaiting(tx, store)).waiting > UNSEEN_MAX) return false
      await mineWithGas(tx, store, 1)
      return true
    })
    if (!isDue) continue
    mined += 1
    hintAt(chain)
  }
  return mined
}

/** The simulated Ethereum keeps the hot wallet in ether, as an operator does, so that payouts and sweeps have their gas. */
async function mineWithGas(tx: Tx, store: ChainStore, count: number): Promise<BlockRef> {
  const lookup = store.chain === 'sim-ethereum' ? await findHotWallet(tx, store.chain) : null
  if (lookup) {
    const held = (await store.balances([lookup])).get(holdingKey({ lookup, asset: 'ETH' })) ?? 0n
    if (held < GAS_ATOMS_MIN) await mint(store, { lookup, asset: 'ETH', atoms: GAS_ATOMS })
  }
  return mine(store, count)
}

async function testPaymentOf(
  tx: Tx,
  account: Account,
  id: PaymentId,
): Promise<{ payment: Payment; chain: SimulatedChainName }> {
  requireTestAccount(account)
  const payment = await findPayment(tx, account.id, id)
  if (!payment) throw paymentNotFound()
  invariant(
    isSimulated(payment.chain),
    `payment ${showId('pay', id)} of a test account is on ${payment.chain}`,
  )
  return { payment, chain: payment.chain }
}

function lookupOfPayment(payment: Payment, chain: SimulatedChainName): Uint8Array {
  const lookup = lookupOf(chain, payment.address)
  invariant(lookup, `${payment.address} is no address of ${chain}`)
  return lookup
}

function readAmount({ asset }: Payment, amount: string): bigint {
  const { decimals } = ASSET_FACTS[asset]
  const atoms = parseDecimal(amount, decimals)
  if (atoms !== null && atoms > 0n && atoms <= COINS_MAX * pow10(decimals)) return atoms
  throw invalidField(
    'amount',
    'invalid_amount',
    `amount must be a decimal of ${asset} above 0 and up to ${COINS_MAX}, with at most ${decimals} digits after the ` +
      `point, got ${JSON.stringify(amount.slice(0, 100))}`,
  )
}
