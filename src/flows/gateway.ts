/** What every flow is given: the ports it works through and the operator's settings. Built once, in main.ts. */
import { ASSET_FACTS, type Asset, type Mode } from '../core/assets.ts'
import type { Log } from '../core/log.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Traces } from '../core/trace.ts'
import type { Database } from '../db/database.ts'
import type { Rates } from '../rates/rates.ts'
import type { AddressPool } from '../wallets/address-pool.sql.ts'
import type { KeptDays } from './operation/ages.ts'

export interface GatewaySettings {
  /** What links and pages are built from, without a slash at its end. */
  readonly publicUrl: string
  /** Where people sign in: the origin that passkeys belong to. The public URL unless BECK_DASHBOARD_URL says otherwise. */
  readonly dashboardUrl: string
  /** Fee per payment and per payout, in hundredths of a percent. */
  readonly feeBps: bigint
  readonly payoutFeeBps: bigint
  readonly minFiatMinor: bigint
  readonly maxFiatMinor: bigint
  /** BECK_WEBHOOK_ALLOW_PRIVATE: webhooks may go to http URLs and private addresses. For closed networks only. */
  readonly webhookAllowPrivate: boolean
  /** SMTP_URL is set: links that let somebody in are mailed, and people are told of what changes. */
  readonly sendsMail: boolean
  /** Contracts of the tokens of the live Ethereum. */
  readonly tokens: Readonly<Record<'USDC' | 'USDT', string>>
  /** Those and the simulated ones: nothing is ever paid out to one. */
  readonly tokenContracts: readonly string[]
  /** How long the answer to a withdrawal waits for its broadcast. */
  readonly broadcastWaitMs: number
  /** Days that old rows are kept: flows/operation/ages.ts. */
  readonly keptDays: KeptDays
  /** Where the operator wants other confirmations than the asset's own. */
  readonly confirmations: Partial<Record<Asset, number>>
}

/** Confirmations that a deposit or a withdrawal of the asset needs: the operator's, or else the asset's own. */
export const confirmationsOf = (settings: Pick<GatewaySettings, 'confirmations'>, asset: Asset): number =>
  settings.confirmations[asset] ?? ASSET_FACTS[asset].confirmations

/**
 * Loops that can be woken before their next turn. Waking is a hint, never needed for correctness. `sandbox` wakes the watchers of the
 * simulated chains, which have no nodes that tell them of anything.
 */
const QUEUES = ['settle', 'deliver', 'pay-out', 'sandbox'] as const
export type Queue = (typeof QUEUES)[number]

export const isQueue = (text: string): text is Queue => (QUEUES as readonly string[]).includes(text)

export interface Gateway {
  readonly db: Database
  readonly settings: GatewaySettings
  readonly rates: Readonly<Record<Mode, Rates>>
  readonly addresses: AddressPool
  readonly secrets: Secrets
  readonly log: Log
  /** The database's clock as {@link openDatabaseClock} tells it: without asking each time, never ahead of it. */
  readonly databaseTime: () => Promise<Date>
  /** Why nothing is quoted, signed or sent, when the database lost commits; null, or absent, while all goes on. */
  stopped?(): string | null
  /** Why PostgreSQL writes nothing although it answers, such as a full disk; null, or absent, while it does. */
  writeProblem?(): string | null
  /** What this process wants its operator to do something about: a sentence for each thing; told with every sign of life. */
  readonly concerns?: Map<string, string>
  /** Absent where the operator collects none. */
  readonly traces?: Traces
  wake(queue: Queue): void
}
