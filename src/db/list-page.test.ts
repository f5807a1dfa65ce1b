import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { impatient } from '../../test/watched-database.ts'
import { listKeysOf } from '../accounts/list-api-keys.sql.ts'
import { listRequests } from '../accounts/request-log.sql.ts'
import { listActsOf } from '../audit/list-acts.sql.ts'
import { listPaymentLinks } from '../checkout/payment-links.sql.ts'
import { readPointsOfSale } from '../checkout/points-of-sale.sql.ts'
import type { AccountId } from '../core/ids.ts'
import { listEvents } from '../events/list-events.sql.ts'
import { listWebhookEndpoints } from '../events/list-webhook-endpoints.sql.ts'
import { listCustomers, listCustomersForPeople } from '../payments/list-customers.sql.ts'
import { listPayments, listPaymentsInFull } from '../payments/list-payments.sql.ts'
import { listWithdrawals } from '../withdrawals/list-withdrawals.sql.ts'
import type { Queryable } from './database.ts'
import type { Page } from './list.ts'
import type { ListQuery } from './list-filters.ts'

const gateway = await testGateway()
const { db } = gateway
const account = await testAccount(gateway)
const other = await testAccount(gateway)
for (const { of, email } of [
  { of: account, email: 'ann@shop.example' },
  { of: account, email: 'ben@shop.example' },
  { of: other, email: 'ann@shop.example' },
])
  await testPayment(gateway, of, { customerEmail: email })

type Read = (db: Queryable, accountId: AccountId, query: ListQuery) => Promise<Page<unknown>>
const LISTS: readonly [name: string, read: Read, least: number][] = [
  ['payments', listPayments, 2],
  ['payments in full', listPaymentsInFull, 2],
  ['customers', listCustomers, 2],
  ['customers for people', listCustomersForPeople, 2],
  ['events', listEvents, 2],
  ['withdrawals', listWithdrawals, 0],
  ['webhook endpoints', listWebhookEndpoints, 0],
  ['payment links', listPaymentLinks, 0],
  ['points of sale', readPointsOfSale, 0],
  ['requests', listRequests, 0],
  ['acts', listActsOf, 0],
  ['keys', listKeysOf, 0],
]

for (const [name, read, least] of LISTS) {
  test(`${name}: a page whose walk is given up is the one that it would have found`, async () => {
    for (const query of [{ start_date: '2000-01-01' }, { start_date: '2000-01-01', limit: 1, page: 2 }]) {
      const found = await read(db, account.id, query)
      assert.ok(found.total >= least)
      for (const order of ['asc', 'desc'] as const)
        assert.deepEqual(
          await read(impatient(db), account.id, { ...query, order }),
          await read(db, account.id, { ...query, order }),
        )
      assert.deepEqual(await db.transaction((tx) => read(tx, account.id, query)), found)
    }
  })
}
