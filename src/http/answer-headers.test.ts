/**
 * Every answer, whatever was asked, of whom and how, says that nothing runs or frames it, that its type is no guess, that its
 * address is told to nobody, and that it is asked for by https alone.
 */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { type OutgoingHttpHeaders, request } from 'node:http'
import { connect } from 'node:net'
import test, { after } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { testKey, testMerchant, UNLIMITED } from '../../test/api.ts'
import { testPerson } from '../../test/dashboard.ts'
import { testGateway, testPayment, testSession } from '../../test/gateway.ts'
import { NO_LIMITS } from '../../test/hosted.ts'
import { insertPaymentLink } from '../checkout/payment-links.sql.ts'
import { insertPointOfSale } from '../checkout/points-of-sale.sql.ts'
import { showId } from '../core/ids.ts'
import { openDatabase } from '../db/database.ts'
import { changeAccount } from '../flows/accounts/change-account.ts'
import { pickCoin } from '../flows/checkout/checkout.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Server, type ServerOptions, startServer } from './server.ts'

const plain = await testGateway({ freshPerChain: 20 })
const { db } = plain
const [publicUrl, dashboardUrl] = ['https://pay.example.com', 'https://desk.example.com']
const gateway = { ...plain, settings: { ...plain.settings, publicUrl, dashboardUrl } }
const merchant = await testMerchant(db)

async function serve(options: Partial<ServerOptions> = {}, from: Gateway = gateway): Promise<Server> {
  const server = await startServer(from, {
    port: 0,
    host: '127.0.0.1',
    monitor: { host: '127.0.0.1', port: 0, isChosen: true },
    rateLimit: UNLIMITED,
    addressRateLimit: UNLIMITED,
    hosted: { limits: NO_LIMITS },
    ...options,
  })
  after(() => server.close())
  return server
}

interface Route {
  readonly method: string
  readonly url: string
}

/** Everything that the application registers, whoever registers it. */
const registered: Route[] = []
const note = (message: unknown) =>
  (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) registered.push({ method: each, url })
  })
subscribe('fastify.initialization', note)
const server = await serve()
unsubscribe('fastify.initialization', note)

interface Asked extends Partial<Route> {
  readonly port?: number
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
  readonly from?: string
}

interface Told {
  readonly status: number
  /** Names and values in turns, as they came. */
  readonly headers: readonly string[]
}

/** The head of an answer: what streams on behind it is not waited for. */
async function ask({
  port = server.port,
  method = 'GET',
  url = '/',
  headers = {},
  body,
  from = '127.0.0.1',
}: Asked): Promise<Told> {
  const asking = request({
    port,
    host: '127.0.0.1',
    path: url,
    method,
    headers,
    localAddress: from,
    agent: false,
  })
  asking.end(body)
  const [answer] = await once(asking, 'response')
  answer.destroy()
  return { status: answer.statusCode, headers: answer.rawHeaders }
}

/** The same for bytes that are no request. */
async function askRaw(port: number, bytes: string): Promise<Told> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.on('error', () => {})
  if (bytes) socket.write(bytes)
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (text.includes('\r\n\r\n')) break
  }
  const [line = '', ...fields] = (text.split('\r\n\r\n')[0] ?? '').split('\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers: fields.flatMap((field) => field.split(/: (.*)/s).slice(0, 2)),
  }
}

function assertProtected({ headers }: Told, where: string, isSecure = true): void {
  const named = (name: string) =>
    headers.filter((_value, place) => place % 2 === 1 && headers[place - 1]?.toLowerCase() === name)
  const only = (name: string) => {
    const values = named(name)
    assert.equal(values.length, 1, `${where} says ${name} ${values.length} times`)
    return values[0] ?? ''
  }
  const policy = only('content-security-policy').split('; ')
  assert.ok(policy.includes("default-src 'none'"), `${where}: ${policy}`)
  assert.ok(
    policy.some((each) => each.startsWith('frame-ancestors ')),
    `${where}: ${policy}`,
  )
  assert.equal(only('x-content-type-options'), 'nosniff', where)
  assert.match(only('referrer-policy'), /^(no-referrer|same-origin)$/, where)
  if (isSecure) assert.match(only('strict-transport-security'), /^max-age=63072000$/, where)
  else assert.deepEqual(named('strict-transport-security'), [], where)
}

/** What the last part of a path before a parameter says it names. */
async function someOfEach(): Promise<Readonly<Record<string, string>>> {
  const { account } = merchant
  const session = await testSession(gateway, account)
  await db.transaction((tx) =>
    pickCoin(gateway, tx, session.id, { asset: 'LTC', amountMinor: null, email: null }),
  )
  const payment = await testPayment(gateway, account)
  const draft = { accountId: account.id, currency: 'USD' } as const
  const [link, point] = await db.transaction(async (tx) => [
    await insertPaymentLink(tx, { ...draft, label: 'Tea', amountMinor: 500n }),
    await insertPointOfSale(tx, { ...draft, name: 'Counter' }),
  ])
  const logo = Buffer.from('89504e470d0a1a0a0000', 'hex')
  const { brandLogo } = await db.transaction((tx) => changeAccount(tx, account.id, { logo }))
  return {
    checkout: showId('cs', session.id),
    payments: showId('pay', payment.id),
    pay: showId('plink', link.id),
    pos: showId('pos', point.id),
    logos: brandLogo ?? '',
    dashboard: showId('acct', account.id),
  }
}

test('every route says so to a stranger, to a key and to a person, whatever it answers', async () => {
  const some = await someOfEach()
  const person = await testPerson(gateway, server.app, {
    account: merchant.account,
    role: 'owner',
    isOperator: true,
  })
  const cookie = `${person.cookie}; __Host-${person.cookie}`
  const callers: Readonly<Record<string, OutgoingHttpHeaders>> = {
    stranger: {},
    key: { 'x-api-key': merchant.key },
    person: { cookie, origin: dashboardUrl, 'sec-fetch-site': 'same-origin', accept: 'text/html' },
  }
  const statuses = new Set<number>()
  for (const { method, url } of registered) {
    const path = url.replace(/([\w-]+)\/:\w+/g, (_all, noun) => `${noun}/${some[noun] ?? 'nothing'}`)
    for (const [caller, headers] of Object.entries(callers)) {
      // Would sign the person out before all was asked.
      if (caller === 'person' && url === '/dashboard/sign-out') continue
      const told = await ask({ method, url: path.replaceAll(/[:*]\w*/g, 'nothing'), headers })
      statuses.add(told.status)
      assertProtected(told, `${method} ${path} to a ${caller}: ${told.status}`)
    }
  }
  assert.ok(registered.length > 200, `${registered.length} routes`)
  for (const status of [200, 303, 400, 401, 403, 404])
    assert.ok(statuses.has(status), `something answers ${status}`)
})

test('so does what a live page listens to', async () => {
  const { checkout } = await someOfEach()
  const told = await ask({ url: `/checkout/${checkout}/events?version=none` })
  assert.ok(told.headers.includes('text/event-stream; charset=utf-8'))
  assertProtected(told, 'the stream')
})

test('so does every refusal, of what is no request too', async () => {
  const { checkout } = await someOfEach()
  const key = { 'x-api-key': merchant.key }
  const json = { ...key, 'content-type': 'application/json' }
  const poor = { 'x-api-key': await testKey(db, merchant.account, ['payments:read']) }
  const away = openDatabase({ url: 'postgres://nobody:secret@127.0.0.1:1/none' })
  after(() => away.close())
  const [strict, flooded, broken, impatient] = await Promise.all([
    serve({ rateLimit: { perSecond: 1 / 3_600, burst: 1 } }),
    serve({ addressRateLimit: { perSecond: 1 / 3_600, burst: 1 } }),
    serve({}, { ...gateway, db: away }),
    serve({ connectionLimits: { headMs: 100, requestMs: 200 } }),
  ])
  await ask({ port: strict.port, url: '/v1/payments', headers: key })
  await ask({ port: flooded.port, url: '/livez', from: '127.0.0.2' })
  const long = 'x'.repeat(20_000)
  const asked: Readonly<Record<string, readonly [Promise<Told>, number]>> = {
    'an unknown path': [ask({ url: '/nothing' }), 404],
    'a file of the folder': [ask({ url: '/package.json' }), 404],
    'what a repository keeps': [ask({ url: '/.git/HEAD' }), 404],
    'the list of a folder': [ask({ url: '/checkout-assets/' }), 404],
    'a path that cannot be read': [ask({ url: '/v1/payments/%ff' }), 400],
    'a method nobody has': [ask({ method: 'TRACE', url: '/v1/payments' }), 404],
    'what browsers ask before': [ask({ method: 'OPTIONS', url: '/v1/payments' }), 404],
    'no key': [ask({ url: '/v1/payments' }), 401],
    'a key without the scope': [ask({ url: '/v1/webhooks', headers: poor }), 403],
    'no JSON': [ask({ method: 'POST', url: '/v1/payments', headers: json, body: '{' }), 400],
    'no JSON at all': [
      ask({
        method: 'POST',
        url: '/v1/payments',
        headers: { ...key, 'content-type': 'text/plain' },
        body: 'x',
      }),
      415,
    ],
    'too long a body': [
      ask({ method: 'POST', url: '/v1/payments', headers: json, body: `"${'x'.repeat(70_000)}"` }),
      413,
    ],
    'a key beyond its rate': [ask({ port: strict.port, url: '/v1/payments', headers: key }), 429],
    'an address beyond its rate': [ask({ port: flooded.port, url: '/livez', from: '127.0.0.2' }), 429],
    'a database that is away': [ask({ port: broken.port, url: '/v1/payments', headers: key }), 503],
    'a page without a database': [ask({ port: broken.port, url: `/checkout/${checkout}` }), 503],
    'no HTTP': [askRaw(server.port, 'hello\r\n\r\n'), 400],
    'no host': [askRaw(server.port, 'GET /livez HTTP/1.1\r\n\r\n'), 400],
    'a head too long': [askRaw(server.port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${long}\r\n\r\n`), 431],
    'a head that never ends': [askRaw(impatient.port, 'GET / HTTP/1.1\r\nHost: x\r\n'), 408],
    'a strange expectation': [ask({ url: '/livez', headers: { expect: '200-maybe' } }), 200],
  }
  for (const [what, [told, status]] of Object.entries(asked)) {
    assert.equal((await told).status, status, what)
    assertProtected(await told, what)
  }
})

test('so does the operator’s own listener', async () => {
  const port = server.monitorPort ?? assert.fail()
  const long = 'x'.repeat(20_000)
  const asked: Readonly<Record<string, readonly [Promise<Told>, number]>> = {
    metrics: [ask({ port, url: '/metrics' }), 200],
    readyz: [ask({ port, url: '/readyz' }), 200],
    livez: [ask({ port, url: '/livez' }), 200],
    'another path': [ask({ port, url: '/v1/payments' }), 404],
    'another method': [ask({ port, method: 'POST', url: '/metrics' }), 404],
    'a strange expectation': [ask({ port, url: '/livez', headers: { expect: '200-maybe' } }), 200],
    'no HTTP': [askRaw(port, 'hello\r\n\r\n'), 400],
    'no host': [askRaw(port, 'GET /livez HTTP/1.1\r\n\r\n'.repeat(100)), 400],
    'a head too long': [askRaw(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${long}\r\n\r\n`), 431],
  }
  for (const [what, [told, status]] of Object.entries(asked)) {
    assert.equal((await told).status, status, what)
    assertProtected(await told, what)
  }
})

test('nothing is asked for by https where Beck is not', async () => {
  const trying = await serve({}, plain)
  for (const url of ['/livez', '/v1/payments', '/nothing'])
    assertProtected(await ask({ port: trying.port, url }), url, false)
  assertProtected(await askRaw(trying.port, 'hello\r\n\r\n'), 'no HTTP', false)
})
