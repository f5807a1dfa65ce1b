/** Turns one row of the API into a route: guard, validation, transaction, serialisation. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { KeyedAnswer } from '../accounts/idempotency-keys.sql.ts'
import { askedByKey } from '../approvals/asker.ts'
import { recordAct } from '../audit/audit-log.sql.ts'
import { crashPoint } from '../core/crash-point.ts'
import { invalid, invariant, type Refusal } from '../core/errors.ts'
import { type AccountId, showId } from '../core/ids.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import type { Gateway } from '../flows/gateway.ts'
import { requireTestAccount } from '../flows/sandbox.ts'
import type { Caller } from './authenticate.ts'
import { failure, success } from './envelope.ts'
import { answerTo } from './errors.ts'
import type { Guard } from './guard.ts'
import {
  answerAtOnce,
  answerOnce,
  hashRequest,
  type KeyedReply,
  type KeyedRequest,
  type Reply,
  readIdempotencyKey,
} from './idempotency.ts'
import { isStorable, requireJsonHeaders, textProblem } from './json-body.ts'
import {
  type Done,
  type Drafted,
  type ReadRoute,
  type Route,
  type StatementRoute,
  scopesOf,
  type WriteRoute,
} from './route.ts'
import { Envelope, Fields } from './schemas.ts'
import type { WorkLimit } from './work-limit.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** What a route may cost its account. */
export interface Effort {
  readonly limit: WorkLimit
  /** For each statement of a read. */
  readonly readLimitMs: number
}

export function registerRoute(
  app: FastifyInstance,
  gateway: Gateway,
  route: Route,
  guard: Guard,
  effort: Effort,
): void {
  const status = route.status ?? 200
  const query = route.query ?? Fields({})
  const guarded = guard(scopesOf(route))
  const takesBody = route.method !== 'GET'
  const body = route.body ?? Fields({})
  app.route({
    method: route.method,
    url: `/v1${route.path}`,
    schema: {
      ...(route.params ? { params: route.params } : {}),
      querystring: query,
      ...(takesBody ? { body } : {}),
      response: { [status]: Envelope(route.data) },
    },
    onRequest: async (request, reply) => {
      await guarded(request, reply)
      if (route.testOnly && request.caller) requireTestAccount(request.caller.account)
      if (takesBody) requireJsonHeaders(request.raw)
    },
    preValidation: async (request) => {
      request.query = readQuery(query, request.query)
      cutShort(query, request.query)
      if (takesBody && request.body === undefined && isAllOptional(body)) request.body = {}
      if (takesBody) cutShort(body, request.body)
    },
    handler: (request, reply) => handle(gateway, route, status, effort, request, reply),
  })
}

async function handle(
  gateway: Gateway,
  route: Route,
  status: number,
  effort: Effort,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  invariant(request.caller, 'an API route ran before its guard')
  const { caller } = request
  const { account, scopes } = caller
  const call = {
    gateway,
    account,
    scopes,
    params: request.params as Static<TSchema>,
    query: request.query as Static<TSchema>,
    body: request.body as Static<TSchema>,
    bodyText: request.bodyText,
  }
  reply.code(status).type(JSON_TYPE)
  const serialize = (data: unknown): Reply => ({ status, body: String(reply.serialize(success(data))) })
  const key = route.method === 'POST' ? readIdempotencyKey(request.raw) : null
  const keyed = key === null ? null : keyedRequest(account.id, key, request)
  const db = takingTurns(gateway.db, route, account.id, effort, () => request.raw.socket?.destroyed === true)
  const answer =
    'draft' in route
      ? await changeAtOnce(route, call, db, serialize, keyed, request.id)
      : await readOrChange(route, call, db, serialize, keyed, { caller, id: request.id, ip: request.ip })
  if (answer.replayed) reply.header('Idempotent-Replayed', 'true')
  return reply.code(answer.status).send(answer.body)
}

/** Each transaction takes a place of the account's, and nothing that is waited for between and after them. */
function takingTurns(
  db: Database,
  route: Route,
  account: AccountId,
  { limit, readLimitMs }: Effort,
  isGone: () => boolean,
): Database {
  const [kind, bounds] =
    'read' in route ? (['read', { statementLimitMs: readLimitMs }] as const) : (['write', {}] as const)
  return {
    ...db,
    transaction: (work, options) =>
      limit.run(
        account,
        options?.group === undefined ? kind : 'gathered',
        () => db.transaction(work, { ...bounds, ...options }),
        isGone,
      ),
  }
}

const keyedRequest = (accountId: AccountId, key: string, request: FastifyRequest): KeyedRequest => ({
  accountId,
  key,
  requestHash: hashRequest(request.method, request.url, request.bodyText),
})

type Serialize = (data: unknown) => Reply
type AnyCall = Omit<Parameters<ReadRoute['read']>[0], 'db'>

async function readOrChange(
  route: ReadRoute | WriteRoute,
  call: AnyCall,
  db: Database,
  serialize: Serialize,
  keyed: KeyedRequest | null,
  request: { readonly caller: Caller; readonly id: string; readonly ip: string },
): Promise<KeyedReply> {
  const { gateway } = call
  const work = async (tx: Queryable | Tx): Promise<Reply> => {
    if ('read' in route) return serialize(await route.read({ ...call, db: tx }))
    invariant('inTransaction' in tx, 'a change ran outside of a transaction')
    return serialize(await writeRecorded(route, { ...call, tx }, request.caller, request.ip))
  }
  const settle = async (first: Reply): Promise<Reply> => {
    if (!('write' in route)) return first
    route.committed?.(call)
    if (!route.settled) return first
    crashPoint('http:settling')
    // The effect stands whatever happens now.
    return route.settled(call, JSON.parse(first.body).data).then(serialize, () => first)
  }
  if (keyed !== null) {
    const answer = await answerOnce(
      db,
      gateway.secrets,
      keyed,
      work,
      (refusal) => refused(refusal, request.id),
      'settled' in route ? settle : null,
    )
    crashPoint('http:committed')
    const isFirst = !answer.replayed && answer.status < 300
    if (isFirst && 'write' in route && !route.settled) route.committed?.(call)
    return answer
  }
  return { ...(await settle(await db.transaction(work))), replayed: false }
}

async function changeAtOnce(
  route: StatementRoute,
  call: AnyCall,
  db: Database,
  serialize: Serialize,
  keyed: KeyedRequest | null,
  requestId: string,
): Promise<KeyedReply> {
  const { secrets } = call.gateway
  let drafted: Drafted<unknown> | null = null
  let reply: Reply | null = null
  // It was sent, and the connection broke before the answer: PostgreSQL may still be at it. The same is sent again, so that its own keys
  // let one of them happen; of two drafts without an Idempotency-Key both would.
  let mayStand = false
  const work = async (tx: Tx, withKey: ((reply: Reply) => KeyedAnswer) | null): Promise<Reply | null> => {
    if (!mayStand || !drafted) drafted = await route.draft(call)
    reply = serialize(drafted.data)
    return (await drafted.record(tx, withKey?.(reply) ?? null)) ? reply : null
  }
  if (keyed !== null) {
    const answer = await answerAtOnce(db, secrets, keyed, work, (refusal) => refused(refusal, requestId))
    crashPoint('http:committed')
    return answer
  }
  const answer = await db.transaction((tx) => work(tx, null), {
    oneStatement: true,
    group: call.account.id,
    async ifCommitted(after) {
      mayStand = true
      return (await drafted?.isRecorded(after)) ? reply : undefined
    },
  })
  invariant(answer, 'a request without a key found its key taken')
  return { ...answer, replayed: false }
}

/** Runs a change and records it in its transaction, which may run again. */
async function writeRecorded(
  route: WriteRoute,
  call: Omit<Parameters<WriteRoute['write']>[0], 'record' | 'askedBy'>,
  { keyId, keyName, madeBy }: Caller,
  address: string,
): Promise<unknown> {
  const acts: Done[] = []
  const askedBy = askedByKey(keyId, madeBy)
  const data = await route.write({ ...call, askedBy, record: (done) => void acts.push(done) })
  invariant(acts.length > 0 || route.recordedByRow, `${route.method} ${route.path} left no record`)
  const actor = { kind: 'key', id: showId('key', keyId), name: keyName } as const
  for (const { action, subject, before = null, after = null } of acts)
    await recordAct(call.tx, { accountId: call.account.id, actor, address, action, subject, before, after })
  return data
}

function refused(refusal: Refusal, requestId: string): Reply {
  const answer = answerTo(refusal)
  return { status: answer.status, body: JSON.stringify(failure(answer.status, { ...answer, requestId })) }
}

const isAllOptional = (schema: TSchema): boolean =>
  !('required' in schema && Array.isArray(schema.required) && schema.required.length > 0)

/** Of an unknown field, the one behind the others is as good as a thousand. */
const UNKNOWN_FIELDS_MAX = 20

/**
 * The validator reports all that is wrong, so that a merchant can mend it at once, and looks at every value for that.
 * Lists that are too long, and objects with more fields than there are, keep just enough to be refused.
 */
function cutShort(schema: TSchema, body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || !('properties' in schema)) return
  const fields = body as Record<string, unknown>
  const properties = schema.properties as Record<string, { maxItems?: number }>
  const unknown = Object.keys(fields).filter((name) => !Object.hasOwn(properties, name))
  for (const name of unknown.slice(UNKNOWN_FIELDS_MAX)) delete fields[name]
  for (const [name, { maxItems }] of Object.entries(properties)) {
    const given = Object.hasOwn(fields, name) ? fields[name] : null
    if (Array.isArray(given) && maxItems !== undefined) given.length = Math.min(given.length, maxItems + 1)
  }
}

const INTEGER = /^-?\d{1,16}$/
const NUMBER = /^-?\d{1,16}(\.\d{1,20})?$/

/**
 * A query arrives as text. Fields that the schema calls numbers are read here, strictly (`1e3`, ` 5` and an empty
 * text stay text, which the validator then refuses); everything else stays as it is.
 */
function readQuery(schema: TSchema, query: unknown): unknown {
  const properties = 'properties' in schema ? (schema.properties as Record<string, { type?: string }>) : {}
  const fields: [string, unknown][] = []
  for (const [name, given] of Object.entries(query as Record<string, unknown>)) {
    if (typeof given === 'string' && !(isStorable(given) && isStorable(name))) {
      const problem = textProblem(name)
      throw invalid('invalid_text', `${problem.field}: ${problem.message}`, [problem])
    }
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined
    const isNumber =
      typeof given === 'string' &&
      ((type === 'integer' && INTEGER.test(given)) || (type === 'number' && NUMBER.test(given)))
    fields.push([name, isNumber ? Number(given) : given])
  }
  return Object.fromEntries(fields)
}
