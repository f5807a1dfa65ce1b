/** A gateway for tests: a database of its own, wallets of the test seed, fixed rates, nothing else running. */
import type { Account } from '../src/accounts/account.ts'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import type { CheckoutSession } from '../src/checkout/session.ts'
import type { ChainName, Mode } from '../src/core/assets.ts'
import type { Database } from '../src/db/database.ts'
import { createSession, type SessionRequest } from '../src/flows/checkout/checkout.ts'
import type { Gateway, Queue } from '../src/flows/gateway.ts'
import { createPayment, type PaymentRequest } from '../src/flows/payments/create-payment.ts'
import type { Cause } from '../src/ledger/chart-of-accounts.ts'
import type { Payment } from '../src/payments/payment.ts'
import { testDatabase } from './database.ts'
import { gatewayOn } from './gateway-on.ts'
import { fillTestWallets, freshenTestWallets, TEMPLATE_FRESH, TEST_SECRETS } from './wallet.ts'

export interface TestGateway extends Gateway {
  readonly db: Database & { readonly url: string }
  /** Queues woken so far, in order. */
  readonly woken: Queue[]
}

/** Who asks for fewer wants to run out of them. */
const FEW = 8

/**
 * @param options.freshPerChain - Fresh addresses of each chain, at least; exactly so many with `chains`, or when they are fewer than
 *   eight.
 */
export async function testGateway(
  options: {
    freshPerChain?: number
    connectionsMax?: number
    chains?: readonly ChainName[]
    prepares?: boolean
  } = {},
): Promise<TestGateway> {
  const { chains, freshPerChain = TEMPLATE_FRESH, ...ofDatabase } = options
  const isAsTemplate = !chains && freshPerChain >= FEW
  const db = await testDatabase({ ...ofDatabase, template: isAsTemplate ? 'wallets' : 'migrated' })
  if (!isAsTemplate) await fillTestWallets(db, { freshPerChain, ...(chains ? { chains } : {}) })
  else if (freshPerChain > TEMPLATE_FRESH) await freshenTestWallets(db, freshPerChain)
  const woken: Queue[] = []
  return { ...gatewayOn(db, TEST_SECRETS), db, woken, wake: (queue) => woken.push(queue) }
}

export const testAccount = ({ db }: Pick<Gateway, 'db'>, mode: Mode = 'test'): Promise<Account> =>
  insertAccount(db, { name: 'Shop', email: 'shop@example.com', mode, currency: 'USD' })

/** The cause of an entry that moves balances for a test: no row of Beck asks for it. */
export const testCause = (subject: string, number = 1): Cause => ({
  kind: 'settlement',
  subjectId: `test:${subject}`,
  number,
})

/** A payment of 100 dollars in litecoin, exactly one coin, unless told otherwise. */
export const testPayment = (
  gateway: Gateway,
  account: Account,
  request: Partial<PaymentRequest> = {},
): Promise<Payment> =>
  gateway.db.transaction((tx) =>
    createPayment(gateway, tx, account, {
      asset: 'LTC',
      fiatMinor: 10_000n,
      fiatCurrency: 'USD',
      reference: null,
      customerEmail: null,
      metadata: null,
      ...request,
    }),
  )

/** A checkout session for 100 dollars, unless told otherwise. */
export const testSession = (
  gateway: Gateway,
  account: Account,
  request: Partial<SessionRequest> = {},
): Promise<CheckoutSession> =>
  gateway.db.transaction((tx) =>
    createSession(gateway, tx, account, {
      amountMinor: 100_00n,
      currency: null,
      label: 'Order 7',
      reference: null,
      customerEmail: null,
      successUrl: null,
      cancelUrl: null,
      offeredAssets: null,
      ...request,
    }),
  )
