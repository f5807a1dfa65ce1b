import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before, describe } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { Webhook } from 'standardwebhooks'
import { signatureHeaders } from '../src/events/signature.ts'
import { type Merchant, testApp, testMerchant } from '../test/api.ts'
import { testGateway } from '../test/gateway.ts'
import { HALVES, type Half, isHalf, sendHalf } from '../test/half-answers.ts'
import { IDEMPOTENCY_KEYS } from '../test/idempotency-keys.ts'
import { losingServer } from '../test/lost-answers.ts'
import { rehearsePublishing } from '../test/publishable.ts'
import {
  AuthenticationError,
  Beck,
  BeckError,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  WebhookSecretError,
  webhooks,
} from './src/index.ts'

const exec = promisify(execFile)
const gateway = await testGateway({ freshPerChain: 40 })
const app = await testApp(gateway)
const baseUrl = `${await app.listen({ port: 0, host: '127.0.0.1' })}/v1`
const merchant: Merchant = await testMerchant(gateway.db)
const beck = new Beck({ apiKey: merchant.key, baseUrl })

describe('against the real server', () => {
  test('a payment is created, retrieved, listed and cancelled', async () => {
    const payment = await beck.payments.create({
      asset: 'LTC',
      fiat_amount: 49.99,
      reference: 'order-1',
      metadata: { cart: 7 },
    })
    assert.match(payment.id, /^pay_/)
    assert.equal(payment.deposit.expected_amount, '0.4999')
    const again = await beck.payments.retrieve(payment.id)
    assert.deepEqual([again.reference, again.metadata], ['order-1', { cart: 7 }])
    const page = await beck.payments.list({ filter_id: payment.id })
    assert.deepEqual([page.total, page.items[0]?.id], [1, payment.id])
    assert.equal((await beck.payments.cancel(payment.id)).status, 'cancelled')
    await assert.rejects(
      beck.payments.cancel(payment.id),
      (error) => error instanceof ConflictError && error.reason === 'payment_not_cancellable',
    )
  })

  test('a list is iterated through all of its pages', async () => {
    const made = await Promise.all(
      Array.from({ length: 7 }, () =>
        beck.payments.create({ asset: 'BTC', fiat_amount: 5, reference: 'many' }),
      ),
    )
    const listed: string[] = []
    for await (const payment of beck.payments.list({ filter_asset: 'BTC', limit: 3 })) listed.push(payment.id)
    assert.deepEqual(listed.toSorted(), made.map((payment) => payment.id).toSorted())
  })

  test('links, sessions, customers, balance, withdrawals and webhook endpoints answer', async () => {
    const link = await beck.paymentLinks.create({ label: 'Coffee', amount: 4.5 })
    assert.equal((await beck.paymentLinks.update(link.id, { is_active: false })).is_active, false)
    const session = await beck.checkoutSessions.create({ amount: 10 })
    assert.match(session.url, /\/checkout\/cs_/)
    assert.equal((await beck.checkoutSessions.retrieve(session.id)).status, 'open')
    await beck.payments.create({ asset: 'ETH', fiat_amount: 20, customer_email: 'buyer@example.com' })
    const [customer] = (await beck.customers.list({ filter_email: 'buyer@' })).items
    assert.ok(customer)
    assert.equal((await beck.customers.retrieve(customer.id)).recent_payments.length, 1)
    assert.equal((await beck.balance.retrieve()).total.series.length, 30)
    assert.deepEqual(await beck.withdrawals.list(), [])
    const endpoint = await beck.webhooks.create({
      url: 'https://example.com/hook',
      events: ['payment.completed'],
    })
    assert.deepEqual(await beck.webhooks.delete(endpoint.id), { id: endpoint.id, deleted: true })
  })

  test('events are replayed through all pages, from where one stopped', async () => {
    const { cursor } = await beck.events.list({ after: 'latest' })
    assert.ok(cursor)
    const { id } = await beck.payments.create({ asset: 'LTC', fiat_amount: 5, customer_email: 'e@b.example' })
    for (const _ of [1, 2, 3, 4]) await beck.payments.create({ asset: 'LTC', fiat_amount: 5 })
    const types: string[] = []
    const ids: unknown[] = []
    for await (const event of beck.events.list({ after: cursor, limit: 2 })) {
      types.push(event.type)
      ids.push(event.data.id)
    }
    assert.deepEqual([types, ids[0]], [Array(5).fill('payment.created'), id])
    const page = await beck.events.list({ after: cursor, limit: 2 })
    assert.deepEqual([page.items.length, page.has_more], [2, true])
  })

  test('an endpoint is looked up, its secret rotated, what it was sent listed and sent again', async () => {
    const { id, secret } = await beck.webhooks.create({
      url: 'https://shop.example/hook',
      events: ['payment.created'],
    })
    await beck.payments.create({ asset: 'LTC', fiat_amount: 5 })
    assert.equal((await beck.webhooks.retrieve(id)).disabled_reason, null)
    const rotated = await beck.webhooks.rotate(id)
    assert.notEqual(rotated.secret, secret)
    assert.ok(Date.parse(rotated.previous_secret_until) > Date.now())
    assert.equal((await beck.webhooks.enable(id)).is_active, true)
    const deliveries = []
    for await (const delivery of beck.webhooks.deliveries(id, { limit: 1 })) deliveries.push(delivery)
    const [delivery] = deliveries
    assert.ok(delivery)
    assert.deepEqual([deliveries.length, delivery.event_type, delivery.attempts], [1, 'payment.created', []])
    assert.equal((await beck.webhooks.redeliver(id, delivery.id)).id, delivery.id)
  })

  test('errors come as classes with a stable reason', async () => {
    await assert.rejects(beck.payments.create({ asset: 'LTC', fiat_amount: 0 }), (error) => {
      assert.ok(error instanceof InvalidRequestError)
      assert.equal(error.details[0]?.field, 'fiat_amount')
      assert.match(error.requestId ?? '', /^req_/)
      return true
    })
    await assert.rejects(beck.payments.retrieve('pay_01h45ytscbebyvny4gc8cr8ma2'), NotFoundError)
    await assert.rejects(beck.payments.retrieve('../balance'), NotFoundError)
    await assert.rejects(
      new Beck({ apiKey: 'bk_test_wrong', baseUrl }).balance.retrieve(),
      AuthenticationError,
    )
  })
})

test('every operation of the document has its method, and no method asks for another', async () => {
  const asked = new Set<string>()
  const fake: typeof fetch = async (url, init) => {
    const path = new URL(String(url)).pathname.replace('/v1', '').replace(/\/(a|b)(?=\/|$)/g, '/{}')
    asked.add(`${init?.method} ${path}`)
    const data = { items: [], total: 0, page: 1, limit: 25, total_pages: 0, has_more: false, cursor: null }
    return Response.json({ data, error: null })
  }
  const client = new Beck({ apiKey: 'bk_test_x', baseUrl: 'https://pay.example/v1', fetch: fake })
  for (const group of Object.values(client)) {
    for (const [name, method] of Object.entries(group as Record<string, (...given: string[]) => unknown>))
      if (name !== 'verify') await method('a', 'b')
  }
  const document = JSON.parse(await readFile('docs/openapi.json', 'utf8'))
  const operations = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`),
  )
  assert.deepEqual([...asked].sort(), operations.sort())
})

test('each method whose first answer is lost returns what it returns without that', async () => {
  const answersOf = async (losing: boolean) => {
    const server = losingServer(losing)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = new Beck({
      apiKey: 'bk_test_x',
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
    const calls = Object.values(client).flatMap((group) =>
      Object.entries(group as Record<string, (...given: string[]) => unknown>)
        .filter(([name]) => name !== 'verify')
        .map(async ([name, method]) => [name, await method('a', 'b')]),
    )
    return Promise.all(calls).finally(() => server.close())
  }
  assert.deepEqual(await answersOf(true), await answersOf(false))
})

test('an endpoint that its own lost try deleted is deleted; one that was never there is not found', async () => {
  let lost = 0
  const losing: typeof fetch = async (url, init) => {
    const answer = await fetch(url, init)
    if (lost-- <= 0) return answer
    await answer.arrayBuffer()
    throw new TypeError('lost')
  }
  const client = new Beck({ apiKey: merchant.key, baseUrl, fetch: losing })
  const { id } = await client.webhooks.create({
    url: 'https://shop.example/gone',
    events: ['payment.created'],
  })
  lost = 1
  assert.deepEqual(await client.webhooks.delete(id), { id, deleted: true })
  lost = 0
  await assert.rejects(client.webhooks.delete(id), NotFoundError)
  lost = 1
  await assert.rejects(client.webhooks.retrieve(id), NotFoundError)
  lost = 1
  await assert.rejects(
    new Beck({ apiKey: merchant.key, baseUrl: `${baseUrl}/elsewhere`, fetch: losing }).webhooks.delete(id),
    (error) => error instanceof NotFoundError && error.reason === 'unknown_route',
  )
})

test('what it sends as an Idempotency-Key is what Beck takes, and nothing else is sent', async () => {
  let sent = 0
  const counting: typeof fetch = (url, init) => {
    sent += 1
    return fetch(url, init)
  }
  const client = new Beck({ apiKey: merchant.key, baseUrl, fetch: counting })
  for (const [idempotencyKey, isTaken] of IDEMPOTENCY_KEYS) {
    sent = 0
    const creating = client.payments.create({ asset: 'LTC', fiat_amount: 5 }, { idempotencyKey })
    if (isTaken) assert.equal((await creating).status, 'pending', idempotencyKey)
    else await assert.rejects(creating, ConfigurationError, JSON.stringify(idempotencyKey))
    assert.equal(sent, isTaken ? 1 : 0)
  }
  const order = { asset: 'LTC', fiat_amount: 5 } as const
  const made = await client.payments.create(order, { idempotencyKey: 1001 })
  assert.equal((await client.payments.create(order, { idempotencyKey: '1001' })).id, made.id)
  sent = 0
  for (const number of [1.5, 2 ** 53, Number.NaN])
    await assert.rejects(client.payments.create(order, { idempotencyKey: number }), ConfigurationError)
  assert.equal(sent, 0)
})

describe('against a server that fails', () => {
  const keys: (string | undefined)[] = []
  let answers: (number | 'cut' | 'in flight' | Half)[] = []
  const server = createServer((request, response) => {
    keys.push(request.headers['idempotency-key']?.toString())
    const status = answers.shift() ?? 200
    if (status === 'cut') return void request.socket.destroy()
    if (isHalf(status)) return sendHalf(request.socket, status)
    const reason = status === 'in flight' ? 'idempotency_key_in_flight' : 'no_rate'
    response.writeHead(status === 'in flight' ? 409 : status, {
      'content-type': 'application/json',
      'retry-after': '0.01',
    })
    response.end(
      JSON.stringify(
        status === 200
          ? { data: { id: 'pay_1' }, error: null }
          : { data: null, error: { message: 'no', reason } },
      ),
    )
  })
  let failing: Beck
  let impatient: Beck
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    failing = new Beck({ apiKey: 'bk_test_x', baseUrl })
    impatient = new Beck({ apiKey: 'bk_test_x', baseUrl, timeoutMs: 200 })
  })
  after(() => server.close())

  test('a request cut off is tried again under the same idempotency key', async () => {
    keys.length = 0
    answers = ['cut', 503, 200]
    assert.equal((await failing.payments.create({ asset: 'LTC', fiat_amount: 1 })).id, 'pay_1')
    assert.equal(keys.length, 3)
    assert.ok(keys[0])
    assert.equal(new Set(keys).size, 1)
  })

  for (const half of Object.keys(HALVES) as Half[])
    test(`a success ${half} is no answer: tried again under the same key, and a connection error at the end`, async () => {
      keys.length = 0
      answers = [half, half, 200]
      const client = half === 'that stops' ? impatient : failing
      assert.equal((await client.payments.create({ asset: 'LTC', fiat_amount: 1 })).id, 'pay_1')
      assert.equal(keys.length, 3)
      assert.equal(new Set(keys).size, 1)
      answers = [half, half, half]
      await assert.rejects(client.payments.create({ asset: 'LTC', fiat_amount: 1 }), ConnectionError)
    })

  test('a call whose first try is still under way is answered with what became of it', async () => {
    keys.length = 0
    answers = ['cut', 'in flight', 200]
    assert.equal((await failing.payments.create({ asset: 'LTC', fiat_amount: 1 })).id, 'pay_1')
    assert.equal(keys.length, 3)
    assert.equal(new Set(keys).size, 1)
  })

  test('what the server refuses is not tried again', async () => {
    keys.length = 0
    answers = [409, 200]
    await assert.rejects(failing.payments.create({ asset: 'LTC', fiat_amount: 1 }), ConflictError)
    assert.equal(keys.length, 1)
  })

  test('after the last try the connection error says where to', async () => {
    answers = ['cut', 'cut', 'cut']
    await assert.rejects(
      failing.balance.retrieve(),
      (error) => error instanceof ConnectionError && /GET \/balance/.test(error.message),
    )
  })
})

test('a redirect is not followed: the key goes to the address that was given', async () => {
  const asked: string[] = []
  const server = createServer((request, reply) => {
    asked.push(request.url ?? '')
    reply.writeHead(302, { location: '/elsewhere' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const away = new Beck({
    apiKey: 'bk_test_x',
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
  await assert.rejects(away.balance.retrieve(), (error) => error instanceof BeckError && error.status === 302)
  assert.deepEqual(asked, ['/v1/balance'])
  server.close()
})

describe('settings', () => {
  test('a key that is not set, or a placeholder, is told before anything is sent', () => {
    for (const apiKey of [undefined, '', 'undefined', 'bk_test_…', 'bk_test_', ' bk_test_x', 'sk_live_x'])
      assert.throws(() => new Beck({ apiKey, baseUrl }), ConfigurationError, String(apiKey))
    for (const bad of [undefined, '', 'localhost:8080', 'ftp://pay.example.com', '/v1'])
      assert.throws(() => new Beck({ apiKey: merchant.key, baseUrl: bad }), ConfigurationError, String(bad))
  })

  test('the address does with and without its version and a slash', async () => {
    for (const path of ['', '/', '/v1', '/v1/'])
      assert.equal(
        (await new Beck({ apiKey: merchant.key, baseUrl: new URL(baseUrl).origin + path }).balance.retrieve())
          .currency,
        'USD',
      )
  })
})

describe('webhooks.verify', () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const old = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
  const body = JSON.stringify({
    id: 'evt_1',
    type: 'payment.completed',
    created: '2026-01-01T00:00:00Z',
    data: { reference: 'ä' },
  })
  const at = new Date()
  const headers = {
    'Webhook-Id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', at, body),
  }

  test('takes bytes, text and rotated secrets', async () => {
    for (const raw of [body, new TextEncoder().encode(body)]) {
      assert.equal((await webhooks.verify(raw, headers, secret)).type, 'payment.completed')
      assert.equal((await webhooks.verify(raw, new Headers(headers), [old, secret])).id, 'evt_1')
    }
  })

  test('refuses another secret, a changed body, an old time and missing headers', async () => {
    await assert.rejects(webhooks.verify(body, headers, old), /no signature/)
    await assert.rejects(webhooks.verify(`${body} `, headers, secret), /no signature/)
    await assert.rejects(webhooks.verify(body, headers, secret, { nowMs: at.getTime() + 301_000 }), /too far/)
    await assert.rejects(
      webhooks.verify(body, { ...headers, 'webhook-signature': 'v1,%%%' }, secret),
      /no signature/,
    )
    await assert.rejects(webhooks.verify(body, {}, secret), /missing/)
  })

  test('a secret that does not decode stops the program: it is no key that anybody can sign with', async () => {
    const forged = (key: Uint8Array) => ({
      ...headers,
      'webhook-signature': signatureHeaders({ id: 'evt_1', at, body }, [key])['webhook-signature'],
    })
    const guesses = [new Uint8Array(), new Uint8Array(1), new Uint8Array(24), new Uint8Array(32)]
    const unusable = [
      'undefined',
      '',
      'whsec_',
      'whsec_...',
      'whsec_your_secret_here',
      `whsec_${Buffer.alloc(23, 1).toString('base64')}`,
      secret.slice(6),
      secret.replace('=', ''),
      secret.slice(0, -16),
      ` ${secret}`,
      `${secret}\n`,
      undefined,
    ]
    for (const bad of unusable) {
      for (const sent of [headers, ...guesses.map(forged)]) {
        for (const secrets of [[bad], [secret, bad], [bad, secret]]) {
          await assert.rejects(webhooks.verify(body, sent, secrets), WebhookSecretError, JSON.stringify(bad))
        }
      }
    }
    await assert.rejects(webhooks.verify(body, headers, []), WebhookSecretError)
    await assert.rejects(webhooks.verify(body, headers, undefined), WebhookSecretError)
  })
})

describe('as it is published', () => {
  test('its types are those of the document', async () => {
    await exec(process.execPath, ['sdk/generate-types.ts', '--check'])
  })

  test('its package installs alone, its guide compiles strictly, and its modules are under 10 kB gzipped', async () => {
    const shop = await mkdtemp(join(tmpdir(), 'beck-shop-'))
    try {
      const published = await rehearsePublishing('./sdk')
      assert.deepEqual(
        published.filter((path) => !path.startsWith('dist/')),
        ['LICENSE', 'README.md', 'package.json'],
      )
      await exec('npm', ['pack', './sdk', '--pack-destination', shop])
      const [tarball = ''] = await readdir(shop)
      await writeFile(join(shop, 'package.json'), '{ "name": "shop", "private": true, "type": "module" }')
      await exec('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: shop })
      const installed = join(shop, 'node_modules/beck-sdk')
      const modules = (await readdir(join(installed, 'dist'))).filter((name) => name.endsWith('.js'))
      const whole = Buffer.concat(
        await Promise.all(modules.map((name) => readFile(join(installed, 'dist', name)))),
      )
      assert.ok(gzipSync(whole).length < 10_000, `${gzipSync(whole).length} bytes`)
      assert.match(await readFile(join(installed, 'LICENSE'), 'utf8'), /MIT License/)

      const guide = await readFile(join(installed, 'README.md'), 'utf8')
      const links = [...guide.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, to = '']) => to)
      for (const to of links) await readFile(join(installed, to))
      await writeFile(join(shop, 'guide.ts'), guideAsProgram(guide))
      await mkdir(join(shop, 'node_modules/@types'))
      await symlink(join(process.cwd(), 'node_modules/@types/node'), join(shop, 'node_modules/@types/node'))
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--module', 'nodenext']
      await exec(
        join(process.cwd(), 'node_modules/.bin/tsc'),
        [...strict, '--target', 'es2024', '--types', 'node', '--skipLibCheck', 'guide.ts'],
        { cwd: shop },
      ).catch(({ stdout }) => assert.fail(stdout))

      const program = `import { Beck } from 'beck-sdk'
        const beck = new Beck({ apiKey: '${merchant.key}', baseUrl: '${baseUrl}' })
        process.stdout.write((await beck.balance.retrieve()).currency)`
      const { stdout } = await exec(process.execPath, ['--input-type=module', '-e', program], { cwd: shop })
      assert.equal(stdout, 'USD')
    } finally {
      await rm(shop, { recursive: true, force: true })
    }
  })
})

/** The examples in one file, with what the reader's own program has around them. */
function guideAsProgram(guide: string): string {
  const blocks = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block)
  assert.ok(blocks.length >= 5, 'the guide has its examples')
  const imports = new Set(blocks.join('').match(/^import .*$/gm))
  const bodies = blocks.map((block) => block.replace(/^import .*$/gm, ''))
  return `${[...imports].join('\n')}
declare const rawBody: string
declare const request: import('node:http').IncomingMessage
declare function shipOrder(reference: string | null): Promise<void>
declare function lastSeen(): Promise<string | undefined>
declare function handle(event: unknown): Promise<void>
${bodies.join('\n')}`
}
