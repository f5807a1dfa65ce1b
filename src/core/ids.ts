/**
 * Identifiers. In the database an id is a UUIDv7, so that a primary key grows at its end; outside it is a
 * TypeID with the prefix of its resource (`pay_01h…`). Ids that travel in public links (`cs_…`, `plink_…`, `pos_…`)
 * are 128 random bits in the same alphabet: nobody can guess a neighbour's or read its age.
 */
import { randomBytes } from 'node:crypto'
import { fromString, fromUUID, toUUIDBytes } from 'typeid-js'
import { openUuids } from './uuid.ts'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

/** UUIDs as the database holds them. */
export type AccountId = Branded<'account'>
export type ApiKeyId = Branded<'api_key'>
export type PaymentId = Branded<'payment'>
export type DepositId = Branded<'deposit'>
export type CustomerId = Branded<'customer'>
export type WithdrawalId = Branded<'withdrawal'>
export type WebhookEndpointId = Branded<'webhook_endpoint'>
export type EventId = Branded<'event'>
export type DeliveryId = Branded<'delivery'>
export type SessionId = Branded<'checkout_session'>
export type PaymentLinkId = Branded<'payment_link'>
export type PointOfSaleId = Branded<'point_of_sale'>
export type UserId = Branded<'user'>
export type MerchantId = Branded<'merchant'>
export type UserSessionId = Branded<'user_session'>
export type InvitationId = Branded<'invitation'>
export type PasskeyId = Branded<'passkey'>
export type SavedViewId = Branded<'saved_view'>
export type NoteId = Branded<'note'>
export type ApprovalRequestId = Branded<'approval_request'>
export type PayoutBatchId = Branded<'payout_batch'>

interface IdByPrefix {
  acct: AccountId
  key: ApiKeyId
  pay: PaymentId
  dep: DepositId
  cus: CustomerId
  wd: WithdrawalId
  whk: WebhookEndpointId
  evt: EventId
  dlv: DeliveryId
  cs: SessionId
  plink: PaymentLinkId
  pos: PointOfSaleId
  usr: UserId
  mer: MerchantId
  ses: UserSessionId
  inv: InvitationId
  psk: PasskeyId
  view: SavedViewId
  note: NoteId
  apr: ApprovalRequestId
  bat: PayoutBatchId
}
export type IdPrefix = keyof IdByPrefix
/** Of what anybody may open who has the link. */
export type PublicIdPrefix = 'cs' | 'plink' | 'pos'

const newUuid = openUuids()

/** A new id, its UUID ordered by time, and behind those that this process made before. Never for public ones: see {@link newPublicId}. */
export function newId<P extends Exclude<IdPrefix, PublicIdPrefix>>(_prefix: P): IdByPrefix[P] {
  return newUuid() as IdByPrefix[P]
}

/** A new UUIDv7 for a row that nobody outside ever names: a journal entry, an alert. */
export const newRowId = (): string => newUuid()

/** A new id of 128 random bits for what anyone holding the link may open. */
export function newPublicId<P extends PublicIdPrefix>(_prefix: P): IdByPrefix[P] {
  return uuidOf(randomBytes(16)) as IdByPrefix[P]
}

/** The id as the API shows it: `pay_` and 26 characters of base32. */
export function showId<P extends IdPrefix>(prefix: P, id: IdByPrefix[P]): string {
  return fromUUID(id, prefix)
}

const PREFIX_OF = {
  account: 'acct',
  deposit: 'dep',
  payment: 'pay',
  withdrawal: 'wd',
} as const satisfies Record<string, IdPrefix>

/** The same of a row that is told by a word for what it is; an id of anything else, such as a transaction's, is itself. */
export const showIdOf = (word: string, id: string): string =>
  word in PREFIX_OF ? fromUUID(id, PREFIX_OF[word as keyof typeof PREFIX_OF]) : id

/** Reads an id that came from outside; null when it is not one of this prefix. */
export function readId<P extends IdPrefix>(prefix: P, text: string): IdByPrefix[P] | null {
  if (!text.startsWith(`${prefix}_`) || text.length !== prefix.length + 27) return null
  try {
    return uuidOf(toUUIDBytes(fromString(text, prefix))) as IdByPrefix[P]
  } catch {
    return null
  }
}

/** 128 bits in the UUID notation; random ids carry no version bits, which libraries would insist on. */
function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
