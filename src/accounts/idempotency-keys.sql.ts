/** Which requests were answered already, and how. A key commits together with the effect of its request. */
import type { AccountId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { anyRow, countRows, firstRow } from '../db/rows.ts'

export interface StoredAnswer {
  readonly requestHash: Buffer
  readonly status: number
  /** Sealed: an answer may hold a secret that is shown once. */
  readonly sealedBody: Buffer
  /** False while nobody was answered: {@link settleAnswer} may still change it, once. */
  readonly isFinal: boolean
}

/** A key claimed together with its answer, sealed: for a statement that is the whole of a request's effect. */
export interface KeyedAnswer {
  readonly accountId: AccountId
  readonly key: string
  readonly requestHash: Uint8Array
  readonly status: number
  readonly sealedBody: Uint8Array
  /** How long another request with this key is waited for; then PostgreSQL answers 55P03. */
  readonly waitMs: number
}

/**
 * Claims a key for the running transaction. While another transaction holds the key's row, this waits on the unique
 * index for it to end: it then finds the key taken (that one committed) or free (that one rolled back).
 * A row older than 24 hours is taken over. What the transaction waits for after that, it waits for as without a key.
 *
 * @returns False when the key has an answer; read it with {@link findAnswer}.
 * @throws PostgreSQL error 55P03 when the other transaction outlasts `waitMs`.
 */
export const claimIdempotencyKey = (
  tx: Tx,
  claim: { accountId: AccountId; key: string; requestHash: Uint8Array; waitMs: number },
): Promise<boolean> =>
  anyRow(
    tx,
    `with usual as materialized (select current_setting('lock_timeout') as patience),
       impatient as materialized (select set_config('lock_timeout', $4::text, true) from usual)
     insert into idempotency_keys as known (account_id, key, request_hash)
     select $1::uuid, $2::text, $3::bytea from impatient
     on conflict (account_id, key) do update
       set request_hash = excluded.request_hash, response_status = null, response_body = null, is_final = true,
         created_at = now()
       where known.created_at < now() - interval '24 hours'
     returning set_config('lock_timeout', (select patience from usual), true)`,
    [claim.accountId, claim.key, Buffer.from(claim.requestHash), `${claim.waitMs}ms`],
  )

/** Completes a claim, in the transaction that made it. */
export async function storeAnswer(
  tx: Tx,
  accountId: AccountId,
  key: string,
  answer: Omit<StoredAnswer, 'requestHash'>,
): Promise<void> {
  await tx.query(
    `update idempotency_keys set response_status = $3::integer, response_body = $4::bytea,
       is_final = $5::boolean
     where account_id = $1::uuid and key = $2::text`,
    [accountId, key, answer.status, answer.sealedBody, answer.isFinal],
  )
}

/** The last word on an answer that is not final. @returns False when somebody else had it. */
export const settleAnswer = (
  db: Queryable,
  accountId: AccountId,
  key: string,
  sealedBody: Uint8Array,
): Promise<boolean> =>
  anyRow(
    db,
    `update idempotency_keys set response_body = $3::bytea, is_final = true
     where account_id = $1::uuid and key = $2::text and not is_final`,
    [accountId, key, Buffer.from(sealedBody)],
  )

/** The answer stored under a key; null when there is none, or it is older than 24 hours. */
export const findAnswer = (db: Queryable, accountId: AccountId, key: string): Promise<StoredAnswer | null> =>
  firstRow(
    db,
    `select request_hash as "requestHash", response_status as status, response_body as "sealedBody",
       is_final as "isFinal"
     from idempotency_keys
     where account_id = $1::uuid and key = $2::text and created_at >= now() - interval '24 hours'
       and response_status is not null`,
    [accountId, key],
  )

/** Forgets answers past their 24 hours, the oldest first. @returns How many; fewer than `limit` means all of them. */
export const forgetOldAnswers = (db: Queryable, limit: number): Promise<number> =>
  countRows(
    db,
    `delete from idempotency_keys where ctid = any(array(
       select ctid from idempotency_keys where created_at < now() - interval '24 hours'
       order by created_at limit $1::integer for update skip locked))`,
    [limit],
  )
