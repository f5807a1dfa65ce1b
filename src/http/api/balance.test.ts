import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey, testMerchant } from '../../../test/api.ts'
import { testCause, testGateway } from '../../../test/gateway.ts'
import { ASSETS } from '../../core/assets.ts'
import { DAY_MS, utcDay } from '../../core/time.ts'
import { post } from '../../ledger/post.sql.ts'

const gateway = await testGateway()
const app = await testApp(gateway)

const nothing = (asset: string) => ({
  asset,
  available_atoms: '0',
  available: '0',
  available_fiat: 0,
  pending_atoms: '0',
  pending: '0',
  pending_fiat: 0,
  unresolved_atoms: '0',
  unresolved: '0',
})

test('the balance shows every coin, and figures of 30 days in the settlement currency', async () => {
  const { account, key } = await testMerchant(gateway.db, { currency: 'EUR' })
  await gateway.db.transaction((tx) =>
    post(tx, {
      accountId: account.id,
      chain: 'sim-bitcoin',
      cause: testCause('x'),
      transfers: [
        { asset: 'BTC', debit: 'wallet', credit: 'available', atoms: 1_234_567n },
        { asset: 'BTC', debit: 'wallet', credit: 'unresolved', atoms: 1n },
        { asset: 'BTC', debit: 'wallet', credit: 'held', atoms: 5n },
      ],
    }),
  )
  const { status, data } = await call(app, key, 'GET', '/balance')
  assert.equal(status, 200)
  const days = Array.from({ length: 30 }, (_, index) => utcDay(new Date(Date.now() - (29 - index) * DAY_MS)))
  const figure = (value: number) => ({
    value,
    previous: 0,
    series: days.map((date, index) => ({ date, value: index === 29 ? value : 0 })),
  })
  assert.deepEqual(data, {
    currency: 'EUR',
    total: figure(740.74),
    available: figure(740.74),
    pending: figure(0),
    pending_count: 0,
    assets: [
      {
        ...nothing('BTC'),
        available_atoms: '1234567',
        available: '0.01234567',
        available_fiat: 740.74,
        unresolved_atoms: '1',
        unresolved: '0.00000001',
      },
      ...ASSETS.slice(1).map(nothing),
    ],
  })
})

test('the balance takes no parameters, and balance:read', async () => {
  const { account, key } = await testMerchant(gateway.db)
  assert.equal((await call(app, key, 'GET', '/balance', { query: { currency: 'EUR' } })).status, 400)
  const reader = await testKey(gateway.db, account, ['balance:read'])
  assert.equal((await call(app, reader, 'GET', '/balance')).status, 200)
  const another = await testKey(gateway.db, account, ['withdrawals:read'])
  assert.equal((await call(app, another, 'GET', '/balance')).status, 403)
  assert.equal((await call(app, null, 'GET', '/balance')).status, 401)
})
