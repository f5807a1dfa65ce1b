/**
 * Which deposits count as received, once: for rows in memory, and as SQL for those in the database. What a payment
 * becomes, the API, the pages, the proof and the balance all ask here.
 */
import type { Asset } from '../core/assets.ts'
import type { Deposit, DepositStatus } from './deposit.ts'

/** A block or the mempool holds it now. */
const PRESENT: readonly DepositStatus[] = ['seen', 'confirmed']
/** The same, and what a reorganisation took back: its transaction usually waits again. */
const RECEIVED: readonly DepositStatus[] = [...PRESENT, 'reorganised']

const listSql = (statuses: readonly DepositStatus[]): string =>
  statuses.map((status) => `'${status}'`).join(', ')

/** The chain pays us with it, or may still do so. */
export const isStanding = (status: DepositStatus): boolean => RECEIVED.includes(status)

/** The same, and it is no dust. */
export const isReceived = ({ status, dust }: Pick<Deposit, 'status' | 'dust'>): boolean =>
  !dust && isStanding(status)

/** SQL for {@link isReceived} of an alias of `deposits`. */
export const receivedSql = (deposit: string): string =>
  `not ${deposit}.dust and ${deposit}.status in (${listSql(RECEIVED)})`

/** Late funds wait for support, unless the payment was settled before: then they may be what settled it. */
export const isInTime = (
  { late }: Pick<Deposit, 'late'>,
  { settlements }: { readonly settlements: number },
): boolean => !late || settlements > 0

/** SQL for {@link isInTime} of an alias of `deposits` and one of `payments`. */
export const inTimeSql = (deposit: string, payment: string): string =>
  `(not ${deposit}.late or ${payment}.settlements > 0)`

/** A deposit in another coin than the payment's pays for nothing: it waits for support. */
export const paysFor = (
  deposit: Pick<Deposit, 'status' | 'dust' | 'asset'>,
  payment: { readonly asset: Asset },
): boolean => deposit.asset === payment.asset && isReceived(deposit)

/** SQL for {@link paysFor} of an alias of `deposits` and one of `payments`. */
export const paysForSql = (deposit: string, payment: string): string =>
  `${deposit}.asset = ${payment}.asset and ${receivedSql(deposit)}`

/** SQL of an alias of `deposits`: what the chain has not taken back. */
export const presentSql = (deposit: string): string => `${deposit}.status in (${listSql(PRESENT)})`

/**
 * SQL of an alias of `deposits`: in the merchant's pending balance. The index `deposits_pending` stands on these very
 * words.
 */
export const pendingSql = (deposit: string): string =>
  `not ${deposit}.booked and not ${deposit}.dust and ${presentSql(deposit)}`
