/** What every operation of the OpenAPI document has in common: refusals, tags, headers, the shape of a failure. */
import { failure } from './envelope.ts'

/** What every route may be refused with, by status: the line of the reference and the reasons. */
export const COMMON_REFUSALS: Readonly<
  Record<number, { readonly when: string; readonly reasons: readonly string[] }>
> = {
  400: {
    when: 'The request is malformed, or a field is wrong; `details` names each.',
    reasons: [
      'invalid_request',
      'malformed_json',
      'invalid_text',
      'nested_too_deep',
      'too_many_values',
      'malformed_url',
      'malformed_request',
    ],
  },
  401: {
    when: 'The API key is missing, malformed, unknown, revoked or expired.',
    reasons: [
      'missing_api_key',
      'malformed_api_key',
      'unknown_api_key',
      'revoked_api_key',
      'expired_api_key',
    ],
  },
  403: {
    when: 'The API key lacks the scope that the operation needs, or may not be used from this address.',
    reasons: ['missing_scope', 'address_not_allowed'],
  },
  404: { when: 'There is no such resource in this account.', reasons: [] },
  408: { when: 'The request did not arrive whole within 30 seconds.', reasons: ['request_timeout'] },
  409: { when: 'The request does not fit the state of the resource.', reasons: [] },
  413: { when: 'The body is larger than 64 KiB.', reasons: ['body_too_large'] },
  415: {
    when: 'The body is not `application/json` in UTF-8, or is compressed.',
    reasons: ['unsupported_media_type'],
  },
  422: { when: 'The request is understood and refused by the business.', reasons: [] },
  429: {
    when: 'Too many requests from this API key, or too many wrong keys from this address. `Retry-After` says when to come back.',
    reasons: ['rate_limit_exceeded'],
  },
  431: {
    when: 'The headers, the path with its query included, are larger than 16 kB.',
    reasons: ['headers_too_large'],
  },
  500: {
    when: 'Beck made a mistake; the operator finds the cause under `request_id`.',
    reasons: ['internal_error'],
  },
  503: {
    when: 'Something that the request needs is not there now; try again shortly.',
    reasons: ['temporarily_unavailable', 'database_went_back'],
  },
}

/** What a group of operations is about, by the first word of their paths. */
export const TAGS: Readonly<Record<string, string>> = {
  payments: 'A price in fiat, paid in a coin at an address of its own.',
  checkout: 'Hosted pages on which the buyer picks the coin.',
  'payment-links': 'Links of a fixed price that start a checkout on every visit.',
  'points-of-sale': 'Keypads for phones behind counters.',
  webhooks: 'Where events are sent.',
  events: 'What happened, for a receiver that missed it.',
  customers: 'Who paid, by email.',
  balance: 'What the account has, per coin and in fiat.',
  withdrawals: 'Payouts to any wallet.',
  sandbox: 'Helpers of test accounts: pay, mine, reorganise.',
}

/** Of the header `Idempotency-Key`. */
export const KEY_REASONS: Readonly<Record<number, readonly string[]>> = {
  400: ['invalid_idempotency_key'],
  409: ['idempotency_key_reused', 'idempotency_key_in_flight'],
}

/** Refusals that are kept for their `Idempotency-Key` and given again. */
export const REPLAYED = [404, 409, 422]

/** Statuses whose reasons are the same for every route. */
export const SHARED = [401, 403, 408, 413, 415, 429, 431, 500]

export const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes a repeated request safe: for 24 hours the first answer is given again, byte for byte, with `Idempotent-Replayed: true`.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

export const HEADERS = {
  RequestId: { description: 'names this request in the operator’s log', schema: { type: 'string' } },
  RateLimitLimit: { description: 'requests that a full bucket holds', schema: { type: 'integer' } },
  RateLimitRemaining: { description: 'requests left in the bucket', schema: { type: 'integer' } },
  RateLimitReset: { description: 'seconds until the bucket is full', schema: { type: 'integer' } },
  WwwAuthenticate: { description: '`Bearer`', schema: { type: 'string' } },
  RetryAfter: { description: 'seconds to wait before the next attempt', schema: { type: 'integer' } },
  IdempotentReplayed: {
    description: '`true` on an answer that was given before',
    schema: { type: 'string' },
  },
}

export const FAILURE = {
  type: 'object',
  required: ['data', 'error'],
  additionalProperties: false,
  examples: [
    failure(400, {
      reason: 'invalid_amount',
      message: 'fiat_amount must be more than 0 and have at most two decimals, got 10.001',
      details: [
        {
          field: 'fiat_amount',
          message: 'fiat_amount must be more than 0 and have at most two decimals, got 10.001',
        },
      ],
      requestId: 'req_Zm9vYmFyYmF6cXV4',
    }),
  ],
  properties: {
    data: { type: 'null' },
    error: {
      type: 'object',
      required: ['code', 'message', 'reason', 'details', 'request_id'],
      additionalProperties: false,
      properties: {
        code: { type: 'string', description: '`HTTP_<status>`, or `RATE_LIMIT_EXCEEDED` for 429' },
        message: { type: 'string', description: 'what was got, what is expected, what to do; for people' },
        reason: { type: 'string', pattern: '^[a-z0-9]+(_[a-z0-9]+)*$', description: 'stable; for programs' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['field', 'message'],
            additionalProperties: false,
            properties: { field: { type: 'string' }, message: { type: 'string' } },
          },
        },
        request_id: { type: 'string' },
      },
    },
  },
}
