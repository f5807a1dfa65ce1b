/**
 * How much gas each kind of our transactions on Ethereum may use, is quoted and is planned with, under each fork
 * (docs/decisions/0085-gas-by-fork.md). Nothing else states a figure of gas. test/gas.test.ts runs them all in an EVM.
 */
import type { Asset } from '../core/assets.ts'
import { type Fork, readFork } from '../core/forks.ts'
import { divideUp, larger, smaller } from '../core/money.ts'

interface OfAssets {
  readonly ETH: bigint
  readonly token: bigint
}

export interface GasSchedule {
  /**
   * What a payout is quoted with: ether to an account that is not on the chain yet, a token to who held none before (USDT's is
   * the dearest).
   */
  readonly quoted: OfAssets
  /**
   * What a payout may use at most, and its sender has to hold ether for: more than a transfer needs, for receivers that
   * are contracts. What is not used is not paid.
   */
  readonly payoutMost: OfAssets
  /** What a plain transfer of ether uses, exactly, between accounts that are on the chain and run no code. */
  readonly transfer: bigint
  /** What it uses more where its receiver is not on the chain yet. */
  readonly newAccount: bigint
  /** What the sweep of a token by its own address may use at most. What it does not use stays for a next one. */
  readonly tokenSweepMost: bigint
  /** What a sweep of a token is reckoned with when it is planned: alone with what funds it, or in a batch of its own. */
  readonly tokenSweepPlanned: bigint
  /** What a batch may use at most: for itself, for each sweep, and for each address that authorises the delegate in it. */
  readonly batch: { readonly base: bigint; readonly sweep: bigint; readonly authorization: bigint }
  /** So many sweeps a batch has at most, with its most gas well below {@link TRANSACTION_GAS_MOST}. */
  readonly batchSweepsMost: number
  /** What the deployment of the contract that batches run at may use at most. */
  readonly deployment: bigint
}

/** No transaction may use more (EIP-7825). */
export const TRANSACTION_GAS_MOST = 16_777_216n

const SCHEDULES: Readonly<Record<Fork, GasSchedule>> = {
  prague: {
    quoted: { ETH: 21_000n, token: 65_000n },
    payoutMost: { ETH: 60_000n, token: 120_000n },
    transfer: 21_000n,
    newAccount: 0n,
    tokenSweepMost: 80_000n,
    tokenSweepPlanned: 100_000n,
    batch: { base: 60_000n, sweep: 80_000n, authorization: 40_000n },
    batchSweepsMost: 40,
    deployment: 1_000_000n,
  },
  // A byte of new state costs 1,530 gas (EIP-8037): an account is 120 of them, a slot 64, a delegation 23, code its length.
  amsterdam: {
    quoted: { ETH: 204_600n, token: 165_000n },
    payoutMost: { ETH: 250_000n, token: 250_000n },
    transfer: 21_000n,
    newAccount: 183_600n,
    tokenSweepMost: 200_000n,
    tokenSweepPlanned: 300_000n,
    batch: { base: 180_000n, sweep: 110_000n, authorization: 260_000n },
    batchSweepsMost: 30,
    deployment: 5_000_000n,
  },
}

/** The figures of a chain that shows this fork; those of the oldest where nobody knows which it shows. */
export const scheduleOf = ({ fork }: { readonly fork?: Fork | undefined }): GasSchedule =>
  SCHEDULES[readFork(fork)]

/** A sweep as part of a batch. */
export interface BatchedSweep {
  /** Whether its address authorises the delegate in this batch. */
  readonly authorizes: boolean
  /** Sweeps of the same asset that failed at its address. */
  readonly failures: bigint
}

/** A sweep that failed may have lacked gas: each time the next one may use twice as much, but no more than so often. */
const DOUBLED_TIMES_MAX = 2n

/** What a batch of these may use at most. */
export const batchGasMost = ({ batch }: GasSchedule, sweeps: readonly BatchedSweep[]): bigint =>
  sweeps.reduce(
    (sum, { authorizes, failures }) =>
      sum +
      batch.sweep * 2n ** smaller(failures, DOUBLED_TIMES_MAX) +
      (authorizes ? batch.authorization : 0n),
    batch.base,
  )

/** What so many sweeps of tokens may use at most, alone with what funds them or in batches. */
export function tokenSweepsGasMost(gas: GasSchedule, sweeps: bigint): bigint {
  const { transfer, newAccount, tokenSweepMost, batch, batchSweepsMost } = gas
  const sweepMost = larger(tokenSweepMost + transfer + newAccount, batch.sweep + batch.authorization)
  return sweeps * sweepMost + divideUp(sweeps, BigInt(batchSweepsMost)) * batch.base
}

/** Ether and tokens are told apart, tokens among themselves are not. */
export const ofAsset = (gas: OfAssets, asset: Asset): bigint => (asset === 'ETH' ? gas.ETH : gas.token)
