/** What strangers do to a server: floods, answers nobody takes, heads that never end. 127.0.0.2 and on are strangers. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { testMerchant, UNLIMITED } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { waitFor } from '../../test/wait-for.ts'
import { networksAround } from '../core/networks.ts'
import { type AppOptions, buildApp } from './app.ts'
import { CONNECTION_LIMITS, createLimitedServer, type Door } from './connections.ts'

const gateway = await testGateway()
const merchant = await testMerchant(gateway.db)

interface Served {
  readonly app: FastifyInstance
  readonly port: number
  /** Paths that reached a route. */
  readonly seen: string[]
}

/** Refusals are counted by the minute: a clock whose minute has just begun when the server is made. */
function freshMinute(): () => number {
  const begun = performance.now()
  return () => performance.now() - begun
}

async function serve(options: AppOptions = {}, prepare = (_app: FastifyInstance) => {}): Promise<Served> {
  const app = await buildApp(gateway, { rateLimit: UNLIMITED, addressClock: freshMinute(), ...options })
  const seen: string[] = []
  app.addHook('onRequest', async ({ url }) => {
    seen.push(url)
  })
  prepare(app)
  await app.listen({ port: 0, host: '127.0.0.1' })
  after(() => app.close())
  const address = app.server.address()
  assert.ok(address && typeof address === 'object')
  return { app, port: address.port, seen }
}

/** A connection from an address of this machine. */
async function open(port: number, localAddress = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

async function readToEnd(socket: Socket): Promise<string> {
  let text = ''
  for await (const chunk of socket.setEncoding('latin1')) text += chunk
  return text
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`

/** Asks once, on a connection of its own. @returns The status; null when the connection was refused. */
async function ask(port: number, from: string, path = '/livez', headers = ''): Promise<number | null> {
  const socket = await open(port, from)
  socket.write(get(path, `Connection: close\r\n${headers}`))
  const answer = await readToEnd(socket).catch(() => '')
  return answer === '' ? null : Number(answer.slice(9, 12))
}

test('320 kB of requests sent at once and reset: next to nothing of it is done, and the next request is answered', async () => {
  const { app, port, seen } = await serve()
  let requests = 0
  app.server.on('request', () => (requests += 1))
  const flood = get('/openapi.json').repeat(Math.ceil(320_000 / get('/openapi.json').length))
  for (let time = 0; time < 5; time++) {
    const stranger = await open(port, '127.0.0.2')
    await new Promise<void>((resolve) => stranger.write(flood, () => resolve()))
    stranger.resetAndDestroy()
  }
  assert.equal(await ask(port, '127.0.0.1'), 200)
  assert.ok(seen.length <= 5 * 17 + 1, `${seen.length} requests of a flood were served`)
  // The eighteenth is the last that its parser makes.
  assert.ok(requests <= 5 * 18 + 1, `${requests} requests of a flood were made out of its bytes`)
})

test('who floods one connection after the other is not let in for a while; his neighbour is', async () => {
  const { port } = await serve()
  const flood = get('/openapi.json').repeat(1_000)
  for (let time = 0; time < 4; time++) {
    assert.equal(await ask(port, '127.0.0.2'), 200)
    const stranger = await open(port, '127.0.0.2')
    stranger.write(flood)
    await readToEnd(stranger).catch(() => '')
  }
  assert.equal(await ask(port, '127.0.0.2'), null)
  assert.equal(await ask(port, '127.0.0.3'), 200)
})

/** Sends, resets, and only then makes the file that its last argument names. */
const RESETTING = `
  const [port, text, file] = process.argv.slice(1)
  const socket = require('node:net').connect({ port, host: '127.0.0.1', localAddress: '127.0.0.8' })
  socket.write(text, () => socket.resetAndDestroy())
  socket.on('close', () => require('node:fs').writeFileSync(file, ''))`

test('what was sent over a connection that was reset before it was taken is not read', async () => {
  const { app, port } = await serve()
  let connections = 0
  let requests = 0
  app.server.on('connection', () => (connections += 1)).on('request', () => (requests += 1))
  const folder = await mkdtemp(join(tmpdir(), 'beck-reset-'))
  after(() => rm(folder, { recursive: true }))
  const isReset = join(folder, 'reset')
  const child = spawn(process.execPath, ['-e', RESETTING, String(port), get('/livez').repeat(1_000), isReset])
  await once(child, 'spawn')
  // The server is busy meanwhile.
  const clock = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; !existsSync(isReset); waits++) {
    assert.ok(waits < 3_000, 'nobody connected and reset')
    Atomics.wait(clock, 0, 0, 10)
  }
  await once(child, 'close')
  assert.equal(await ask(port, '127.0.0.9'), 200)
  assert.deepEqual({ connections, requests }, { connections: 2, requests: 1 })
})

test('whatever somebody expects of a request, it stands in the queue and before the door as any other', async () => {
  const { port, seen } = await serve()
  for (const expectation of ['200-maybe', '100-continue', '']) {
    seen.length = 0
    const stranger = await open(port, '127.0.0.2')
    stranger.write(get('/livez', `Expect: ${expectation}\r\n`).repeat(1_000))
    const answers = await readToEnd(stranger).catch(() => '')
    assert.ok(seen.length <= 17, `${seen.length} requests that expect "${expectation}" were served`)
    assert.doesNotMatch(answers, /417/)
  }
  const socket = await open(port)
  socket.write(get('/livez', 'Expect: 200-maybe\r\nConnection: close\r\n'))
  const answer = await readToEnd(socket)
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(answer, /content-security-policy: default-src 'none'/i)
})

test('requests behind one another are answered in order, one at a time', async () => {
  let running = 0
  const { port } = await serve({}, (app) => {
    app.get('/slow/:id', async (request) => {
      running += 1
      assert.equal(running, 1)
      await new Promise(setImmediate)
      running -= 1
      return (request.params as { id: string }).id
    })
  })
  const socket = await open(port)
  const ids = Array.from({ length: 16 }, (_, id) => `slow-${id}`)
  const last = ids.length - 1
  socket.write(ids.map((id, n) => get(`/slow/${id}`, n === last ? 'Connection: close\r\n' : '')).join(''))
  assert.deepEqual((await readToEnd(socket)).match(/slow-\d+/g), ids)
})

test('the rest of a body whose request was answered before it was there has to come at some speed', async () => {
  const { port } = await serve({ connectionLimits: { restMs: 300, restBytes: 1_000 } })
  /** @returns What was answered, and how long the connection lasted. */
  const send = async (bytes: number) => {
    const socket = await open(port, '127.0.0.2')
    const begun = performance.now()
    const type = 'Content-Type: application/json\r\nContent-Length: 20000\r\n'
    socket.write(`POST /v1/payments HTTP/1.1\r\nHost: x\r\n${type}\r\n`)
    let [answer, rest] = ['', 20_000]
    socket.setEncoding('latin1').on('data', (text) => {
      answer += text
    })
    const sending = setInterval(() => {
      const count = Math.min(bytes, rest)
      rest -= count
      if (count > 0) socket.write(' '.repeat(count))
      else if (!socket.writableEnded) socket.end(get('/livez'))
    }, 20)
    await once(socket, 'close')
    clearInterval(sending)
    return { answers: answer.match(/HTTP\/1\.1 \d+/g), lasted: performance.now() - begun }
  }
  const slow = await send(1)
  assert.deepEqual(slow.answers, ['HTTP/1.1 401'])
  assert.ok(slow.lasted < 5_000, `it was read for ${slow.lasted} ms`)
  // Who is slow and goes on keeps his connection.
  const steady = await send(400)
  assert.deepEqual(steady.answers, ['HTTP/1.1 401', 'HTTP/1.1 200'])
  assert.ok(steady.lasted > 600, `${steady.lasted} ms are no test`)
})

test('an upload that its client breaks off is no failure of Beck', async () => {
  const statuses: number[] = []
  let isRead = false
  const { port } = await serve({}, (app) => {
    app.addHook('preParsing', async () => {
      isRead = true
    })
    app.addHook('onSend', async (_request, { statusCode }) => void statuses.push(statusCode))
  })
  const socket = await open(port)
  const headers = `X-API-Key: ${merchant.key}\r\nContent-Type: application/json\r\nContent-Length: 100`
  socket.write(`POST /v1/payments HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n{"`)
  await waitFor('its body is being read', async () => isRead || null)
  socket.destroy()
  await waitFor('it is over', async () => statuses.length > 0 || null)
  assert.deepEqual(statuses, [400])
})

test('what somebody asked for who has gone is not begun', async () => {
  const first = Promise.withResolvers<void>()
  const { app, port, seen } = await serve({}, (app) => {
    app.get('/held', async () => first.promise)
  })
  const socket = await open(port)
  socket.write(get('/held') + get('/livez').repeat(5))
  await waitFor('the first is being served', async () => seen.length === 1 || null)
  socket.resetAndDestroy()
  await waitFor('the server saw him go', async () => (await connectionsOf(app)) === 0 || null)
  first.resolve()
  assert.equal(await ask(port, '127.0.0.1'), 200)
  assert.deepEqual(seen, ['/held', '/livez'])
})

const connectionsOf = (app: FastifyInstance): Promise<number> =>
  new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

test('who does not take his answer is cut off', async () => {
  const { app, port } = await serve({ connectionLimits: { unreadMs: 100 } }, (app) => {
    app.get('/large', async () => Buffer.alloc(64 * 1024 * 1024))
  })
  const socket = await open(port)
  socket.pause()
  socket.write(get('/large'))
  await waitFor('his connection is gone', async () => (await connectionsOf(app)) === 0 || null)
})

test('a head that never ends is not waited for', async () => {
  const { port } = await serve({ connectionLimits: { headMs: 100, requestMs: 200 } })
  const socket = await open(port)
  socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n')
  assert.match(await readToEnd(socket), /^HTTP\/1.1 408 /)
  const silent = await open(port)
  assert.match(await readToEnd(silent), /^HTTP\/1.1 408 /)
})

test('a request without a host is refused, and those behind it', async () => {
  const { port, seen } = await serve()
  const socket = await open(port)
  socket.write('GET /livez HTTP/1.1\r\n\r\n'.repeat(10_000))
  assert.match(await readToEnd(socket).catch(() => 'HTTP/1.1 400 '), /^HTTP\/1.1 400 /)
  assert.equal(seen.length, 0)
})

test('a connection serves so many requests and is then made anew', async () => {
  const { port } = await serve({ connectionLimits: { requests: 3 } })
  const socket = await open(port)
  for (let i = 0; i < 2; i++) {
    socket.write(get('/livez'))
    const [answer] = await once(socket, 'data')
    assert.doesNotMatch(String(answer), /connection: close/i)
  }
  socket.write(get('/livez'))
  assert.match(await readToEnd(socket), /connection: close/i)
})

test('a stranger who floods is refused, then not listened to; everybody else is served', async () => {
  const { port, seen } = await serve({ addressRateLimit: { perSecond: 1 / 3_600, burst: 10 } })
  const statuses: (number | null)[] = []
  for (let i = 0; i < 25; i++) statuses.push(await ask(port, '127.0.0.2'))
  assert.deepEqual(statuses, [...Array(10).fill(200), ...Array(5).fill(429), ...Array(10).fill(null)])
  assert.equal(await ask(port, '127.0.0.3'), 200)
  assert.equal(await ask(port, '127.0.0.1'), 200)
  assert.equal(seen.length, 12)
})

test('what a stranger who floods has opened and not used is ended with it; what was asked over is not, nor is a neighbour’s', async () => {
  const { port, seen } = await serve({ addressRateLimit: { perSecond: 1 / 3_600, burst: 10 } })
  const [used, silent, neighbour] = [
    await open(port, '127.0.0.10'),
    await open(port, '127.0.0.10'),
    await open(port, '127.0.0.11'),
  ]
  used.write(get('/'))
  await once(used, 'data')
  for (let i = 0; i < 13; i++) await ask(port, '127.0.0.10')
  await delay(50)
  assert.ok(!silent.resume().destroyed && !neighbour.resume().destroyed)
  const ended = once(silent, 'close')
  assert.equal(await ask(port, '127.0.0.10'), 429)
  await ended
  await delay(50)
  assert.ok(!used.destroyed && !neighbour.destroyed)
  assert.equal(seen.length, 10)
})

test('what cannot be read counts as a request: a stranger who floods with it is not listened to; a trusted proxy is', async () => {
  const { port } = await serve({
    addressRateLimit: { perSecond: 1 / 3_600, burst: 10 },
    trustProxy: '127.0.0.13',
  })
  const blurt = async (from: string): Promise<number | null> => {
    const socket = await open(port, from)
    socket.write('\x16\x03\x01\x02 nothing of HTTP\r\n\r\n')
    const answer = await readToEnd(socket).catch(() => '')
    return answer === '' ? null : Number(answer.slice(9, 12))
  }
  const silent = await open(port, '127.0.0.12')
  const statuses: (number | null)[] = []
  for (let i = 0; i < 10; i++) statuses.push(await blurt('127.0.0.12'))
  assert.deepEqual(statuses, Array(10).fill(400))
  assert.equal(await ask(port, '127.0.0.12'), 429)
  const ended = once(silent.resume(), 'close')
  for (let i = 0; i < 4; i++) assert.equal(await blurt('127.0.0.12'), null)
  await ended
  assert.equal(await ask(port, '127.0.0.12'), null, 'it is shut out')
  for (let i = 0; i < 30; i++) assert.equal(await blurt('127.0.0.13'), 400)
})

test('what cannot be read counts once, in however many pieces more of it comes', async () => {
  const { port } = await serve({ addressRateLimit: { perSecond: 1 / 3_600, burst: 10 } })
  const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.14', allowHalfOpen: true })
  socket.on('error', () => {}).setNoDelay(true)
  await once(socket, 'connect')
  socket.write('no HTTP\r\n\r\n')
  const [answer] = await once(socket, 'data')
  assert.match(String(answer), /^HTTP\/1.1 400 /)
  for (let piece = 0; piece < 30; piece++) {
    socket.write('and more of it')
    await delay(5)
  }
  assert.equal(await ask(port, '127.0.0.14'), 200)
  socket.destroy()
})

test('connections that sent what cannot be read leave room for those of the same host that ask', async () => {
  const { port } = await serve({ connectionLimits: { silentPerHost: 1 } })
  for (let time = 0; time < 3; time++) {
    const socket = await open(port, '127.0.0.15')
    socket.write('no HTTP\r\n\r\n')
    assert.match(await readToEnd(socket), /^HTTP\/1.1 400 /)
  }
  assert.equal(await ask(port, '127.0.0.15'), 200)
})

test('merchants who share an address are limited by their keys alone', async () => {
  const { port } = await serve({ addressRateLimit: { perSecond: 1 / 3_600, burst: 5 } })
  const key = `X-API-Key: ${merchant.key}\r\n`
  for (let i = 0; i < 30; i++) assert.equal(await ask(port, '127.0.0.4', '/v1/payments', key), 200)
  const wrong = 'X-API-Key: bk_test_wrong\r\n'
  for (let i = 0; i < 5; i++) assert.equal(await ask(port, '127.0.0.4', '/v1/payments', wrong), 401)
  assert.equal(await ask(port, '127.0.0.4', '/v1/payments', wrong), 429)
})

test('a key beyond its own limit costs its address, so nobody floods with a good one', async () => {
  const { port } = await serve({
    rateLimit: { perSecond: 1 / 3_600, burst: 1 },
    addressRateLimit: { perSecond: 1 / 3_600, burst: 5 },
  })
  const other = await testMerchant(gateway.db)
  const key = `X-API-Key: ${other.key}\r\n`
  const statuses: (number | null)[] = []
  for (let i = 0; i < 12; i++) statuses.push(await ask(port, '127.0.0.5', '/v1/payments', key))
  assert.deepEqual(statuses, [200, ...Array(8).fill(429), ...Array(3).fill(null)])
})

test('behind a trusted proxy every buyer has an address; what others forward means nothing', async () => {
  const addressRateLimit = { perSecond: 1 / 3_600, burst: 2 }
  const { port } = await serve({ addressRateLimit, trustProxy: '127.0.0.6' })
  const from = (proxy: string, forwarded: string) =>
    ask(port, proxy, '/livez', `X-Forwarded-For: ${forwarded}\r\n`)
  const both = ['203.0.113.1', '198.51.100.9, 203.0.113.1', 'nonsense, 203.0.113.1, 127.0.0.6']
  assert.deepEqual(
    await Promise.all(both.map((header) => from('127.0.0.6', header))).then((all) => all.sort()),
    [200, 200, 429],
  )
  assert.equal(await from('127.0.0.6', '203.0.113.2'), 200)
  const spoofed: (number | null)[] = []
  for (const host of [3, 4, 5]) spoofed.push(await from('127.0.0.7', `203.0.113.${host}`))
  assert.deepEqual(spoofed, [200, 200, 429])
})

test('of connections that ask nothing a host holds few, so that they do not run out all at once', async () => {
  const { port } = await serve({ connectionLimits: { silentPerHost: 2 } })
  const held = [await open(port, '127.0.0.8'), await open(port, '127.0.0.8')]
  assert.equal(await ask(port, '127.0.0.8'), null)
  assert.equal(await ask(port, '127.0.0.9'), 200)
  const [first] = held
  first?.write(get('/'))
  await once(first ?? assert.fail(), 'data')
  // It has asked, and stays open: there is room for another.
  assert.equal(await ask(port, '127.0.0.8'), 200)
  await open(port, '127.0.0.8')
  assert.equal(await ask(port, '127.0.0.8'), null)
  held[1]?.destroy()
  await waitFor('room', async () => ((await ask(port, '127.0.0.8')) === 200 ? true : null))
})

test('one host holds so many connections and no more', async () => {
  const { app, port } = await serve({ connectionLimits: { perHost: 3 } })
  const hosts: (string | undefined)[] = []
  app.server.on('connection', ({ remoteAddress }) => hosts.push(remoteAddress))
  const held = [await open(port, '127.0.0.8'), await open(port, '127.0.0.8'), await open(port, '127.0.0.8')]
  assert.equal(await ask(port, '127.0.0.8'), null)
  assert.equal(await ask(port, '127.0.0.9'), 200)
  // Of the fourth no socket was made: refusing thousands a second has to cost next to nothing.
  assert.deepEqual(hosts, ['127.0.0.8', '127.0.0.8', '127.0.0.8', '127.0.0.9'])
  held[0]?.destroy()
  await waitFor('room', async () => ((await ask(port, '127.0.0.8')) === 200 ? true : null))
})

/** 127.0.x.y stands for a host of IPv6 in a /48: x is its /56, y its /64. */
const asIPv6 = (address: string): readonly string[] => {
  const [, , network = 0, host = 0] = address.split('.').map(Number)
  return networksAround(`2001:db8:7:${((network << 8) | host).toString(16)}::1`)
}

for (const [limit, silentPerHost, perHost, asked] of [
  ['connections', 100, 2, get('/')],
  ['connections that ask nothing', 2, 100, ''],
] as const)
  test(`hosts of one /56 hold together as many ${limit} as two, and of one /48 as four`, async () => {
    const door: Door = {
      networksOf: asIPv6,
      turnAway: () => false,
      shutAmong: () => null,
      cutOff: () => {},
      takeOf: () => 0,
      admit: () => 0,
    }
    const limits = { ...CONNECTION_LIMITS, perHost, silentPerHost }
    const server = createLimitedServer((_request, response) => response.end(), door, {}, limits)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const held: Socket[] = []
    after(() => {
      for (const socket of held) socket.destroy()
      server.close()
    })
    /** @returns How many of them were let in. */
    const enter = async (hosts: readonly string[]): Promise<number> => {
      let count = 0
      server.on('connection', () => (count += 1))
      for (const host of hosts) {
        const socket = await open(port, host)
        held.push(socket)
        socket.write(asked)
        await Promise.race([once(socket, 'data'), once(socket, 'close'), delay(asked ? 1_000 : 20)])
      }
      return count
    }
    const inNetwork = (network: number) =>
      Array.from({ length: 8 }, (_, host) => `127.0.${network}.${host + 2}`)
    assert.equal(await enter(inNetwork(1)), 4)
    assert.equal(await enter(inNetwork(2)), 4)
    assert.equal(await enter([...inNetwork(3), ...inNetwork(4)]), 0)
    // Who goes makes room, for his own network and for another one of the site.
    held[0]?.destroy()
    await waitFor('room', async () => ((await enter(['127.0.5.2'])) === 1 ? true : null))
    assert.equal(await enter(inNetwork(1)), 0)
  })
