/** A payment with everything that goes with it, as one statement: it stands in the way of every sale. */
import type { KeyedAnswer } from '../../accounts/idempotency-keys.sql.ts'
import type { Fiat } from '../../core/assets.ts'
import type { Tx } from '../../db/database.ts'
import { overRowsPrepared } from '../../db/row-statements.ts'
import { runRows } from '../../db/together.ts'
import { DELIVERIES_OF_EVENT, type EventDraft } from '../../events/announce.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import type { FreshAddress } from '../../wallets/address-pool.sql.ts'

export interface PaymentRecord {
  readonly payment: Payment
  /** Of the account as it was read: another one by now is refused. */
  readonly settlementCurrency: Fiat
  readonly fresh: FreshAddress
  readonly event: EventDraft
}

/**
 * How old the time of a payment may be when its row is written: statements wait for each other, for locks and for a disk. Of a database
 * in which each takes longer than a second, no payment would ever be made. The buyer's half hour is so much shorter.
 */
const LATE_MAX = "interval '1 minute'"
/** No payment is of the future: the process's idea of the database's time is never ahead of it, but by the drift of its clock. */
const EARLY_MAX = "interval '1 second'"

/**
 * Claims the idempotency key (waiting, as its unique index does, for another request that holds it), issues the address,
 * makes the customer if there is none, writes payment, event and deliveries: all or nothing.
 *
 * Payments of one account that are recorded at the same moment go as one statement (see `db/gathered.ts`). One that keeps
 * the others from happening is recorded alone, as they then are: two with one key or one new customer, a key that is held
 * elsewhere for longer than a moment.
 *
 * Only for keys is anybody impatient: what is locked behind them (`free` is read once `patient` is) is waited for as without one.
 *
 * The `case` keeps the planner from the index of fresh addresses, which it would walk whole instead of finding the row by
 * its key (5 ms in place of 0.03).
 *
 * What the caller read before may be different by now (the address was issued to another payment, the wallet changed, the
 * customer was made, the clock is off); then the statement ends in `begin_anew`, which says what it was, and the transaction
 * runs again. Where the account was closed it ends in `refuse_closed`. Locks the key's row, then the account's, and the address's.
 *
 * @returns `taken` when the key has an answer already; then nothing is written. `deliveries`: webhooks that are due now.
 * @throws PostgreSQL error 55P03 when the key is held for longer than `waitMs`.
 */
export async function insertPaymentRecord(
  tx: Tx,
  { payment, settlementCurrency, fresh, event }: PaymentRecord,
  keyed: KeyedAnswer | null,
): Promise<{ taken: boolean; deliveries: number }> {
  const [row] = await runRows<{ deliveries: bigint }>(tx, INSERT, [
    {
      account_id: payment.accountId,
      id: payment.id,
      chain: payment.chain,
      asset: payment.asset,
      fiat_currency: payment.fiatCurrency,
      fiat_minor: payment.fiatMinor,
      fee_minor: payment.feeMinor,
      net_minor: payment.netMinor,
      rate_numerator: payment.rate.numerator,
      rate_denominator: payment.rate.denominator,
      rate_source: payment.rateSource,
      rate_at: payment.rateAt,
      settlement_numerator: payment.settlementRate.numerator,
      settlement_denominator: payment.settlementRate.denominator,
      settlement_currency: settlementCurrency,
      due_atoms: payment.dueAtoms,
      tolerated_atoms: payment.toleratedAtoms,
      fee_bps: payment.feeBps,
      required_confirmations: payment.requiredConfirmations,
      customer_id: payment.customerId,
      customer_email: payment.customerEmail,
      reference: payment.reference,
      metadata: payment.metadata,
      checkout_session_id: payment.checkoutSessionId,
      created_at: payment.createdAt,
      expires_at: payment.expiresAt,
      terms_mac: payment.termsMac,
      lookup: fresh.lookup,
      address: fresh.address,
      address_mac: fresh.mac,
      wallet_mac: fresh.wallet.mac,
      event_id: event.id,
      event_type: event.type,
      cause: event.cause,
      body: event.body,
      key: keyed?.key ?? null,
      request_hash: keyed?.requestHash ?? null,
      response_status: keyed?.status ?? null,
      response_body: keyed?.sealedBody ?? null,
      wait_ms: keyed?.waitMs ?? null,
    },
  ])
  return { taken: row === undefined, deliveries: Number(row?.deliveries ?? 0n) }
}

/** How long payments that are recorded together wait for the key of one of them. */
const TOGETHER_WAIT_MS = 20

/** Of a draft: it names none, or the one that has the email, be it known or made by this statement. */
const HAS_ITS_CUSTOMER =
  '(customer_id is null or customer_id = known_customer or customer_id in (select id from made))'

const INSERT = overRowsPrepared(
  {
    account_id: 'uuid',
    id: 'uuid',
    chain: 'text',
    asset: 'text',
    fiat_currency: 'text',
    fiat_minor: 'bigint',
    fee_minor: 'bigint',
    net_minor: 'bigint',
    rate_numerator: 'numeric',
    rate_denominator: 'numeric',
    rate_source: 'text',
    rate_at: 'timestamptz',
    settlement_numerator: 'numeric',
    settlement_denominator: 'numeric',
    settlement_currency: 'text',
    due_atoms: 'numeric',
    tolerated_atoms: 'numeric',
    fee_bps: 'integer',
    required_confirmations: 'integer',
    customer_id: 'uuid',
    customer_email: 'text',
    reference: 'text',
    metadata: 'text',
    checkout_session_id: 'uuid',
    created_at: 'timestamptz',
    expires_at: 'timestamptz',
    terms_mac: 'bytea',
    lookup: 'bytea',
    address: 'text',
    address_mac: 'bytea',
    wallet_mac: 'bytea',
    event_id: 'uuid',
    event_type: 'text',
    cause: 'text',
    body: 'text',
    key: 'text',
    request_hash: 'bytea',
    response_status: 'integer',
    response_body: 'bytea',
    wait_ms: 'integer',
  },
  (rows) => `
  with draft as materialized (
    select * from ${rows}
  ), usual as materialized (
    select current_setting('lock_timeout') as patience
  ), impatient as materialized (
    select set_config('lock_timeout',
      case when count(*) > 1 then ${TOGETHER_WAIT_MS} else max(wait_ms) end || 'ms', true)
    from draft, usual having max(wait_ms) is not null
  ), claimed as (
    insert into idempotency_keys as known (account_id, key, request_hash, response_status, response_body)
    select account_id, key, request_hash, response_status, response_body
    from impatient, draft where key is not null order by account_id, key
    on conflict (account_id, key) do update
      set request_hash = excluded.request_hash, response_status = excluded.response_status,
        response_body = excluded.response_body, is_final = true, created_at = now()
      where known.created_at < now() - interval '24 hours'
    returning account_id, key
  ), patient as materialized (
    select set_config('lock_timeout', patience, true) is not null as again
    from usual, (select count(*) from claimed) all_were_claimed
  ), free as materialized (
    select *, (select c.id from customers c
      where c.account_id = draft.account_id and lower(c.email) = lower(draft.customer_email)) as known_customer
    from draft where (select again from patient) and (key is null or (account_id, key) in (select account_id, key from claimed))
  ), open as materialized (
    select id from accounts where id = any (array(select account_id from free)) and closed_at is null
    order by id for key share
  ), issued as (
    update addresses a set account_id = r.account_id, payment_id = r.id, issued_at = now()
    from free r, lateral (select x.ctid as found from addresses x where x.lookup = r.lookup and x.chain = r.chain offset 0) x
    where a.ctid = x.found
      and case when a.issued_at is null and not a.withheld then a.address = r.address and a.mac = r.address_mac
        and a.series = (select w.series from wallets w
          where w.chain = r.chain and w.retired_at is null and w.mac = r.wallet_mac) end
    returning a.payment_id
  ), made as (
    insert into customers (account_id, id, email)
    select account_id, customer_id, customer_email from free
    where customer_id is not null and known_customer is null and id in (select payment_id from issued)
    on conflict (account_id, lower(email)) do nothing
    returning id
  ), paid as (
    insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor,
      quoted_fee_minor, rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator,
      settlement_denominator, settlement_currency, due_atoms, address, required_confirmations, customer_id, customer_email, reference,
      metadata, checkout_session_id, created_at, expires_at, terms_mac, tolerated_atoms, fee_bps)
    select account_id, id, 'pending', chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor,
      fee_minor, rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator,
      settlement_denominator, settlement_currency, due_atoms, address, required_confirmations, customer_id, customer_email, reference,
      metadata::json, checkout_session_id, created_at, expires_at, terms_mac, tolerated_atoms, fee_bps
    from free
    where id in (select payment_id from issued)
      and created_at between clock_timestamp() - ${LATE_MAX} and clock_timestamp() + ${EARLY_MAX}
      and ${HAS_ITS_CUSTOMER}
    returning id
  ), event as (
    insert into events (account_id, id, type, cause, body)
    select account_id, event_id, event_type, cause, body from free where id in (select id from paid)
    returning account_id, id, type
  ), told as (${DELIVERIES_OF_EVENT} returning event_id)
  select place, (select count(*) from told where told.event_id = r.event_id) as deliveries from free r
  where case when account_id not in (select id from open) then refuse_closed(account_id)
    when id in (select id from paid) then true
    else begin_anew(case
      when id not in (select payment_id from issued) then 'the address of a payment is not what it was'
      when ${HAS_ITS_CUSTOMER} is not true then 'the customer of a payment is not who it was'
      else 'the time of a payment is too old, or not yet' end) end`,
)
