/** Who watches over a Beck sees what of it runs, what it is short of, and what nobody plays. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { readId } from '../../src/core/ids.ts'
import { rootOf } from '../../src/core/trace.ts'
import { openDatabase } from '../../src/db/database.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { ok, receiver } from '../deliveries.ts'
import { callsTo } from '../installation.ts'
import { waitFor } from '../wait-for.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'beck-roles-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const metricsPort = await freePort()
const settings = {
  DATABASE_URL: await testDatabaseUrl(),
  BECK_SECRET_KEY: randomBytes(32).toString('hex'),
  BECK_DATA_DIR: dataDir,
  PORT: String(await freePort()),
  BECK_METRICS_PORT: String(metricsPort),
  BECK_SANDBOX_BLOCK_MS: '0',
}
/** Of the first start's account. */
let apiKey = ''
const db = openDatabase({ url: settings.DATABASE_URL, connectionsMax: 2 })
after(() => db.close())

interface Ready {
  readonly status: string
  readonly database: { readonly ok: boolean; readonly problem: string | null }
  readonly roles: readonly {
    readonly role: string
    readonly ok: boolean
    readonly problem: string | null
    readonly running: number
  }[]
}
const ready = async (): Promise<Ready> => {
  const answer = await fetch(`http://127.0.0.1:${metricsPort}/readyz`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { data: Ready }).data
}
const alive = async (...args: string[]) => {
  const command = startBeckProcess(['alive', ...args], settings)
  return { code: await command.ended, command }
}

test('a role that nobody plays is named, with what stands still, and so is a Redis that does not answer', async () => {
  const api = startBeckProcess(['start', '--role', 'api'], {
    ...settings,
    REDIS_URL: 'redis://me:s3cret@127.0.0.1:1',
  })
  apiKey = String((await api.hears((object) => 'url' in object)).key)
  const health = await waitFor('the API says that it runs', async () => {
    const found = await ready()
    return found.roles.some(({ role, problem }) => role === 'api' && problem?.includes('Redis'))
      ? found
      : null
  })
  assert.equal(health.status, 'degraded')
  const of = (role: string) => health.roles.find((each) => each.role === role) ?? assert.fail(role)
  assert.equal(of('api').running, 1)
  assert.match(of('api').problem ?? '', /Redis at redis:.*127\.0\.0\.1:1 does not answer/)
  assert.doesNotMatch(JSON.stringify(health), /s3cret/)
  assert.match(of('worker').problem ?? '', /^no worker runs: no payment settles/)
  assert.match(of('signer').problem ?? '', /^no signer runs: no withdrawal is signed/)

  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  assert.match(metrics, /^beck_role_running\{role="api"\} 1$/m)
  assert.match(metrics, /^beck_role_running\{role="watcher"\} 0$/m)
  assert.match(metrics, /^beck_role_concerns\{role="api"\} 1$/m)
  assert.match(metrics, /^beck_disk_free_bytes\{role="api"\} \d+$/m)
  assert.match(metrics, /^beck_database_connections\{state="waiting"\} \d+$/m)

  assert.equal((await alive()).code, 0)
  assert.equal((await alive('--role', 'api')).code, 0)
  const worker = await alive('--role', 'worker')
  assert.equal(worker.code, 1)
  await worker.command.complains('no worker said within 30 s that it runs')

  const doctor = startBeckProcess(['doctor'], { ...settings, REDIS_URL: 'redis://127.0.0.1:1' })
  assert.equal(await doctor.ended, 1)
  const findings = doctor.said[0]?.findings as { about: string; state: string; message: string }[]
  const told = (about: string) => findings.find((finding) => finding.about === about) ?? assert.fail(about)
  assert.deepEqual(
    [told('redis').state, told('worker').state, told('api').state],
    ['wrong', 'warning', 'fine'],
  )

  // Its disk is full: it still reads, and says what is wrong.
  await db.query(
    `create function full_disk() returns trigger language plpgsql as $$ begin raise exception sqlstate '53100'; end $$`,
  )
  await db.query('create trigger full_disk before insert on running_roles execute function full_disk()')
  const full = await waitFor('the full disk is noticed', async () => {
    const found = await ready()
    return found.database.ok ? null : found
  })
  assert.match(full.database.problem ?? '', /PostgreSQL has no room on its disk/)
  await db.query('drop trigger full_disk on running_roles')
  await waitFor('it writes again', async () => ((await ready()).database.ok ? true : null))

  // What ends in order is not missed; what only stops saying so is dead after half a minute.
  await api.stop()
  assert.equal((await alive()).code, 1)
})

/** A collector of OpenTelemetry. @returns The spans that it was sent by now. */
async function startCollector() {
  const spans: { traceId: string; spanId: string; parentSpanId?: string; name: string; links?: unknown }[] =
    []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString())
    assert.equal(`${request.url} ${request.headers.authorization}`, '/v1/traces Bearer s3cret')
    for (const { scopeSpans } of body.resourceSpans)
      for (const { spans: sent } of scopeSpans) spans.push(...sent)
    response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

test('all roles run in one Beck, the signer says so itself, and a payment is one trace from its request to its webhooks', async () => {
  const collector = await startCollector()
  const hook = await receiver(ok)
  const beck = startBeckProcess(['start'], {
    ...settings,
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20s3cret',
  })
  await beck.hears((object) => 'url' in object)
  const health = await waitFor('every role runs', async () => {
    const found = await ready()
    return found.roles.every(({ running }) => running === 1) ? found : null
  })
  assert.ok(
    health.roles.every(({ ok }) => ok),
    JSON.stringify(health.roles),
  )

  const call = callsTo(`http://127.0.0.1:${settings.PORT}`, apiKey)
  await call('POST', '/webhooks', { url: hook.url, events: ['payment.created', 'payment.completed'] })
  const { data } = await call('POST', '/payments', { asset: 'LTC', fiat_amount: 20 })
  await call('POST', `/sandbox/payments/${data.id}/pay`, { confirmations: 6 })
  await hook.count(2)
  const { traceId, spanId } = rootOf(readId('pay', data.id) ?? assert.fail())
  const paying = 'POST /v1/sandbox/payments/:id/pay'
  const spans = await waitFor('the spans of the payment', async () => {
    const found = collector.spans.filter((span) => span.traceId === traceId)
    // Requests and webhooks are told by two processes, of which either may be the first.
    const isTold = (wanted: string) => found.some(({ name }) => name === wanted)
    return isTold('webhook payment.completed') && isTold(paying) ? found : null
  })
  const later = spans.filter((span) => span.spanId !== spanId)
  assert.deepEqual(
    spans.filter((span) => !later.includes(span)).map(({ name, parentSpanId }) => `${name} ${parentSpanId}`),
    ['POST /v1/payments undefined'],
  )
  assert.ok(later.every(({ parentSpanId }) => parentSpanId === spanId))
  const names = new Set(later.map(({ name }) => name))
  for (const name of ['webhook payment.created', paying, 'settle payment']) assert.ok(names.has(name), name)
  const told = later
    .filter(({ name }) => name.startsWith('webhook '))
    .map((span) => `00-${traceId}-${span.spanId}-01`)
  assert.deepEqual(hook.requests.map(({ headers }) => headers.traceparent).toSorted(), told.toSorted())
  await beck.stop()
  const { rows } = await db.query('select role from running_roles where ended_at is null')
  assert.deepEqual(rows, [], 'nobody is left who seems to run')
})
