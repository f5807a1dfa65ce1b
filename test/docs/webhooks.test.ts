/**
 * The receivers of docs/webhooks.md, as they stand there, each run as a program of its own: they take what Beck sends,
 * also while a secret is rotated, and refuse everything else.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { signatureHeaders } from '../../src/events/signature.ts'
import { startDeliverer } from '../../src/workers/deliver.ts'
import { call, testApp, testMerchant } from '../api.ts'
import { testGateway } from '../gateway.ts'
import { until, waitFor } from '../wait-for.ts'

const gateway = await testGateway({ freshPerChain: 50 })
const app = await testApp(gateway)
const { key } = await testMerchant(gateway.db)
const deliverer = startDeliverer(gateway, { idleMs: 20 })
after(() => deliverer.stop())
const folder = await mkdtemp(join(tmpdir(), 'beck-receivers-'))
const children: ChildProcess[] = []
after(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

const page = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
const programOf = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ??
  assert.fail(`no ${language} in the page`)

/** Rack without its gems: one request a connection. */
const RACK = `
require 'socket'
require 'stringio'
def run(app) = $app = app
load ARGV.fetch(0)
server = TCPServer.new('127.0.0.1', Integer(ENV.fetch('PORT')))
loop do
  socket = server.accept
  line = socket.gets or next socket.close
  env = {}
  while (header = socket.gets.to_s.chomp) != ''
    name, value = header.split(': ', 2)
    env['HTTP_' + name.upcase.tr('-', '_')] = value
  end
  env['rack.input'] = StringIO.new(socket.read(env['HTTP_CONTENT_LENGTH'].to_i).to_s)
  status, = $app.call(env)
  socket.write("HTTP/1.1 #{status} Told\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n\\r\\n".sub(status == 204 ? "Content-Length: 0\\r\\n" : '-', ''))
rescue SystemCallError
  # Who asked is gone.
ensure
  socket.close
end
`

interface Receiver {
  readonly file: string
  /** Prepares it, where it must be built first, and says what to run. */
  start(path: string, port: number): readonly [string, ...string[]]
  /** Prints its version. */
  readonly version: readonly [string, ...string[]]
}

const RECEIVERS: Readonly<Record<string, Receiver>> = {
  js: {
    file: 'hook.mjs',
    start: (path) => [process.execPath, path],
    version: [process.execPath, '--version'],
  },
  python: { file: 'hook.py', start: (path) => ['python3', path], version: ['python3', '--version'] },
  go: {
    file: 'hook.go',
    start(path) {
      execFileSync('go', ['build', '-o', join(folder, 'hook-go'), path])
      return [join(folder, 'hook-go')]
    },
    version: ['go', 'version'],
  },
  php: {
    file: 'hook.php',
    start: (path, port) => ['php', '-S', `127.0.0.1:${port}`, path],
    version: ['php', '--version'],
  },
  ruby: {
    file: 'config.ru',
    start: (path) => ['ruby', '-e', RACK, path],
    version: ['ruby', '--version'],
  },
}

const listensOn = (port: number, child: ChildProcess): Promise<void> =>
  until('the receiver listens', async () => {
    assert.equal(child.exitCode, null, 'the receiver does not start')
    const socket = connect(port, '127.0.0.1')
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    return isOpen
  })

/** Sends what may be no whole request, and is gone. @returns The answer; empty where none came. */
async function sendRaw(port: number, head: string[], body: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  // Whoever still sends when he is refused may see a connection that broke.
  socket.on('error', () => {}).setTimeout(5_000, () => socket.destroy())
  let answer = ''
  socket.setEncoding('latin1').on('data', (text) => {
    answer += text
  })
  socket.end(['POST / HTTP/1.1', 'Host: localhost', 'Connection: close', ...head, '', body].join('\r\n'))
  await once(socket, 'close')
  return answer
}

/** Makes a payment and waits until its event was answered. @returns The status of the answer. */
async function deliveredStatus(endpoint: string): Promise<number | null> {
  const metadata = { text: 'Zoë 🧾 "\u2028', number: 1.5, nested: { list: [null, true] } }
  const body = JSON.stringify({ asset: 'LTC', fiat_amount: 20, reference: 'Straße 7', metadata })
  // Digits that no parser keeps.
  const text = body.replace('1.5', '12345678901234567890.10')
  const created = await call(app, key, 'POST', '/payments', { text })
  assert.equal(created.status, 201, created.text)
  const attempt = await waitFor('its event was answered', async () => {
    const { data } = await call(app, key, 'GET', `/webhooks/${endpoint}/deliveries?limit=1`)
    return data.items[0]?.attempts[0] ?? null
  })
  return attempt.response_status
}

/** What stands in the variable when nobody set it, or nobody replaced what a guide said. */
const NO_SECRETS = ['', 'undefined', 'whsec_', 'whsec_...', 'whsec_your_secret_here', 'whsec_c2hvcnQ=']

/** With a secret that is none, a receiver does not start (PHP: answers 500), or it takes what anybody can sign. */
async function refusesSecret(unusable: string, start: Receiver['start'], path: string): Promise<void> {
  const port = await freePort()
  const [command, ...args] = start(path, port)
  const child = spawn(command, args, {
    env: { ...process.env, PORT: String(port), BECK_WEBHOOK_SECRET: unusable },
    stdio: 'ignore',
  })
  children.push(child)
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const listening = listensOn(port, child).then(
    () => null,
    () => ended,
  )
  const code = await Promise.race([ended, listening])
  if (code !== null) return assert.notEqual(code, 0)
  const body = JSON.stringify({
    id: 'evt_1',
    type: 'payment.completed',
    created: new Date(),
    data: { id: 'x' },
  })
  for (const key of [new Uint8Array(), new Uint8Array(1), Buffer.from(unusable.slice(6), 'base64')]) {
    const headers = signatureHeaders({ id: 'evt_1', at: new Date(), body }, [key])
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: { ...headers, connection: 'close' },
      body,
    })
    await response.arrayBuffer()
    assert.equal(response.status, 500, `an event signed with a guessed key, secret "${unusable}"`)
  }
  child.kill('SIGTERM')
  await ended
}

for (const [language, { file, start, version }] of Object.entries(RECEIVERS)) {
  const program = programOf(language)
  test(`the receiver in ${language} takes what Beck sends and nothing else`, async (t) => {
    const [interpreter, ...asked] = version
    t.diagnostic(execFileSync(interpreter, asked, { encoding: 'utf8' }).split('\n')[0] ?? '')
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const { data: endpoint } = await call(app, key, 'POST', '/webhooks', {
      body: { url, events: ['payment.created'] },
    })
    const path = join(folder, file)
    await writeFile(path, program)
    const [command, ...args] = start(path, port)
    const child = spawn(command, args, {
      env: { ...process.env, PORT: String(port), BECK_WEBHOOK_SECRET: endpoint.secret },
      stdio: 'ignore',
    })
    children.push(child)
    await listensOn(port, child)

    assert.equal(await deliveredStatus(endpoint.id), 204)
    await call(app, key, 'POST', `/webhooks/${endpoint.id}/rotate`)
    assert.equal(await deliveredStatus(endpoint.id), 204, 'it knows the old secret only')

    const secret = Buffer.from(endpoint.secret.replace('whsec_', ''), 'base64')
    const other = Buffer.alloc(32, 7)
    const body = JSON.stringify({
      id: 'evt_1',
      type: 'payment.created',
      created: '2026-02-03T10:31:00.000Z',
      data: { id: 'é' },
    })
    const signed = (secrets: Uint8Array[], secondsOff = 0) =>
      signatureHeaders({ id: 'evt_1', at: new Date(Date.now() + secondsOff * 1_000), body }, secrets)
    const send = async (headers: Record<string, string>, sent = body) => {
      const request = { method: 'POST', headers: { ...headers, connection: 'close' }, body: sent }
      const response = await fetch(url, request)
      await response.arrayBuffer()
      return response.status
    }
    const good = signed([secret])
    const without = (name: string) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
    const signature = good['webhook-signature']

    assert.equal(await send(good), 204)
    assert.equal(await send(signed([secret], -290)), 204)
    assert.equal(await send(signed([other, secret])), 204)
    assert.equal(
      await send({ ...good, 'webhook-signature': `v2,x v1a,${signature.slice(3)} ${signature}` }),
      204,
    )
    const refused: [string, Record<string, string>, string?][] = [
      ['another secret', signed([other])],
      ['too old', signed([secret], -310)],
      ['from the future', signed([secret], 310)],
      ['another body', good, body.replace('é', 'e')],
      ['a space more', good, `${body} `],
      ['another id', { ...good, 'webhook-id': 'evt_2' }],
      ['another time', { ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) }],
      ['no time', { ...good, 'webhook-timestamp': 'NaN' }],
      ['another version', { ...good, 'webhook-signature': signature.replace('v1', 'v2') }],
      ['a part', { ...good, 'webhook-signature': signature.slice(0, -1) }],
      ['more than it', { ...good, 'webhook-signature': `${signature}=` }],
      ['nothing', { ...good, 'webhook-signature': 'v1,' }],
      ['bytes beyond ASCII', { ...good, 'webhook-signature': 'v1,\u00e9' }],
      ['no id', without('webhook-id')],
      ['no timestamp', without('webhook-timestamp')],
      ['no signature', without('webhook-signature')],
    ]
    for (const [name, headers, sent] of refused) assert.equal(await send(headers, sent), 400, name)

    assert.doesNotMatch(await sendRaw(port, ['Content-Length: 100'], '{"i'), /^HTTP\S+ 204/)
    assert.equal(await send(good), 204, 'half a request ended it')
    const endless = JSON.stringify({
      id: 'evt_1',
      type: 'payment.created',
      data: { id: 'x'.repeat(2_000_000) },
    })
    const about = signatureHeaders({ id: 'evt_1', at: new Date(), body: endless }, [secret])
    const head = Object.entries(about).map(([name, value]) => `${name}: ${value}`)
    const told = await sendRaw(port, [...head, `Content-Length: ${endless.length}`], endless)
    assert.doesNotMatch(told, /^HTTP\S+ 204/, 'there is no bound')
    assert.equal(await send(good), 204, 'too much ended it')
    assert.equal(child.exitCode, null)
    child.kill('SIGTERM')
    await once(child, 'exit')
  })

  test(`the receiver in ${language} does not run on a secret that is none`, async () => {
    const path = join(folder, `secret-${file}`)
    await writeFile(path, program)
    for (const unusable of NO_SECRETS) await refusesSecret(unusable, start, path)
  })
}
