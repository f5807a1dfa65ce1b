/**
 * The terms of a payment never change after it was made: whose it is, what it asks for, where it is paid, and which
 * checkout's buyer says where it may go back to. A MAC over them
 * under a key that the database does not hold shows whether somebody wrote the row who should not.
 */
import { TamperedRow } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Payment } from './payment.ts'

export type Terms = Pick<
  Payment,
  | 'accountId'
  | 'id'
  | 'chain'
  | 'asset'
  | 'address'
  | 'dueAtoms'
  | 'toleratedAtoms'
  | 'fiatCurrency'
  | 'fiatMinor'
  | 'quotedFeeMinor'
  | 'feeBps'
  | 'rate'
  | 'settlementRate'
  | 'requiredConfirmations'
  | 'checkoutSessionId'
>

const PURPOSE = 'payment-terms'

export const termsMacParts = (terms: Terms): string[] => [
  terms.accountId,
  terms.id,
  terms.chain,
  terms.asset,
  terms.address,
  String(terms.dueAtoms),
  String(terms.toleratedAtoms),
  terms.fiatCurrency,
  String(terms.fiatMinor),
  String(terms.quotedFeeMinor),
  String(terms.feeBps),
  String(terms.rate.numerator),
  String(terms.rate.denominator),
  String(terms.settlementRate.numerator),
  String(terms.settlementRate.denominator),
  String(terms.requiredConfirmations),
  terms.checkoutSessionId ?? '',
]

export const macOfTerms = (secrets: Secrets, terms: Terms): Buffer =>
  secrets.mac(PURPOSE, termsMacParts(terms))

/**
 * To be asked before a payment is shown to anybody, and before anything is credited or returned for it.
 *
 * @throws {TamperedRow} when a term is not what it was when the payment was made.
 */
export function requireAuthenticTerms(secrets: Secrets, payment: Terms & Pick<Payment, 'termsMac'>): void {
  if (secrets.isMac(payment.termsMac, PURPOSE, termsMacParts(payment))) return
  throw new TamperedRow(
    `payment ${showId('pay', payment.id)} is not as it was made: its row in payments was tampered with`,
  )
}
