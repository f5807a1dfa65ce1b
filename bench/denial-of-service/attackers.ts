/** Those who want to stop Beck, one way at a time. Strangers come from 127.0.0.2 and have 10 Mbit/s together. */
import { randomBytes } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { newApiKey } from '../../src/accounts/api-key.ts'
import type { Attack, Effort, Target } from './protocol.ts'

const target: Target & { readonly key: string } = JSON.parse(process.argv[2] ?? '')

const STRANGER = '127.0.0.2'
const BYTES_PER_SECOND = 10_000_000 / 8
/** What making a connection and ending it sends, at least. */
const CONNECTION_BYTES = 240
/** What carries a single byte: the headers of IP and TCP, and the byte. */
const BYTE_BYTES = 41
const STEP_MS = 10
/** Somebody else's turn on the processors of this machine. */
const SAVED_MS = 100
const CONNECTIONS_MAX = 1_500
const KEY_PER_SECOND = 100
/** One after the other, each asked for 20 ms after the last was answered. */
const FARM_PER_SECOND = 30

let isRunning = false
const open = new Set<Socket>()
const newCount = () => ({
  connections: 0,
  connected: 0,
  /** Sent, and what could have been; of who has a key, requests. */
  bytes: 0,
  allowed: 0,
  requests: 0,
  answers: new Map<string, number>(),
})
let count = newCount()

function dial(onData?: (socket: Socket, text: string) => void): Socket {
  const socket = connect({ port: target.port, host: '127.0.0.1', localAddress: STRANGER })
  open.add(socket)
  count.connections += 1
  socket
    .on('error', () => {})
    .once('connect', () => {
      count.connected += 1
    })
    .once('close', () => open.delete(socket))
  if (onData) socket.setEncoding('latin1').on('data', (text: string) => onData(socket, text))
  else socket.resume()
  return socket
}

/**
 * Calls back again and again with what may be sent since the last time, as long as the attack runs. A line saves nothing up:
 * what was not sent in its time is lost, but for what the pauses of this process need; something longer than that goes when
 * there was time for all of it. What is left over because as many connections are open as it wants is not held against it.
 *
 * @param longest - Of what it sends at once, bytes.
 */
async function sendAtRate(
  spend: (bytes: number) => number,
  { openMax = CONNECTIONS_MAX, longest = 0 }: { openMax?: number; longest?: number } = {},
): Promise<void> {
  const saved = Math.max(longest, (SAVED_MS / 1_000) * BYTES_PER_SECOND)
  let budget = 0
  let last = performance.now()
  while (isRunning) {
    const now = performance.now()
    const earned = ((now - last) / 1_000) * BYTES_PER_SECOND
    count.allowed += earned
    budget = Math.min(saved, budget + earned)
    last = now
    const spent = spend(Math.floor(budget))
    budget -= spent
    count.bytes += spent
    if (open.size >= openMax) {
      count.allowed -= budget
      budget = 0
    }
    await new Promise((resolve) => setTimeout(resolve, STEP_MS))
  }
}

/** The same text, or one after the other, on connection after connection, each closed after it. */
const flood = (texts: Buffer | readonly Buffer[], end: (socket: Socket) => void) => async () => {
  const all = [texts].flat()
  let turn = 0
  const next = () => all[turn % all.length] ?? Buffer.alloc(0)
  const longest = Math.max(...all.map(({ length }) => length + CONNECTION_BYTES))
  await sendAtRate(
    (bytes) => {
      let spent = 0
      while (bytes - spent >= next().length + CONNECTION_BYTES && open.size < CONNECTIONS_MAX) {
        const socket = dial(noteAnswer)
        const text = next()
        turn += 1
        socket.write(text, () => end(socket))
        spent += text.length + CONNECTION_BYTES
      }
      return spent
    },
    { longest },
  )
}

const head = (method: string, path: string, headers = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: beck\r\n${headers}\r\n`

async function slowBodies(): Promise<void> {
  const begin = head('POST', '/v1/payments', 'content-type: application/json\r\ncontent-length: 60000\r\n')
  await sendAtRate(
    (bytes) => {
      let spent = 0
      while (open.size < 1_000 && bytes - spent > begin.length + CONNECTION_BYTES) {
        dial().write(begin)
        spent += begin.length + CONNECTION_BYTES
      }
      const last = [...open].at(-1)
      for (const socket of open) {
        if (bytes - spent < BYTE_BYTES) break
        socket.write(' ')
        spent += BYTE_BYTES
        // The last in line now: each gets its turn.
        open.delete(socket)
        open.add(socket)
        if (socket === last) break
      }
      return spent
    },
    { openMax: 1_000 },
  )
}

/** Requests on a connection each, five hundred at once. */
const ask = (one: () => string) => () =>
  sendAtRate(
    (bytes) => {
      let spent = 0
      for (
        let text = one();
        bytes - spent > text.length + CONNECTION_BYTES && open.size < 500;
        text = one()
      ) {
        dial(noteAnswer).write(text)
        spent += text.length + CONNECTION_BYTES
      }
      return spent
    },
    { openMax: 500 },
  )

const OWN_FORM = 'sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n'
const form = (path: string, body: string, headers = '') =>
  `${head('POST', path, `${OWN_FORM}${headers}content-length: ${body.length}\r\n`)}${body}`

/** As many fields as each form's bytes hold, said to come from the dashboard. */
const FORMS = [
  ['/dashboard/x/withdrawals/batches/check', 1_000_000],
  ['/dashboard/sign-in', 128 * 1024],
  ['/dashboard/sign-in', 16 * 1024],
  [`/checkout/cs_${'a'.repeat(26)}/coin`, 8 * 1024],
].map(([path, bytes]) => Buffer.from(form(String(path), 'a&'.repeat(Number(bytes) / 2))))

/** Each password costs what a right one does to look at. */
const wrongPassword = () =>
  form(
    '/dashboard/sign-in',
    `email=${randomBytes(8).toString('hex')}%40a.example&password=${randomBytes(16).toString('hex')}`,
    'connection: close\r\n',
  )

/** All the pages that one host may keep live, and then one refused after the other. */
async function streams(): Promise<void> {
  const { id } = await call('POST', '/checkout/sessions', { amount: 20, currency: 'USD' })
  if (!id) throw new Error('no session was made to look at')
  const text = head('GET', `/checkout/${id}/events`, 'accept: text/event-stream\r\n')
  await sendAtRate((bytes) => {
    let spent = 0
    while (bytes - spent >= text.length + CONNECTION_BYTES && open.size < CONNECTIONS_MAX) {
      dial(noteAnswer).write(text)
      spent += text.length + CONNECTION_BYTES
    }
    return spent
  })
}

const note = (status: string) => {
  count.requests += 1
  count.answers.set(status, (count.answers.get(status) ?? 0) + 1)
}

const noteAnswer = (_socket: Socket, text: string) => {
  if (text.startsWith('HTTP')) note(text.slice(9, 12))
}

/** As somebody with a good key. */
async function call(method: string, path: string, body?: object): Promise<{ id?: string; secret?: string }> {
  const answer = await fetch(`http://127.0.0.1:${target.port}/v1${path}`, {
    method,
    headers: { 'x-api-key': target.key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  note(String(answer.status))
  const { data } = (await answer.json()) as { data: { id?: string } | null }
  return data ?? {}
}

const NESTED = Object.fromEntries(
  Array.from({ length: 30 }, (_, n) => [`key${n}`, randomBytes(200).toString('hex')]),
)
/** What one request may cost, at its dearest. */
const DEAREST: readonly (() => Promise<unknown>)[] = [
  () =>
    call('POST', '/payments', {
      asset: 'LTC',
      fiat_amount: 20,
      metadata: NESTED,
      customer_email: `${randomBytes(100).toString('hex')}@a.example`,
    }),
  () => call('GET', `/payments?limit=100&filter_email=${'a%25_'.repeat(50)}`),
  () => call('GET', `/customers?limit=100&filter_email=${'%25a'.repeat(80)}&sort=total_spent`),
  () => call('GET', '/balance'),
  () => call('POST', '/sandbox/blocks', { network: 'litecoin', count: 100 }),
  () =>
    call('POST', '/webhooks', {
      url: 'http://127.0.0.1:1/x',
      events: Array.from({ length: 30_000 }, () => 'x'),
    }),
  () => call('POST', '/sandbox/reorg', { network: 'litecoin', depth: 5 }),
]

/** What somebody with a key asked for, of what he could have. */
function countAsked(requests: number, perSecond: number, began: number): void {
  count.bytes = requests
  count.allowed = ((performance.now() - began) / 1_000) * perSecond
}

async function keyAtLimit(): Promise<void> {
  const start = performance.now()
  let turn = 0
  const pending = new Set<Promise<unknown>>()
  while (isRunning) {
    const began = performance.now()
    for (let each = 0; each < KEY_PER_SECOND / 20 && pending.size < 600; each++) {
      const one = (DEAREST[turn++ % DEAREST.length] ?? DEAREST[0])?.().catch(() => note('none'))
      if (!one) break
      pending.add(one)
      one.finally(() => pending.delete(one))
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 50 - (performance.now() - began))))
    countAsked(turn, KEY_PER_SECOND, start)
  }
  await Promise.all(pending)
}

/** Fifty endpoints, all an account may have, take the connection and say nothing; each payment goes to all of them. */
async function silentFarm(): Promise<void> {
  const held = new Set<Socket>()
  const farm = createServer((socket) => {
    held.add(socket)
    socket
      .resume()
      .on('error', () => {})
      .once('close', () => held.delete(socket))
  })
  await new Promise<void>((resolve) => farm.listen(0, '127.0.0.1', resolve))
  const address = farm.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const endpoints: string[] = []
  for (let each = 0; each < 50; each++) {
    const url = `http://127.0.0.1:${port}/${each}`
    const { id } = await call('POST', '/webhooks', { url, events: ['payment.created'] })
    if (!id) throw new Error('an endpoint of the farm was not made')
    endpoints.push(id)
  }
  const start = performance.now()
  for (let asked = 1; isRunning; asked++) {
    await call('POST', '/payments', { asset: 'LTC', fiat_amount: 20 }).catch(() => note('none'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    countAsked(asked, FARM_PER_SECOND, start)
  }
  for (const id of endpoints) await call('DELETE', `/webhooks/${id}`)
  for (const socket of held) socket.destroy()
  farm.close()
}

const big = Buffer.concat([
  Buffer.from(head('POST', '/v1/payments', 'content-type: application/json\r\ncontent-length: 65000\r\n')),
  Buffer.alloc(65_000, '[1,'),
])

const ATTACKS: Readonly<Record<Attack, () => Promise<void>>> = {
  // Held open: as many as one host may have, and then one refused after the other.
  connections: () =>
    sendAtRate((bytes) => {
      let spent = 0
      while (bytes - spent >= CONNECTION_BYTES && open.size < CONNECTIONS_MAX) {
        dial()
        spent += CONNECTION_BYTES
      }
      return spent
    }),
  'slow-bodies': slowBodies,
  'big-bodies': flood(big, (socket) => socket.end()),
  pipelined: flood(Buffer.from(head('GET', '/openapi.json').repeat(1_000)), (socket) =>
    socket.resetAndDestroy(),
  ),
  // A client that speaks TLS where there is none, and worse.
  nonsense: flood(Buffer.concat([Buffer.from([22, 3, 1, 2, 0, 1]), randomBytes(4_000)]), (socket) =>
    socket.end(),
  ),
  'wrong-keys': ask(() =>
    head('GET', '/v1/payments', `connection: close\r\nx-api-key: ${newApiKey('test')}\r\n`),
  ),
  forms: flood(FORMS, (socket) => socket.end()),
  'sign-in': ask(wrongPassword),
  streams,
  pages: flood(Buffer.from(head('GET', `/checkout/cs_${'a'.repeat(26)}`, 'connection: close\r\n')), () => {}),
  'key-at-limit': keyAtLimit,
  'silent-farm': silentFarm,
}

const effort = (): Effort => {
  const answers = [...count.answers].map(([status, many]) => `${many} x ${status}`).join(', ')
  return {
    text: `the attack: ${count.connections} connections, ${(count.bytes / 1e6).toFixed(1)} MB${answers && `, answers ${answers}`}`,
    sentShare: count.allowed === 0 ? null : count.bytes / count.allowed,
    connectedShare: count.connections === 0 ? null : count.connected / count.connections,
    made: count.connected + count.requests,
  }
}

let attack: Promise<void> = Promise.resolve()
process.on('message', async (asked: { begin?: Attack; end?: true }) => {
  if (asked.begin) {
    count = newCount()
    isRunning = true
    attack = ATTACKS[asked.begin]()
  }
  if (asked.end) {
    isRunning = false
    await attack
    const done = effort()
    for (const socket of open) socket.destroy()
    process.send?.({ done })
  }
})
process.on('SIGTERM', () => process.exit(0))
// In a session of its own it hears of no key that ends the bench.
process.on('disconnect', () => process.exit(0))
process.send?.({ ready: true })
