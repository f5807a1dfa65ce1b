/** Merchants to whom everything happened that a page has a form for, behind a server that a browser can open. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Account } from '../../src/accounts/account.ts'
import { createApiKey } from '../../src/accounts/api-keys.sql.ts'
import { type AccountId, newId, type PasskeyId, showId, type UserId } from '../../src/core/ids.ts'
import type { Tx } from '../../src/db/database.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { EVENT_TYPES } from '../../src/events/event.ts'
import { createWebhookEndpoint } from '../../src/events/webhook-endpoints.sql.ts'
import { proposePolicy } from '../../src/flows/approvals/propose-change.ts'
import { merchantOfAccount } from '../../src/flows/people/merchants.ts'
import { startServer } from '../../src/http/server.ts'
import { upsertCustomer } from '../../src/payments/customers.sql.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { insertPasskey } from '../../src/users/factors.sql.ts'
import { putMember } from '../../src/users/merchants.sql.ts'
import { hashPassword } from '../../src/users/password.ts'
import type { Role } from '../../src/users/permissions.ts'
import { UNLIMITED } from '../api.ts'
import { pinApprover } from '../approvals.ts'
import { makePasskey } from '../authenticator.ts'
import { homeOf, signedIn } from '../dashboard.ts'
import { testAccount, testPayment } from '../gateway.ts'
import { tellPayouts } from '../payout-story.ts'
import { freshenTestWallets } from '../wallet.ts'
import { type Actor, PASSWORD } from './actor.ts'

export interface Shop {
  readonly account: Account
  /** `/dashboard/acct_…` */
  readonly home: string
}

export type Scene = Awaited<ReturnType<typeof openScene>>

/** Payments that hold more than was asked, until somebody decides. */
const HELD = 16
const FRESH_PER_CHAIN = 160

export async function openScene() {
  const story = await tellPayouts('sim-bitcoin')
  const { account } = story
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const settings = { ...story.gateway.settings, publicUrl: origin, dashboardUrl: origin, sendsMail: true }
  const gateway = { ...story.gateway, settings }
  const { db } = gateway
  await freshenTestWallets(db, FRESH_PER_CHAIN)
  const server = await startServer(gateway, { port, rateLimit: UNLIMITED })
  after(() => server.close())
  await story.earn('BTC', 6_500_000n)
  const held: Payment[] = []
  for (let count = 0; count < HELD; count++) {
    const payment = await testPayment(gateway, account, { asset: 'BTC' })
    await story.pay(payment, payment.dueAtoms * 2n)
    held.push(payment)
  }
  await story.mine(2)
  await story.look()
  const transact = <Result>(work: (tx: Tx) => Promise<Result>) => db.transaction(work)
  await transact((tx) => merchantOfAccount(tx, account))
  const passwordHash = await hashPassword(PASSWORD)

  const person = async (role: Role | null, of: Account | null, isOperator = false) => {
    const made = await signedIn(db, { ...(role && of ? { account: of, role } : {}), isOperator })
    await db.query('update users set password_hash = $2 where id = $1', [made.userId, passwordHash])
    return { ...made, role }
  }
  const join = (of: Account, { userId, role }: Pick<Actor, 'userId' | 'role'>) =>
    transact(async (tx) => {
      assert.ok(role)
      await putMember(tx, (await merchantOfAccount(tx, of)).id, userId, role)
    })

  return {
    gateway,
    db,
    origin,
    story,
    transact,
    person,
    /** The merchant with funds. */
    main: { account, home: homeOf(account) } satisfies Shop,
    /** A merchant of his own, in which he has his role. */
    async shop(actor: Pick<Actor, 'userId' | 'role'>): Promise<Shop> {
      const own = await testAccount(gateway)
      await join(own, actor)
      return { account: own, home: homeOf(own) }
    },
    join,
    /** A payment of litecoin that waits. */
    payment: (of: Account = account) =>
      testPayment(gateway, of, { customerEmail: `buyer-${newId('cus')}@example.com` }),
    /** Each is given away once. */
    held: (): Payment => held.pop() ?? assert.fail('more payments that hold something are needed'),
    customer: () => transact((tx) => upsertCustomer(tx, account.id, `${newId('cus')}@example.com`)),
    key: (of: AccountId) =>
      createApiKey(db, { accountId: of, mode: 'test', name: 'Shop', scopes: ['payments:read'] }),
    async endpoint(of: AccountId): Promise<string> {
      const { endpoint } = await transact((tx) =>
        createWebhookEndpoint(tx, gateway.secrets, {
          accountId: of,
          url: 'https://shop.example/hook',
          events: EVENT_TYPES,
        }),
      )
      return showId('whk', endpoint.id)
    },
    /** A passkey that no device has. */
    async passkey(userId: UserId): Promise<string> {
      const { credentialId, publicKey } = makePasskey()
      await transact((tx) =>
        insertPasskey(tx, { userId, credentialId, publicKey, counter: 0n, transports: [], name: 'Key' }),
      )
      const { rows } = await db.query<{ id: PasskeyId }>('select id from passkeys where credential_id = $1', [
        credentialId,
      ])
      assert.ok(rows[0])
      return showId('psk', rows[0].id)
    },
    /** Two colleagues whose passkeys count, one of whom asked for a policy. @returns `apr_…` */
    async policyRequest(of: Account): Promise<string> {
      const [asker, other] = [await person('owner', of), await person('finance', of)]
      for (const { userId } of [asker, other]) await pinApprover(db, of.id, userId)
      const id = await transact((tx) =>
        proposePolicy(tx, of, asker, {
          coins: { BTC: { fromAtoms: 10_000n, approvals: 1 } },
          bindsKeys: true,
          allowlist: { isRequired: false, delayHours: 24 },
        }),
      )
      return showId('apr', id)
    },
  }
}
