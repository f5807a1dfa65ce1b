/** What a test and the process that it kills say to each other. */
import type { Asset } from '../src/core/assets.ts'
import type { WithdrawalId } from '../src/core/ids.ts'

export const KILL_CONFIRMATIONS = { BTC: 2, LTC: 2, ETH: 2, USDC: 2, USDT: 2 } as const

export interface Ask {
  /** The Idempotency-Key: asked again after a crash, it is the same withdrawal. */
  readonly key: string
  readonly asset: Asset
  readonly amount: string
  readonly destination: string
  /** Its row is changed in the transaction that writes it, so that the signer refuses it. */
  readonly spoilt: boolean
}

export interface Answer {
  readonly key: string
  readonly id: WithdrawalId | null
}
