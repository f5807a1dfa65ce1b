import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, testApp, testKey } from '../../test/api.ts'
import { homeOf, testPerson } from '../../test/dashboard.ts'
import { testAccount, testGateway } from '../../test/gateway.ts'
import { until } from '../../test/wait-for.ts'
import {
  insertRequests,
  type LoggedRequest,
  listRequests,
  pruneRequests,
} from '../accounts/request-log.sql.ts'
import { type ApiKeyId, newId, newPublicId, showId } from '../core/ids.ts'
import { SILENT } from '../core/log.ts'
import type { Span } from '../core/trace.ts'
import { openRequestLog } from './request-log.ts'

const entry = (changes: Partial<LoggedRequest> & Pick<LoggedRequest, 'accountId'>): LoggedRequest => ({
  keyId: newId('key') as ApiKeyId,
  at: new Date(),
  requestId: 'req_x',
  method: 'GET',
  path: '/v1/balance',
  status: 200,
  durationMs: 3,
  reason: null,
  address: '127.0.0.1',
  ...changes,
})

test('a path is logged without emails however their filters are written, and in no time however long it is', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway, { requestLog: { everyMs: 5 } })
  const account = await testAccount(gateway)
  const key = await testKey(gateway.db, account, ['balance:read'])
  const asked = [
    'filter_%65mail=ann@secret.example',
    'page=1&FILTER_EMAIL=ann@secret.example&a=b',
    `customer_email=${'ann@secret.example'.repeat(100)}`,
    `${'?email'.repeat(2_600)}`,
  ]
  const began = performance.now()
  for (const query of asked) await call(app, key, 'GET', `/v1/balance?${query}`)
  // A minute and more, where the time grew with the cube of the length.
  assert.ok(performance.now() - began < 5_000)
  await until('logged', async () => (await listRequests(gateway.db, account.id, {})).total === asked.length)
  const { items } = await listRequests(gateway.db, account.id, {})
  assert.deepEqual(items.map(({ path }) => path.slice(0, 50)).reverse(), [
    '/v1/balance?filter_%65mail=…',
    '/v1/balance?page=1&FILTER_EMAIL=…&a=b',
    '/v1/balance?customer_email=…',
    `/v1/balance?${'?email'.repeat(7)}`.slice(0, 50),
  ])
})

test('each call of a key is logged and traced with its answer, for its account alone, and nothing of its body', async () => {
  const gateway = await testGateway()
  const spans: Span[] = []
  const traces = { add: (span: Span) => void spans.push(span) }
  const app = await testApp({ ...gateway, traces }, { requestLog: { everyMs: 5 } })
  const [account, other] = [await testAccount(gateway), await testAccount(gateway)]
  const key = await testKey(gateway.db, account, ['payments:write', 'payments:read'])
  await call(app, key, 'GET', '/v1/payments?limit=5&filter_email=secret%40example.com')
  const bad = await call(app, key, 'POST', '/v1/payments', {
    body: { asset: 'DOGE', customer_email: 'secret@example.com' },
  })
  await call(app, 'bk_test_nobody', 'GET', '/v1/balance')
  await call(app, null, 'GET', '/v1/nothing')
  await call(app, key, 'GET', `/v1/checkout/sessions/${showId('cs', newPublicId('cs'))}`)
  await call(app, key, 'GET', '/v1/balance')
  await until('logged', async () => (await listRequests(gateway.db, account.id, {})).total === 4)
  const { items } = await listRequests(gateway.db, account.id, {})
  assert.deepEqual(
    items.map(({ method, path, status, reason }) => [method, path, status, reason]),
    [
      ['GET', '/v1/balance', 403, 'missing_scope'],
      ['GET', '/v1/checkout/sessions/cs_…', 404, 'session_not_found'],
      ['POST', '/v1/payments', 400, bad.error.reason],
      ['GET', '/v1/payments?limit=5&filter_email=…', 200, null],
    ],
  )
  assert.equal(items[2]?.requestId, bad.error.request_id)
  assert.equal((await listRequests(gateway.db, other.id, {})).total, 0)
  const { rows } = await gateway.db.query<{ text: string }>('select r::text as text from api_requests r')
  assert.doesNotMatch(rows.map(({ text }) => text).join(), /secret|DOGE|bk_test/)
  assert.deepEqual(
    spans.map(({ name, attributes }) => [name, attributes['http.response.status_code']]),
    [
      ['GET /v1/payments', 200],
      ['POST /v1/payments', 400],
      ['GET /v1/checkout/sessions/:id', 404],
      ['GET /v1/balance', 403],
    ],
    'no stranger is traced',
  )
  assert.doesNotMatch(JSON.stringify(spans), /secret|DOGE|bk_test/)

  const dev = await testPerson(gateway, app, { account, role: 'developer' })
  const page = await dev.get(`${homeOf(account)}/requests?filter_outcome=refused`)
  assert.match(page.text, /POST \/v1\/payments/)
  assert.doesNotMatch(page.text, /limit=5/)
  assert.match(
    (await dev.get(`${homeOf(account)}/requests?filter_request=${items[2]?.requestId}`)).text,
    /1–1 of 1/,
  )
  const viewer = await testPerson(gateway, app, { account, role: 'viewer' })
  assert.equal((await viewer.get(`${homeOf(account)}/requests`)).status, 403)
})

test('a payment leads to the calls that named it, by an index, and to those of when it was made', async () => {
  const gateway = await testGateway()
  const app = await testApp(gateway, { requestLog: { everyMs: 5 } })
  const account = await testAccount(gateway)
  const key = await testKey(gateway.db, account, ['payments:write', 'payments:read'])
  const body = { asset: 'USDC', fiat_amount: 20 }
  const { data } = await call(app, key, 'POST', '/v1/payments', { body })
  await call(app, key, 'GET', `/v1/payments/${data.id}`)
  await insertRequests(gateway.db, [
    entry({ accountId: account.id, method: 'POST', path: '/v1/payments', at: new Date(Date.now() - 60_000) }),
  ])
  await until('logged', async () => (await listRequests(gateway.db, account.id, {})).total === 3)

  const home = homeOf(account)
  const dev = await testPerson(gateway, app, { account, role: 'developer' })
  const page = await dev.get(`${home}/payments/${data.id}`)
  assert.match(page.text, /Network Ethereum \(ERC-20\)/)
  const links = [...page.html.matchAll(/href="([^"]*\/requests\?[^"]*)"/g)].map(([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  )
  const [named = '', made = ''] = links
  assert.equal(links.length, 2)
  const rowsAt = async (link: string) => {
    const { html } = await dev.get(link)
    return [...html.matchAll(/class="path">([^<]*)</g)].map(([, path]) => path)
  }
  assert.deepEqual(await rowsAt(named), [`GET /v1/payments/${data.id}`])
  assert.deepEqual(await rowsAt(made), ['POST /v1/payments'])
  assert.deepEqual(await rowsAt(`${home}/requests?filter_path=${data.id.slice(0, -1)}`), [
    `GET /v1/payments/${data.id}`,
  ])

  const asked: string[] = []
  const query = ((text: string, values: unknown[]) => {
    asked.push(text)
    return gateway.db.query(text, values)
  }) as typeof gateway.db.query
  await listRequests({ query }, account.id, { filter_path: data.id })
  const plan = await gateway.db.transaction(async (tx) => {
    await tx.query('set local enable_seqscan = off')
    return tx.query(`explain ${asked[0]}`, [account.id, data.id, 25, 0])
  })
  assert.match(JSON.stringify(plan.rows), /api_requests_by_payment/)
})

test('a database that does not answer costs entries, never an answer, and closing writes what waits', async () => {
  const gateway = await testGateway()
  const { id: accountId } = await testAccount(gateway)
  const warned: object[] = []
  const log = { ...SILENT, warn: (fields: object) => void warned.push(fields) }
  let isAway = true
  const db = {
    ...gateway.db,
    query: ((...given: Parameters<typeof gateway.db.query>) =>
      isAway ? Promise.reject(new Error('away')) : gateway.db.query(...given)) as typeof gateway.db.query,
  }
  const requests = openRequestLog(db, log, { everyMs: 1, waitingMax: 3 })
  for (let i = 0; i < 5; i++) requests.add(entry({ accountId }))
  await until('told', async () => warned.length === 1)
  assert.deepEqual(Object.keys(warned[0] ?? {}), ['dropped', 'err'])
  isAway = false
  requests.add(entry({ accountId, path: '/v1/late' }))
  await requests.close()
  assert.deepEqual(
    (await listRequests(gateway.db, accountId, {})).items.map(({ path }) => path),
    ['/v1/late'],
  )
})

test('after seven days a call is forgotten; a busy account is counted up to a bound', async () => {
  const gateway = await testGateway()
  const { id: accountId } = await testAccount(gateway)
  const week = 7 * 86_400_000
  await insertRequests(gateway.db, [
    entry({ accountId, at: new Date(Date.now() - week - 60_000), path: '/v1/old' }),
    entry({ accountId, at: new Date(Date.now() - week + 60_000), path: '/v1/kept' }),
  ])
  assert.equal(await pruneRequests(gateway.db, 10), 1)
  assert.deepEqual(
    (await listRequests(gateway.db, accountId, {})).items.map(({ path }) => path),
    ['/v1/kept'],
  )
  for (let i = 0; i < 11; i++)
    await insertRequests(
      gateway.db,
      Array.from({ length: 1_000 }, () => entry({ accountId })),
    )
  const page = await listRequests(gateway.db, accountId, {})
  assert.deepEqual([page.total, page.isBounded, page.items.length], [10_000, true, 25])
})
