import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { impatient } from '../../test/watched-database.ts'
import { listKeysOf } from '../accounts/list-api-keys.sql.ts'
import { listRequests } from '../accounts/request-log.sql.ts'
import { listDecided } from '../approvals/approval-requests.sql.ts'
import { listActsOf } from '../audit/list-acts.sql.ts'
import { listPaymentLinks } from '../checkout/payment-links.sql.ts'
import { readPointsOfSale } from '../checkout/points-of-sale.sql.ts'
import type { AccountId } from '../core/ids.ts'
import { listDeliveries } from '../events/list-deliveries.sql.ts'
import { listEvents } from '../events/list-events.sql.ts'
import { listWebhookEndpoints } from '../events/list-webhook-endpoints.sql.ts'
import { createWebhookEndpoint } from '../events/webhook-endpoints.sql.ts'
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
const [endpoint] = await Promise.all(
  ['https://shop.example/a', 'https://shop.example/b'].map((url) =>
    db.transaction((tx) =>
      createWebhookEndpoint(tx, gateway.secrets, { accountId: account.id, url, events: ['payment.created'] }),
    ),
  ),
)
await db.query(
  `insert into payment_links (account_id, id, label, amount_minor, currency)
   select $1, gen_random_uuid(), 'link ' || n, 100, 'USD' from generate_series(1, 2) n`,
  [account.id],
)
await db.query(
  `insert into api_requests (account_id, id, at, key_id, request_id, method, path, status, duration_ms, address)
   select $1, gen_random_uuid(), now(), gen_random_uuid(), 'req_' || n, 'GET', '/v1/payments', 200, 1, '::1' from generate_series(1, 2) n`,
  [account.id],
)
for (const { of, email } of [
  { of: account, email: 'ann@shop.example' },
  { of: account, email: 'ben@shop.example' },
  { of: other, email: 'ann@shop.example' },
])
  await testPayment(gateway, of, { customerEmail: email })

const listDeliveriesOf = (db: Queryable, accountId: AccountId, query: ListQuery) =>
  listDeliveries(db, accountId, endpoint?.endpoint.id ?? assert.fail(), query)

type Read = (db: Queryable, accountId: AccountId, query: ListQuery) => Promise<Page<unknown>>
const LISTS: readonly [name: string, read: Read, least: number][] = [
  ['payments', listPayments, 2],
  ['payments in full', listPaymentsInFull, 2],
  ['customers', listCustomers, 2],
  ['customers for people', listCustomersForPeople, 2],
  ['events', listEvents, 2],
  ['webhook endpoints', listWebhookEndpoints, 2],
  ['deliveries', async (...asked) => (await listDeliveriesOf(...asked)) ?? assert.fail(), 2],
  ['payment links', listPaymentLinks, 2],
  ['requests', listRequests, 2],
  // Nobody made any: their statements are read all the same.
  ['withdrawals', listWithdrawals, 0],
  ['points of sale', readPointsOfSale, 0],
  ['requests of approval', listDecided, 0],
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
      assert.deepEqual(await db.transaction((tx) => read(impatient(tx), account.id, query)), found)
    }
  })
}
