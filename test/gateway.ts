/** A gateway for tests: a database of its own, wallets of the test seed, fixed rates, nothing else running. */

import type { Account } from '../src/accounts/account.ts'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { SIMULATED_TOKENS } from '../src/chains/simulated/network.ts'
import type { ChainName, Mode } from '../src/core/assets.ts'
import { SILENT } from '../src/core/log.ts'
import type { Secrets } from '../src/core/secrets.ts'
import type { Database } from '../src/db/database.ts'
import { createPayment, type PaymentRequest } from '../src/flows/create-payment.ts'
import type { Gateway, Queue } from '../src/flows/gateway.ts'
import type { Payment } from '../src/payments/payment.ts'
import { fixedRates } from '../src/rates/fixed.ts'
import { openAddressPool } from '../src/wallets/address-pool.sql.ts'
import { testDatabase } from './database.ts'
import { TEST_RATES } from './rates.ts'
import { fillTestWallets } from './wallet.ts'

export interface TestGateway extends Gateway {
  readonly db: Database & { readonly url: string }
  /** Queues woken so far, in order. */
  readonly woken: Queue[]
}

export async function testGateway(
  options: { freshPerChain?: number; connectionsMax?: number; chains?: readonly ChainName[] } = {},
): Promise<TestGateway> {
  const db = await testDatabase({ connectionsMax: options.connectionsMax ?? 10 })
  const { pool, secrets } = await fillTestWallets(db, {
    freshPerChain: options.freshPerChain ?? 8,
    ...(options.chains ? { chains: options.chains } : {}),
  })
  const woken: Queue[] = []
  return { ...gatewayOn(db, secrets), db, addresses: pool, woken, wake: (queue) => woken.push(queue) }
}

/** A gateway on a database that is there already. */
export function gatewayOn(db: Database, secrets: Secrets): Gateway {
  const rates = fixedRates(TEST_RATES)
  return {
    db,
    settings: {
      publicUrl: 'http://127.0.0.1:8080',
      feeBps: 100n,
      payoutFeeBps: 10n,
      minFiatMinor: 50n,
      maxFiatMinor: 100_000_000n,
      broadcastWaitMs: 0,
      confirmations: {},
      tokenContracts: Object.values(SIMULATED_TOKENS),
      webhookAllowPrivate: true,
    },
    rates: { live: rates, test: rates },
    addresses: openAddressPool(secrets),
    secrets,
    log: SILENT,
    wake: () => {},
  }
}

export const testAccount = (gateway: Gateway, mode: Mode = 'test'): Promise<Account> =>
  insertAccount(gateway.db, { name: 'Shop', email: 'shop@example.com', mode, currency: 'USD' })

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
