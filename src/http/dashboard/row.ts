/**
 * One row of the dashboard: a page or a change, who may have it, and what it does. The same table registers the routes and
 * is walked by a test with every role, a stranger, and nobody.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../accounts/account.ts'
import type { ChainName } from '../../core/assets.ts'
import type { Gateway } from '../../flows/gateway.ts'
import type { Person } from '../../flows/people/person.ts'
import type { Permission } from '../../users/permissions.ts'
import type { Session } from '../../users/sessions.sql.ts'
import type { SingleSignOn } from '../../users/single-sign-on.ts'
import type { Membership } from '../../users/user.ts'
import type { Limits } from '../../withdrawals/limits.ts'
import type { Part } from '../hosted/html.ts'
import type { HostedOptions } from '../hosted/networks.ts'
import type { DoneName } from './done.ts'
import type { Form } from './form.ts'
import type { FormProblem } from './form-problem.ts'
import type { Figures } from './shown-figures.ts'

/** What somebody needs: nothing; half a sign-in; to be signed in; to run the whole Beck; a permission at the merchant. */
export type Access = 'public' | 'half' | 'person' | 'operator' | Permission

/** Whether he has to show once more that it is he: within five minutes, or for this very act. */
export type Confirm = 'recent' | 'fresh'

export interface Sheet {
  readonly title: string
  readonly content: Part
  /** Which entry of the menu is open. */
  readonly nav?: string
  /** Asks again by itself while something is under way. */
  readonly isLive?: boolean
  /** Wide lists, or one column to read and decide in. */
  readonly width?: 'wide' | 'narrow'
  /** Where the page hangs: `[['Payments', '/…/payments']]`. */
  readonly trail?: readonly (readonly [string, string])[]
}

/** After a change: the browser asks for a page anew. `done` names a sentence that it shows. */
export interface Move {
  readonly to: string
  readonly done?: DoneName
  /** A new token for the cookie; null ends the session. */
  readonly token?: string | null
}

/** A page that shows something once, with a new token for the cookie. */
export interface Shown extends Sheet {
  readonly token?: string
}

/** The handler has sent the answer itself. */
export const SENT = Symbol('sent')

export interface Place {
  readonly account: Account
  readonly membership: Membership
  /** The merchant's other account, live for test and the other way round; null when there is none. */
  readonly sibling: Account['id'] | null
}

/** What the dashboard knows of the installation besides its gateway. */
export interface Installation {
  /** Chains that the settings connect. */
  readonly chains: readonly ChainName[]
  /** What the signer is told to let out; empty where this process was not told. */
  readonly limits: Limits
  /** The operator's OpenID provider; null for none. */
  readonly singleSignOn: SingleSignOn | null
  /** What its pages tell of the networks, as the checkout does. */
  readonly networks: HostedOptions
}

export interface Call {
  readonly gateway: Gateway
  readonly installation: Installation
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly form: Form
  /** Why the form that is drawn again was refused. */
  readonly problem: FormProblem | null
  /** `/dashboard` of the origin, with what stands before it. */
  readonly base: string
  readonly nonce: string
}

export interface PersonCall extends Call {
  readonly session: Session
  readonly person: Person
}

export interface PlaceCall extends PersonCall {
  readonly place: Place
  /** `/dashboard/acct_…`. */
  readonly here: string
  may(permission: Permission): boolean
}

/** Who reads a list: somebody at a merchant, or the operator, who belongs to none. */
export type ListCall = PlaceCall | (PersonCall & { readonly place?: never })

/** Whose days and times a list has: the merchant's; the operator's are those of UTC. */
export const zoneOf = (call: ListCall): string => call.place?.membership.timeZone ?? 'UTC'

export interface Consequence {
  readonly words: Part
  /** What arrives, as the words say: the row's own act is held to it ({@link requireAsShown}). */
  readonly figures?: readonly Figures[]
}

export type Outcome = Sheet | Shown | Move | typeof SENT

export interface Row<C extends Call> {
  readonly method: 'GET' | 'POST'
  /** Below `/dashboard`; `/:account/…` for what concerns a merchant. */
  readonly path: string
  readonly confirm?: Confirm
  /** Where a form may be larger than others. */
  readonly formBytesMax?: number
  /** Sent as it is read: a `HEAD` of it would read everything for nobody, and is not answered. */
  readonly isStream?: true
  /** What a confirmed act will do, in figures: shown where it is confirmed. */
  consequence?(call: C): Promise<Consequence>
  handle(call: C): Promise<Outcome>
  /** The form again, with what was typed and why it was refused. */
  redraw?(call: C): Promise<Sheet>
}

export interface PublicRow extends Row<Call> {
  readonly access: 'public'
}
export interface PersonRow extends Row<PersonCall> {
  readonly access: 'half' | 'person' | 'operator'
}
export interface PlaceRow extends Row<PlaceCall> {
  readonly access: Permission
  /** Needed beside it. */
  readonly alsoNeeds?: Permission
  /** Only where coins are worth nothing. */
  readonly testOnly?: true
}
export type DashboardRow = PublicRow | PersonRow | PlaceRow

/** A row's method and its path, as the table of access names them: `GET /:account/payments`; `GET /` is the dashboard itself. */
type Route = `${'GET' | 'POST'} /${string}`

/** What a row of its kind is given beside its route and what it needs. */
type Given<R extends DashboardRow> = Omit<R, 'access' | 'method' | 'path'>

function routeOf(route: Route): Pick<DashboardRow, 'method' | 'path'> {
  const method = route.startsWith('GET ') ? 'GET' : 'POST'
  const path = route.slice(method.length + 1)
  return { method, path: path === '/' ? '' : path }
}

export const publicRow = (route: Route, given: Given<PublicRow>): PublicRow => ({
  ...given,
  ...routeOf(route),
  access: 'public',
})
export const personRow = (access: PersonRow['access'], route: Route, given: Given<PersonRow>): PersonRow => ({
  ...given,
  ...routeOf(route),
  access,
})
export const placeRow = (access: Permission, route: Route, given: Given<PlaceRow>): PlaceRow => ({
  ...given,
  ...routeOf(route),
  access,
})
