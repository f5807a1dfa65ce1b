/** `beck start`, `beck listen` and `beck trigger` as people run them, each a process of its own; and `beck-cli` alone. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { EVENT_TYPES } from '../../src/events/event.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { rehearsePublishing } from '../publishable.ts'
import { waitFor } from '../wait-for.ts'

const exec = promisify(execFile)

const dataDir = await mkdtemp(join(tmpdir(), 'beck-listen-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const port = await freePort()
const server = {
  DATABASE_URL: await testDatabaseUrl(),
  BECK_SECRET_KEY: randomBytes(32).toString('hex'),
  BECK_DATA_DIR: dataDir,
  BECK_SANDBOX_BLOCK_MS: '0',
  PORT: String(port),
}
let beck = startBeckProcess(['start'], server)
const { key } = await beck.hears((object) => 'url' in object)
const client = { BECK_API_KEY: String(key), PORT: String(port) }

/** @returns The event's id and that of what it is about. */
async function trigger(type: string): Promise<Record<string, unknown>> {
  const command = startBeckProcess(['trigger', type], client)
  assert.equal(await command.ended, 0, JSON.stringify(command.said))
  const [answer = assert.fail('it said nothing')] = command.said
  return answer
}

interface Received {
  readonly headers: Record<string, string>
  readonly body: string
}
const received: Received[] = []
let answerWith = 204
const newHook = () =>
  createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    received.push({ headers: request.headers as Record<string, string>, body })
    response.writeHead(answerWith).end()
  })
const hookPort = await freePort()
let hook = newHook().listen(hookPort, '127.0.0.1')
await once(hook, 'listening')
const closeHook = async () => {
  hook.close()
  hook.closeAllConnections()
  await once(hook, 'close')
}
after(closeHook)

test('every event that is triggered happens and reaches the local server once, through restarts of everything', async () => {
  const before = await trigger('payment.created')
  const listening = startBeckProcess(['listen', '--forward-to', `http://127.0.0.1:${hookPort}/hook`], client)
  const { secret } = await listening.hears((object) => 'secret' in object)
  const forwarded = async (event: unknown) => (await listening.hears(({ id }) => id === event)).status

  const triggered: Record<string, unknown>[] = []
  for (const type of EVENT_TYPES) {
    const answer = await trigger(type)
    assert.equal(answer.type, type)
    assert.equal(await forwarded(answer.event), 204)
    triggered.push(answer)
  }

  // The gateway is stopped and started.
  await beck.stop()
  await listening.complains('does not answer; is Beck running there?')
  beck = startBeckProcess(['start'], server)
  await beck.hears((object) => 'url' in object)
  triggered.push(await trigger('payment.expired'))
  assert.equal(await forwarded(triggered.at(-1)?.event), 204)

  // The local server is.
  await closeHook()
  triggered.push(await trigger('payment.created'))
  await listening.complains('the connection was refused')
  hook = newHook().listen(hookPort, '127.0.0.1')
  assert.equal(await forwarded(triggered.at(-1)?.event), 204)

  // An answer is an answer: told, and not sent again.
  answerWith = 500
  const failed = await trigger('payment.created')
  assert.equal(await forwarded(failed.event), 500)
  answerWith = 204
  const last = await trigger('payment.created')
  assert.equal(await forwarded(last.event), 204)
  await listening.stop()

  const ids = received.map(({ headers }) => headers['webhook-id'])
  assert.equal(new Set(ids).size, ids.length, 'an event came twice')
  assert.ok(!ids.includes(String(before.event)), 'what happened before is not forwarded')
  for (const { event, type, id } of triggered) {
    const { headers, body } = received.find((each) => each.headers['webhook-id'] === event) ?? assert.fail()
    const verified = new Webhook(String(secret)).verify(body, headers) as {
      type: string
      data: { id: string }
    }
    assert.deepEqual([verified.type, verified.data.id], [type, id])
  }

  // Started again, it goes on after the event that it is told.
  const again = startBeckProcess(
    ['listen', '--forward-to', `http://127.0.0.1:${hookPort}/hook`, '--after', String(failed.event)],
    client,
  )
  assert.equal((await again.hears(({ id }) => id !== undefined)).id, last.event)
  assert.equal(again.said[0]?.secret, secret)
  await again.stop()
})

test('beck-cli is one package that installs alone, and does the same from a machine without Beck', async () => {
  const laptop = await mkdtemp(join(tmpdir(), 'beck-laptop-'))
  after(() => rm(laptop, { recursive: true, force: true, maxRetries: 9 }))
  assert.deepEqual(await rehearsePublishing('./cli'), [
    'LICENSE',
    'README.md',
    'dist/beck-cli.js',
    'package.json',
  ])
  await exec('npm', ['pack', './cli', '--pack-destination', laptop])
  const [tarball = ''] = await readdir(laptop)
  assert.ok((await stat(join(laptop, tarball))).size < 200_000)
  const npm = ['install', '--offline', '--no-audit', '--no-fund', '--prefix', laptop, join(laptop, tarball)]
  await exec('npm', npm, { cwd: laptop })
  assert.deepEqual(
    (await readdir(join(laptop, 'node_modules'))).filter((name) => !name.startsWith('.')),
    ['beck-cli'],
  )
  const cli = async (...args: string[]) =>
    JSON.parse(
      (
        await exec(join(laptop, 'node_modules/.bin/beck-cli'), ['--json', ...args], {
          cwd: laptop,
          env: { PATH: process.env.PATH, ...client },
        })
      ).stdout,
    )

  const made = await cli('payments', 'create', '--asset', 'LTC', '--amount', '49.99', '--reference', 'cli-1')
  assert.deepEqual([made.fiat_amount, made.reference], [49.99, 'cli-1'])
  const listed = await cli('payments', 'list', '--reference', 'cli-1')
  assert.deepEqual([listed.total, listed.items[0].id], [1, made.id])
  assert.equal((await cli('payments', 'show', made.id)).deposit.address, made.deposit.address)
  const triggered = await cli('trigger', 'payment.completed')
  const { events } = await cli('events', '--type', 'payment.completed')
  assert.equal(events.at(-1).id, triggered.event)
  assert.ok(events.every(({ type }: { type: string }) => type === 'payment.completed'))

  // What happened meanwhile is brought to the local server, signed.
  received.length = 0
  const listening = execFile(
    join(laptop, 'node_modules/.bin/beck-cli'),
    ['--json', 'listen', '--forward-to', `http://127.0.0.1:${hookPort}/hook`, '--after', events.at(-2).id],
    { env: { PATH: process.env.PATH, ...client } },
  )
  after(() => listening.kill('SIGKILL'))
  const [secretLine] = (await once(listening.stdout ?? assert.fail(), 'data')) as [string]
  const { secret } = JSON.parse(secretLine.split('\n')[0] ?? '')
  const sent = await waitFor(
    'the event',
    async () => received.find(({ headers }) => headers['webhook-id'] === triggered.event) ?? null,
  )
  assert.ok(new Webhook(secret).verify(sent.body, sent.headers))
  listening.kill('SIGTERM')
  assert.deepEqual(await once(listening, 'exit'), [0, null])
  await beck.stop()
})
