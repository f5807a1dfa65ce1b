/** The dashboard of an application, as people of every role use it without JavaScript. */
import assert from 'node:assert/strict'
import type { FastifyInstance } from 'fastify'
import { Secret, TOTP } from 'otpauth'
import type { Account } from '../src/accounts/account.ts'
import { showId, type UserId } from '../src/core/ids.ts'
import type { Database } from '../src/db/database.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { merchantOfAccount } from '../src/flows/people/merchants.ts'
import type { Merchant } from '../src/users/merchants.sql.ts'
import { putMember } from '../src/users/merchants.sql.ts'
import type { Role } from '../src/users/permissions.ts'
import { insertSession } from '../src/users/sessions.sql.ts'
import { insertUser } from '../src/users/users.sql.ts'

export interface Seen {
  readonly status: number
  readonly location: string | undefined
  readonly headers: Record<string, string | number | string[] | undefined>
  readonly html: string
  /** What a reader sees of the content. */
  readonly text: string
}

/** A browser without JavaScript: it keeps its cookie, and sends forms from the dashboard's own pages. */
export interface Visitor {
  cookie: string
  get(path: string, headers?: Record<string, string>): Promise<Seen>
  post(path: string, fields?: Fields, headers?: Record<string, string>): Promise<Seen>
}

type Fields = Readonly<Record<string, string | readonly string[]>>

export const OWN_FORM = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:8080' }

export function visit(app: FastifyInstance): Visitor {
  const visitor: Visitor = {
    cookie: '',
    get: async (path, headers = {}) =>
      see(
        visitor,
        await app.inject({ method: 'GET', url: path, headers: { cookie: visitor.cookie, ...headers } }),
      ),
    post: async (path, fields = {}, headers = OWN_FORM) => {
      const form = new URLSearchParams()
      for (const [name, value] of Object.entries(fields))
        for (const each of [value].flat()) form.append(name, each)
      const payload = form.toString()
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      return see(
        visitor,
        await app.inject({
          method: 'POST',
          url: path,
          headers: { cookie: visitor.cookie, ...type, ...headers },
          payload,
        }),
      )
    },
  }
  return visitor
}

function see(visitor: Visitor, answer: { statusCode: number; headers: Seen['headers']; body: string }): Seen {
  const set = answer.headers['set-cookie']
  if (typeof set === 'string') visitor.cookie = set.split(';')[0] ?? ''
  const main = /<main[^>]*>([\s\S]*)<\/main>/.exec(answer.body)?.[1] ?? answer.body
  const { location } = answer.headers
  return {
    status: answer.statusCode,
    location: typeof location === 'string' ? location : undefined,
    headers: answer.headers,
    html: answer.body,
    text: main
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  }
}

/** The value of a hidden field. */
export const hiddenField = (seen: Seen, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(seen.html)?.[1] ?? ''

export const codeOf = (secret: string, stepsAhead = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + stepsAhead * 30_000 })

export interface TestPerson extends Visitor {
  readonly userId: UserId
  readonly email: string
  readonly name: string
}

let people = 0

interface SignedIn {
  readonly userId: UserId
  readonly email: string
  readonly name: string
  /** Of the session's cookie. */
  readonly token: string
}

interface PersonDraft {
  readonly account?: Account
  readonly role?: Role
  readonly isOperator?: boolean
  readonly factor?: 'passkey' | 'password'
}

/** Somebody with a session, signed in with a passkey as far as the server knows, who just confirmed it. */
export async function signedIn(db: Database, given: PersonDraft = {}): Promise<SignedIn> {
  people += 1
  const email = `${given.role ?? 'person'}-${people}@example.com`
  const name = `Person ${people}`
  return db.transaction(async (tx) => {
    const user = await insertUser(tx, {
      email,
      name,
      passwordHash: null,
      isOperator: given.isOperator ?? false,
    })
    assert.ok(user)
    if (given.account && given.role) {
      const merchant: Merchant = await merchantOfAccount(tx, given.account)
      await putMember(tx, merchant.id, user.id, given.role)
    }
    const session = {
      userId: user.id,
      factor: given.factor ?? 'passkey',
      isSteppedUp: true,
      address: '127.0.0.1',
      agent: 'test',
    } as const
    return { userId: user.id, email, name, token: await insertSession(tx, session) }
  })
}

/** The same, with a browser of his own that runs no script. */
export async function testPerson(
  gateway: Gateway,
  app: FastifyInstance,
  given: PersonDraft = {},
): Promise<TestPerson> {
  const { token, ...person } = await signedIn(gateway.db, given)
  const visitor = visit(app)
  visitor.cookie = `beck=${token}`
  return Object.assign(visitor, person)
}

export const homeOf = (account: Account): string => `/dashboard/${showId('acct', account.id)}`
