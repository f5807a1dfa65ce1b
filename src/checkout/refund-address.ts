/** Where a buyer wants his coins back: what he gave on the page of his session, under a MAC, for coins may be sent there. */
import { TamperedRow } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { CheckoutSession } from './session.ts'

const PURPOSE = 'refund-address'
const GIVER = 'refund-address-giver'

type Given = Pick<CheckoutSession, 'id' | 'paymentId' | 'refundAddress'>

export const refundAddressMacParts = ({ id, paymentId, refundAddress }: Given): string[] => [
  id,
  paymentId ?? '',
  refundAddress ?? '',
]

export const macOfRefundAddress = (secrets: Secrets, given: Given): Buffer =>
  secrets.mac(PURPOSE, refundAddressMacParts(given))

/**
 * Null while he gave none for the session's present payment.
 *
 * @throws {TamperedRow} when another address stands there than he gave.
 */
export function readRefundAddress(
  secrets: Secrets,
  session: Given & Pick<CheckoutSession, 'refundAddressMac'>,
): string | null {
  const { refundAddress, refundAddressMac } = session
  if (refundAddress === null) return null
  if (refundAddressMac && secrets.isMac(refundAddressMac, PURPOSE, refundAddressMacParts(session)))
    return refundAddress
  throw new TamperedRow(
    `the refund address of checkout session ${showId('cs', session.id)} is not the one its buyer gave: its row was tampered with`,
  )
}

/** What the browser that gave the address keeps. The database does not hold it, and nobody who reads it can make it. */
export const proofOfGiver = (secrets: Secrets, given: Given): string =>
  secrets.mac(GIVER, refundAddressMacParts(given)).toString('base64url')

export const isGiver = (secrets: Secrets, given: Given, proof: string): boolean =>
  secrets.isMac(Buffer.from(proof, 'base64url'), GIVER, refundAddressMacParts(given))
