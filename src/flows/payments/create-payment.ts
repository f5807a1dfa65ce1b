/** A price becomes a payment: the rate locked, a fresh address, the exact amount, one event; all or nothing. */
import type { Account } from '../../accounts/account.ts'
import { accountClosed, isOfClosedAccount, requireOpen } from '../../accounts/closing.sql.ts'
import type { KeyedAnswer } from '../../accounts/idempotency-keys.sql.ts'
import { type ChainProgress, findChainProgress } from '../../chains/chain-progress.sql.ts'
import { POLL_AGE_MS_MAX } from '../../chains/poll-age.ts'
import { ASSET_FACTS, type Asset, chainFor, type Fiat } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { type Refusal, unavailable } from '../../core/errors.ts'
import { type CustomerId, newId, type SessionId } from '../../core/ids.ts'
import { compareRatios, ratio } from '../../core/ratio.ts'
import { QUOTE_WINDOW_MS } from '../../core/time.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { sqlState } from '../../db/failures.ts'
import { FOREIGN_KEY_VIOLATION } from '../../db/sqlstate.ts'
import { draftEvent } from '../../events/announce.sql.ts'
import { findCustomerId, upsertCustomer } from '../../payments/customers.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import { type PaymentResource, paymentResource } from '../../payments/payment-resource.ts'
import { macOfTerms, type Terms } from '../../payments/terms.ts'
import { convertFiat, crossRate, dueAtoms, feeMinor, toleratedAtoms } from '../../rates/quote.ts'
import { readDatabaseTime } from '../database-time.sql.ts'
import { confirmationsOf, type Gateway } from '../gateway.ts'
import { requireFiatAmount, requireSendable } from './fiat-amount.ts'
import { ratesOf } from './rates-of.ts'
import { chainFactsOf } from './read-payment.ts'
import { insertPaymentRecord, type PaymentRecord } from './record-payment.sql.ts'
import { refuseAsRehearsed } from './rehearsed-refusal.ts'

export interface PaymentRequest {
  readonly asset: Asset
  readonly fiatMinor: bigint
  readonly fiatCurrency: Fiat
  readonly reference: string | null
  readonly customerEmail: string | null
  /** JSON text, kept as it was given. */
  readonly metadata: string | null
  readonly checkoutSessionId?: SessionId
}

/** A payment that is made up, with its address and its event, but not written. */
export interface PaymentDraft extends PaymentRecord {
  readonly resource: PaymentResource
}

/**
 * Creates a payment in the caller's transaction and announces `payment.created`.
 *
 * @throws {Refusal} `forbidden`, `account_closed`; `unprocessable` outside the gateway's amounts, or below its coin's; `unavailable` without a rate, a chain in sight or a
 *   fresh address.
 */
export async function createPayment(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  request: PaymentRequest,
): Promise<Payment> {
  const email = request.customerEmail
  const customerId = email === null ? null : await upsertCustomer(tx, account.id, email)
  const draft = await drawUp(gateway, tx, account, request, customerId, () => readDatabaseTime(tx))
  await recordPayment(gateway, tx, draft, null)
  return draft.payment
}

/**
 * The same in two steps, for {@link recordPayment} as a transaction of one statement.
 *
 * @throws {Refusal} as {@link createPayment}.
 */
export async function draftPayment(
  gateway: Gateway,
  account: Account,
  request: PaymentRequest,
): Promise<PaymentDraft> {
  const { db, databaseTime } = gateway
  const reads = db.gathering(account.id)
  const email = request.customerEmail
  const customerId =
    email === null ? null : ((await findCustomerId(reads, account.id, email)) ?? newId('cus'))
  return drawUp(gateway, reads, account, request, customerId, databaseTime)
}

/** @returns `taken` when the key has an answer already: then nothing was written, and the address is fresh again. */
export async function recordPayment(
  { addresses }: Pick<Gateway, 'addresses'>,
  tx: Tx,
  draft: PaymentDraft,
  keyed: KeyedAnswer | null,
): Promise<{ taken: boolean; deliveries: number }> {
  crashPoint('create:announced')
  try {
    const recorded = await insertPaymentRecord(tx, draft, keyed)
    if (recorded.taken) addresses.giveBack(draft.fresh)
    return recorded
  } catch (error) {
    // The address that it names is not used again. Those set aside beside it are looked at.
    addresses.doubt(draft.payment.chain)
    if (isOfClosedAccount(error)) throw accountClosed()
    throw isOfOtherCurrency(error) ? currencyChanged() : error
  }
}

/** The account was read before its settlement currency changed: within seconds it is read again. */
const isOfOtherCurrency = (error: unknown): boolean =>
  sqlState(error) === FOREIGN_KEY_VIOLATION &&
  error instanceof Error &&
  'constraint' in error &&
  error.constraint === 'payments_account_id_settlement_currency_fkey'

const currencyChanged = () =>
  unavailable(
    'temporarily_unavailable',
    'the settlement currency of the account was changed a moment ago; nothing was made, send the request again',
  )

/** Of every payment while nothing has happened to it. */
const NEW = {
  status: 'pending',
  detectedAt: null,
  completedAt: null,
  creditedAtoms: null,
  gatewayFeeAtoms: null,
  shortfallAtoms: 0n,
  recoveredAtoms: 0n,
  accepted: null,
  spentMinor: null,
  settlements: 0,
} as const

async function drawUp(
  gateway: Gateway,
  db: Queryable,
  account: Account,
  request: PaymentRequest,
  customerId: CustomerId | null,
  readTime: () => Promise<Date>,
): Promise<PaymentDraft> {
  const { asset, fiatCurrency, fiatMinor } = request
  requireOpen(account)
  refuseAsRehearsed(account, request.reference)
  requireFiatAmount(gateway.settings, { fiatMinor, currency: fiatCurrency }, 'fiat_amount')
  const chain = chainFor(account.mode, ASSET_FACTS[asset].network)
  const seen = account.mode === 'live' ? await requireChainInSight(db, asset, chain) : null
  requireSandboxNode(account, asset)

  const rates = ratesOf(gateway, account)
  const rate = rates.rate(asset, fiatCurrency)
  const due = dueAtoms(fiatMinor, rate.ratio, asset)
  requireSendable(due, asset, 'fiat_amount')
  const settlementRate =
    account.currency === fiatCurrency
      ? ratio(1n, 1n)
      : crossRate(rate.ratio, rates.rate(asset, account.currency).ratio)
  const feeBps = account.feeBps === null ? gateway.settings.feeBps : BigInt(account.feeBps)
  const fee = feeMinor(fiatMinor, feeBps)
  const fresh = await gateway.addresses.take(db, chain)
  // After everything that may have waited: the statement refuses a time that is too old.
  const createdAt = await readTime()
  const terms: Terms = {
    accountId: account.id,
    id: newId('pay'),
    chain,
    asset,
    fiatCurrency,
    fiatMinor,
    quotedFeeMinor: fee,
    feeBps,
    rate: rate.ratio,
    settlementRate,
    dueAtoms: due,
    toleratedAtoms: toleratedAtoms(due, asset, account.toleranceBps),
    address: fresh.address,
    requiredConfirmations: requiredConfirmations(gateway, account, request, settlementRate),
    checkoutSessionId: request.checkoutSessionId ?? null,
  }
  const payment: Payment = {
    ...terms,
    ...NEW,
    termsMac: macOfTerms(gateway.secrets, terms),
    feeMinor: fee,
    netMinor: fiatMinor - fee,
    rateSource: rate.source,
    rateAt: rate.at,
    customerId,
    customerEmail: request.customerEmail,
    reference: request.reference,
    metadata: request.metadata,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + QUOTE_WINDOW_MS),
  }
  const resource = paymentResource(payment, [], chainFactsOf(gateway.settings, chain, seen))
  const event = draftEvent({
    accountId: account.id,
    type: 'payment.created',
    cause: `payment:${payment.id}:created`,
    data: resource,
  })
  return { payment, settlementCurrency: account.currency, fresh, event, resource }
}

/**
 * A coin whose chain nobody watches now is refused: its payment might go unseen.
 *
 * @throws {Refusal} `unavailable`, `chain_unavailable`, that says why.
 */
export async function requireChainInSight(
  db: Queryable,
  asset: Asset,
  chain: Payment['chain'],
): Promise<ChainProgress> {
  const progress = await findChainProgress(db, chain)
  const reason =
    progress === null
      ? 'no node is connected for it'
      : progress.haltedReason !== null
        ? 'its chain is halted until the operator looks at it'
        : progress.pollAgeMs === null || progress.pollAgeMs > POLL_AGE_MS_MAX
          ? 'its node is down, behind or out of reach'
          : null
  if (progress === null || reason) throw chainUnavailable(asset, reason)
  return progress
}

/** @throws {Refusal} as {@link requireChainInSight}, where the sandbox was told so. */
export function requireSandboxNode({ trouble }: Account, asset: Asset): void {
  if (trouble === 'dead_node') throw chainUnavailable(asset, 'the sandbox was told that its node is down')
}

const chainUnavailable = (asset: Asset, reason: string | null): Refusal =>
  unavailable(
    'chain_unavailable',
    `${asset} cannot be taken now: ${reason}; try another coin, or again later`,
  )

/** The asset's own, or the operator's, raised by the account's rules for large amounts; never lowered by them. */
function requiredConfirmations(
  gateway: Gateway,
  account: Account,
  request: PaymentRequest,
  settlementRate: Payment['settlementRate'],
): number {
  const ordinary = confirmationsOf(gateway.settings, request.asset)
  const price =
    compareRatios(settlementRate, ratio(1n, 1n)) === 0
      ? request.fiatMinor
      : convertFiat(request.fiatMinor, settlementRate)
  const raised = account.confirmationRules
    .filter((rule) => rule.asset === request.asset && price >= rule.fromMinor)
    .map((rule) => rule.confirmations)
  return Math.max(ordinary, ...raised)
}
