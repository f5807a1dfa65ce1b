/** A merchant's account and what he has set on it. */
import { type Asset, FIAT_CURRENCIES, type Fiat, isFiat, MODES, type Mode } from '../core/assets.ts'
import { isEmail } from '../core/email.ts'
import { invalidField } from '../core/errors.ts'
import type { AccountId } from '../core/ids.ts'

/** From this price on (minor units of the account's currency), deposits in the asset need this many confirmations. */
export interface ConfirmationRule {
  readonly asset: Asset
  readonly fromMinor: bigint
  readonly confirmations: number
}

/** What a test account can make fail on purpose: exchanges that do not answer, nodes that are down. */
export const SANDBOX_TROUBLES = ['no_rates', 'dead_node'] as const
export type SandboxTrouble = (typeof SANDBOX_TROUBLES)[number]

export interface Account {
  readonly id: AccountId
  readonly name: string
  readonly email: string
  /** `test` accounts live on the simulated chain. Fixed at creation. */
  readonly mode: Mode
  /** Settlement currency: what balances are estimated in and totals kept in. Fixed with the first payment. */
  readonly currency: Fiat
  /** Late funds worth the price at first sight are accepted without asking, within 24 hours. */
  readonly acceptsLateFunds: boolean
  /** Hundredths of a percent of what is due that may be missing, 0 to 500. */
  readonly toleranceBps: number
  /** What the gateway keeps of its payments, hundredths of a percent, 0 to 1,000; null for what the operator set for all. */
  readonly feeBps: number | null
  readonly confirmationRules: readonly ConfirmationRule[]
  /** Where checkout sessions without redirects of their own send the buyer. */
  readonly successUrl: string | null
  readonly cancelUrl: string | null
  readonly brandName: string | null
  /** The picture's name: the hash of its bytes and what it is. */
  readonly brandLogo: string | null
  /** `#rrggbb`, lower case. */
  readonly brandColor: string | null
  /** Coins that buyers may pick on hosted pages; null for all. */
  readonly offeredAssets: readonly Asset[] | null
  /** Where buyers ask: an email address, or an http(s) page. */
  readonly contact: string | null
  readonly termsUrl: string | null
  readonly privacyUrl: string | null
  /** Origins that may frame the checkout. */
  readonly frameOrigins: readonly string[]
  /** Of a test account, while it lasts. */
  readonly trouble: SandboxTrouble | null
  readonly createdAt: Date
  /** Since then it takes no new payments; null while it is open. */
  readonly closedAt: Date | null
}

export type AccountDraft = Pick<Account, 'name' | 'email' | 'mode' | 'currency'>

/** @throws {Refusal} `invalid_name`. */
export function readAccountName(text: string): string {
  const name = text.trim()
  if (name.length >= 1 && name.length <= 255) return name
  throw invalidField('name', 'invalid_name', `a name has 1 to 255 characters, got ${name.length}`)
}

/** @throws {Refusal} `invalid`, naming the first field that is wrong. */
export function readAccountDraft(given: {
  name: string
  email: string
  mode: string
  currency: string
}): AccountDraft {
  const name = readAccountName(given.name)
  const email = given.email.trim()
  if (!isEmail(email))
    throw invalidField(
      'email',
      'invalid_email',
      `expected an email address of at most 254 characters, got "${email.slice(0, 300)}"`,
    )
  const mode = MODES.find((known) => known === given.mode)
  if (!mode)
    throw invalidField('mode', 'invalid_mode', `mode is one of ${MODES.join(', ')}, got "${given.mode}"`)
  return { name, email, mode, currency: readCurrency(given.currency) }
}

/** @throws {Refusal} `invalid_currency`. */
export function readCurrency(text: string): Fiat {
  const currency = text.toUpperCase()
  if (isFiat(currency)) return currency
  throw invalidField(
    'currency',
    'invalid_currency',
    `currency is one of ${FIAT_CURRENCIES.join(', ')}, got "${text.slice(0, 100)}"`,
  )
}
