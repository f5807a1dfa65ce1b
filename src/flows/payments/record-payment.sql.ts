/** A payment with everything that goes with it, as one statement: it stands in the way of every sale. */
import type { KeyedAnswer } from '../../accounts/idempotency-keys.sql.ts'
import type { Tx } from '../../db/database.ts'
import { DELIVERIES_OF_EVENT, type EventDraft } from '../../events/announce.sql.ts'
import type { Payment } from '../../payments/payment.ts'
import type { FreshAddress } from '../../wallets/address-pool.sql.ts'

export interface PaymentRecord {
  readonly payment: Payment
  readonly fresh: FreshAddress
  readonly event: EventDraft
}

/** How far the process's idea of the database's time may be off when the statement arrives. */
const CLOCK_TOLERANCE = "interval '1 second'"

/**
 * Claims the idempotency key (waiting, as its unique index does, for another request that holds it), issues the address,
 * makes the customer if there is none, writes payment, event and deliveries: all or nothing.
 *
 * The `case` keeps the planner from the index of fresh addresses, which it would walk whole instead of finding the row by
 * its key (5 ms in place of 0.03).
 *
 * What the caller read before may be different by now (the address was issued to another payment, the wallet changed, the
 * customer was made, the clock is off); then the statement ends in `begin_anew`, and the transaction runs again. Locks the
 * key's row, then the address's.
 *
 * @returns `taken` when the key has an answer already; then nothing is written. `deliveries`: webhooks that are due now.
 * @throws PostgreSQL error 55P03 when the key is held for longer than `waitMs`.
 */
export async function insertPaymentRecord(
  tx: Tx,
  { payment, fresh, event }: PaymentRecord,
  keyed: KeyedAnswer | null,
): Promise<{ taken: boolean; deliveries: number }> {
  const { rows } = await tx.query<{ deliveries: bigint }>(
    INSERT,
    [
      payment.accountId,
      payment.id,
      payment.chain,
      payment.asset,
      payment.fiatCurrency,
      payment.fiatMinor,
      payment.feeMinor,
      payment.netMinor,
      payment.rate.numerator,
      payment.rate.denominator,
      payment.rateSource,
      payment.rateAt,
      payment.settlementRate.numerator,
      payment.settlementRate.denominator,
      payment.dueAtoms,
      payment.requiredConfirmations,
      payment.customerId,
      payment.customerEmail,
      payment.reference,
      payment.metadata,
      payment.checkoutSessionId,
      payment.createdAt,
      payment.expiresAt,
      fresh.lookup,
      fresh.address,
      fresh.mac,
      fresh.wallet.mac,
      payment.termsMac,
      event.id,
      event.type,
      event.cause,
      event.body,
      keyed?.key ?? null,
      keyed?.requestHash ?? null,
      keyed?.status ?? null,
      keyed?.sealedBody ?? null,
      keyed ? `${keyed.waitMs}ms` : null,
      payment.toleratedAtoms,
      payment.feeBps,
    ],
    'prepared',
  )
  const row = rows[0]
  return { taken: row === undefined, deliveries: Number(row?.deliveries ?? 0n) }
}

const INSERT = `
  with claimed as (
    insert into idempotency_keys as known (account_id, key, request_hash, response_status, response_body)
    select $1::uuid, $33::text, $34::bytea, $35::integer, $36::bytea
    from (select set_config('lock_timeout', $37::text, true) where $33::text is not null) patience
    on conflict (account_id, key) do update
      set request_hash = excluded.request_hash, response_status = excluded.response_status,
        response_body = excluded.response_body, is_final = true, created_at = now()
      where known.created_at < now() - interval '24 hours'
    returning 1
  ), free as (
    select where $33::text is null or exists (select from claimed)
  ), issued as (
    update addresses a set account_id = $1::uuid, payment_id = $2::uuid, issued_at = now()
    from free
    where a.lookup = $24::bytea and a.chain = $3::text
      and case when a.issued_at is null and not a.withheld then a.address = $25::text and a.mac = $26::bytea
        and a.series = (select w.series from wallets w
          where w.chain = $3::text and w.retired_at is null and w.mac = $27::bytea) end
    returning a.address
  ), made as (
    insert into customers (account_id, id, email)
    select $1::uuid, $17::uuid, $18::text from issued
    where $17::uuid is not null
      and not exists (select from customers where account_id = $1::uuid and lower(email) = lower($18::text))
    on conflict (account_id, lower(email)) do nothing
    returning id
  ), paid as (
    insert into payments (account_id, id, status, chain, asset, fiat_currency, fiat_minor, fee_minor, net_minor,
      quoted_fee_minor, rate_numerator, rate_denominator, rate_source, rate_at, settlement_numerator,
      settlement_denominator, due_atoms, address, required_confirmations, customer_id, customer_email, reference,
      metadata, checkout_session_id, created_at, expires_at, terms_mac, tolerated_atoms, fee_bps)
    select $1::uuid, $2::uuid, 'pending', $3::text, $4::text, $5::text, $6::bigint, $7::bigint, $8::bigint,
      $7::bigint, $9::numeric, $10::numeric, $11::text, $12::timestamptz, $13::numeric,
      $14::numeric, $15::numeric, address, $16::integer, $17::uuid, $18::text, $19::text,
      $20::json, $21::uuid, $22::timestamptz, $23::timestamptz, $28::bytea, $38::numeric, $39::integer
    from issued
    where $22::timestamptz between clock_timestamp() - ${CLOCK_TOLERANCE} and clock_timestamp() + ${CLOCK_TOLERANCE}
      and ($17::uuid is null
        or exists (select from made)
        or exists (select from customers where account_id = $1::uuid and id = $17::uuid and lower(email) = lower($18::text)))
    returning account_id
  ), event as (
    insert into events (account_id, id, type, cause, body)
    select account_id, $29::uuid, $30::text, $31::text, $32::text from paid
    returning account_id, id, type
  ), told as (${DELIVERIES_OF_EVENT} returning 1)
  select (select count(*) from told) as deliveries from free
  where case when exists (select from paid) then true
    else begin_anew('what a payment was made of is different by now') end`
