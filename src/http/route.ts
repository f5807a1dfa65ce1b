/**
 * One row of the API: what it is called, who may call it, what goes in and comes out, and what it does. The same row
 * registers the route, validates and types its input, serialises its output and writes its page of the reference.
 */
import type { Static, TObject, TSchema } from 'typebox'
import type { Account } from '../accounts/account.ts'
import type { KeyedAnswer } from '../accounts/idempotency-keys.sql.ts'
import type { AskedBy } from '../approvals/asker.ts'
import type { Act } from '../audit/act.ts'
import type { Scope } from '../core/scopes.ts'
import type { Queryable, Tx } from '../db/database.ts'
import type { Gateway } from '../flows/gateway.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

interface Call<Params extends TSchema, Query extends TSchema, Body extends TSchema> {
  readonly gateway: Gateway
  /** Everything read or written belongs to this account. */
  readonly account: Account
  /** All that the key may do. */
  readonly scopes: readonly Scope[]
  readonly params: Static<Params>
  readonly query: Static<Query>
  readonly body: Static<Body>
  /** The body as it was sent, for what must come back exactly. */
  readonly bodyText: string
}

/** What is answered: nobody changes it any more. */
type Shown<Data> = Data extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : Data extends object
    ? { readonly [name in keyof Data]: Shown<Data[name]> }
    : Data

export interface ReadCall<P extends TSchema, Q extends TSchema, B extends TSchema> extends Call<P, Q, B> {
  readonly db: Queryable
}

/** A call that changes something runs in one transaction, which also holds the request's idempotency key. */
export interface WriteCall<P extends TSchema, Q extends TSchema, B extends TSchema> extends Call<P, Q, B> {
  readonly tx: Tx
  /** The key that asks, and who made it. */
  readonly askedBy: AskedBy
  /** What the audit log keeps of it, written in the same transaction; without secrets. Who and where from is added. */
  record(done: Done): void
}

/** `before` and `after` are left out where the action and its subject say everything. */
export type Done = Pick<Act, 'action' | 'subject'> & Partial<Pick<Act, 'before' | 'after'>>

/** `GET /payments/:id`: below `/v1`, parameters as `:id`. */
type RouteName = `${Method} /${string}`

interface Row<P extends TSchema, Q extends TSchema, B extends TSchema, D extends TSchema> {
  readonly method: Method
  readonly path: string
  readonly scope: Scope
  /** Scopes needed beside it: the answer shows what another resource's routes show. */
  readonly alsoScopes?: readonly Scope[]
  /** In the reference: one short line. */
  readonly summary: string
  /** In the reference: what the line leaves open. */
  readonly description?: string
  /** Beck's addition to the contract (ARCHITECTURE.md's glossary). */
  readonly ours?: true
  /** Live keys get 403 before anything of the request is read. */
  readonly testOnly?: true
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly status?: 200 | 201
  readonly data: D
  /** Reasons of refusals beyond those that every route has, by status. */
  readonly refusals?: Readonly<Partial<Record<400 | 403 | 404 | 409 | 422 | 503, readonly string[]>>>
  readonly example?: { readonly body?: Static<B>; readonly data: Static<D> }
}

export interface ReadRoute<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  D extends TSchema = TSchema,
> extends Row<P, Q, B, D> {
  read(call: ReadCall<P, Q, B>): Promise<Shown<Static<D>>>
}

export interface WriteRoute<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  D extends TSchema = TSchema,
> extends Row<P, Q, B, D> {
  /** Calls `record` before it ends, unless it is {@link recordedByRow}: otherwise nothing of it is committed. */
  write(call: WriteCall<P, Q, B>): Promise<Shown<Static<D>>>
  /** The row that it writes is the record: a busy route that writes no second one (docs/decisions/0060-audit-log.md). */
  readonly recordedByRow?: true
  /** Runs after the commit: hints only (waking a loop), for nothing of it is repeated on a replay. */
  committed?(call: Call<P, Q, B>): void
  /** Waits a little for what the commit leads to. @returns The answer as it is then. */
  settled?(call: Call<P, Q, B>, data: Static<D>): Promise<Shown<Static<D>>>
}

/** A change of a {@link StatementRoute}, drawn up: everything is known of it but whether it happens. */
export interface Drafted<Data> {
  readonly data: Data
  /** The one statement. @returns False when the key has an answer already: then nothing was done. */
  record(tx: Tx, keyed: KeyedAnswer | null): Promise<boolean>
  /** Whether it stands: asked when the connection broke before PostgreSQL answered. */
  isRecorded(db: Queryable): Promise<boolean>
}

/** A row that changes something by one statement, which is its own transaction and holds the idempotency key. */
export interface StatementRoute<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  D extends TSchema = TSchema,
> extends Row<P, Q, B, D> {
  draft(call: Call<P, Q, B>): Promise<Drafted<Shown<Static<D>>>>
  /** Its one statement has no room for a second record. */
  readonly recordedByRow: true
}

export type Route = ReadRoute | WriteRoute | StatementRoute

/** What a key needs to call it. */
export const scopesOf = ({ scope, alsoScopes = [] }: Route): readonly Scope[] => [scope, ...alsoScopes]

type Nothing = TObject<Record<string, never>>

type Unnamed<Named> = Omit<Named, 'method' | 'path'>

function named(name: RouteName): Pick<Route, 'method' | 'path'> {
  const [method = '', path = ''] = name.split(' ')
  return { method: method as Method, path }
}

/** A row that changes nothing. */
export const read = <
  D extends TSchema,
  P extends TSchema = Nothing,
  Q extends TSchema = Nothing,
  B extends TSchema = Nothing,
>(
  name: RouteName,
  route: Unnamed<ReadRoute<P, Q, B, D>>,
): ReadRoute<P, Q, B, D> => ({ ...route, ...named(name) })

/** A row that changes something. */
export const write = <
  D extends TSchema,
  P extends TSchema = Nothing,
  Q extends TSchema = Nothing,
  B extends TSchema = Nothing,
>(
  name: RouteName,
  route: Unnamed<WriteRoute<P, Q, B, D>>,
): WriteRoute<P, Q, B, D> => ({ ...route, ...named(name) })

/** A row that changes something by one statement. */
export const writeAtOnce = <
  D extends TSchema,
  P extends TSchema = Nothing,
  Q extends TSchema = Nothing,
  B extends TSchema = Nothing,
>(
  name: RouteName,
  route: Unnamed<StatementRoute<P, Q, B, D>>,
): StatementRoute<P, Q, B, D> => ({ ...route, ...named(name) })
