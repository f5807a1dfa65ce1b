/** A merchant's settings for the hosted pages and for late funds, changed as a whole or not at all. */
import { type Account, readAccountName, readCurrency } from '../../accounts/account.ts'
import {
  hasPaymentsForSure,
  keepLogo,
  lockAccount,
  updateAccountSettings,
} from '../../accounts/accounts.sql.ts'
import { readBrandColor, readBrandName, readFrameOrigins, readLogo } from '../../accounts/brand.ts'
import { type ConfirmationChoice, readConfirmationRules } from '../../accounts/confirmation-rules.ts'
import { readOfferedAssets } from '../../accounts/offered-assets.ts'
import { parseRedirectUrl } from '../../checkout/redirect-url.ts'
import { conflict, invalidField, notFound } from '../../core/errors.ts'
import type { AccountId } from '../../core/ids.ts'
import { parseDecimal } from '../../core/money.ts'
import type { Tx } from '../../db/database.ts'

/** As they were typed; undefined leaves a setting as it is, null takes it away. */
export interface AccountChanges {
  /** How the operator and the dashboard call it. */
  readonly name?: string | undefined
  /** Settlement currency; until the first payment. */
  readonly currency?: string | undefined
  readonly brandName?: string | null | undefined
  readonly brandColor?: string | null | undefined
  /** The bytes of a picture. */
  readonly logo?: Uint8Array | null | undefined
  readonly frameOrigins?: readonly string[] | undefined
  readonly successUrl?: string | null | undefined
  readonly cancelUrl?: string | null | undefined
  readonly acceptsLateFunds?: boolean | undefined
  /** Names of coins; null for all. */
  readonly offeredAssets?: readonly string[] | null | undefined
  readonly contact?: string | null | undefined
  readonly termsUrl?: string | null | undefined
  readonly privacyUrl?: string | null | undefined
  /** Percent, as a decimal of at most two digits after the point: 0 to 5. */
  readonly tolerance?: string | undefined
  /** From which price on how many confirmations are waited for; all of them, a coin once. */
  readonly confirmations?: readonly ConfirmationChoice[] | undefined
  /** The same: 0 to 10. For payments that are made from now on. The operator's to change. */
  readonly fee?: string | null | undefined
}

/**
 * @throws {Refusal} `not_found`, `account_not_found`; `invalid`, naming the setting; `conflict`, `currency_fixed`, once there is a
 *   payment; `currency_in_rules` while rules of confirmations are prices in it.
 */
export async function changeAccount(tx: Tx, id: AccountId | null, changes: AccountChanges): Promise<Account> {
  const account = id && (await lockAccount(tx, id))
  if (!account) throw notFound('account_not_found', 'there is no such account')
  const url = (field: string) => (text: string) => parseRedirectUrl(field, text)
  const logo = changed(changes.logo, undefined, readLogo)
  const next: Account = {
    ...account,
    name: changes.name === undefined ? account.name : readAccountName(changes.name),
    currency: changes.currency === undefined ? account.currency : readCurrency(changes.currency),
    brandName: changed(changes.brandName, account.brandName, readBrandName),
    brandColor: changed(changes.brandColor, account.brandColor, readBrandColor),
    brandLogo: logo === undefined ? account.brandLogo : (logo?.name ?? null),
    frameOrigins: changes.frameOrigins ? readFrameOrigins(changes.frameOrigins) : account.frameOrigins,
    successUrl: changed(changes.successUrl, account.successUrl, url('success_url')),
    cancelUrl: changed(changes.cancelUrl, account.cancelUrl, url('cancel_url')),
    offeredAssets: changed(changes.offeredAssets, account.offeredAssets, readOfferedAssets),
    contact: changed(changes.contact, account.contact, readContact),
    termsUrl: changed(changes.termsUrl, account.termsUrl, url('terms_url')),
    privacyUrl: changed(changes.privacyUrl, account.privacyUrl, url('privacy_url')),
    acceptsLateFunds: changes.acceptsLateFunds ?? account.acceptsLateFunds,
    toleranceBps: changes.tolerance === undefined ? account.toleranceBps : readTolerance(changes.tolerance),
    confirmationRules: changes.confirmations
      ? readConfirmationRules(changes.confirmations)
      : account.confirmationRules,
    feeBps: changed(changes.fee, account.feeBps, readFee),
  }
  if (next.currency !== account.currency) {
    requireNoRule(account)
    await requireNoPayment(tx, account)
  }
  await updateAccountSettings(tx, next)
  if (logo !== undefined) await keepLogo(tx, account.id, logo)
  return next
}

/** A rule begins at a price in it, which would be another price in another currency. */
function requireNoRule({ currency, confirmationRules }: Account): void {
  if (confirmationRules.length === 0) return
  throw conflict(
    'currency_in_rules',
    `the confirmations of large payments begin at prices in ${currency}: empty them, change the currency, and set them anew`,
  )
}

/** Customers' totals and sales by day are kept in it: docs/decisions/0078-settlement-currency.md. */
async function requireNoPayment(tx: Tx, account: Account): Promise<void> {
  if (!(await hasPaymentsForSure(tx, account.id))) return
  throw conflict(
    'currency_fixed',
    `this account has payments, whose totals are kept in ${account.currency}; its settlement currency stays`,
  )
}

const EMAIL = /^[^\s@?&]+@[^\s@?&]+$/

/** An email address, or a page. @throws {Refusal} `invalid`, `invalid_contact`. */
function readContact(text: string): string {
  const contact = text.trim()
  if (EMAIL.test(contact) && contact.length <= 254) return contact
  try {
    return parseRedirectUrl('contact', contact)
  } catch {
    throw invalidField(
      'contact',
      'invalid_contact',
      `a contact is an email address or an http(s) URL that buyers can ask at; got "${text.slice(0, 100)}"`,
    )
  }
}

/** A percentage from 0 up to the most, in its hundredths. @throws {Refusal} `invalid`, `invalid_fee` or `invalid_tolerance`. */
const readBps = (field: 'fee' | 'tolerance', percentMax: bigint, such: string) => (text: string) => {
  const bps = parseDecimal(text.trim().replace(/%$/, '').trimEnd(), 2)
  if (bps !== null && bps >= 0n && bps <= percentMax * 100n) return Number(bps)
  throw invalidField(
    field,
    `invalid_${field}`,
    `a ${field} is 0 to ${percentMax} percent with at most two digits after the point, such as ${such}; got "${text.slice(0, 100)}"`,
  )
}

const readFee = readBps('fee', 10n, '0.75')
const readTolerance = readBps('tolerance', 5n, '0.5')

function changed<Given, Kept, Before>(
  given: Given | null | undefined,
  before: Before,
  read: (given: Given) => Kept,
): Kept | Before | null {
  return given === undefined ? before : given === null ? null : read(given)
}
