import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import test, { after } from 'node:test'
import { gzipSync } from 'node:zlib'
import { selfSigned } from '../../test/certificate.ts'
import { openSender, type SenderOptions } from './send.ts'

const certificate = selfSigned(['localhost', '127.0.0.1'])

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

const http = async (listener: RequestListener) =>
  `http://127.0.0.1:${await listening(createServer(listener))}/hook`
const https = async (listener: RequestListener, keys = certificate) =>
  await listening(createTlsServer(keys, listener))

/** Longer than a busy machine takes. */
const PATIENT_MS = 30_000

function sending(options: Partial<SenderOptions> = {}) {
  const sender = openSender({ allowPrivate: true, timeoutMs: PATIENT_MS, ...options })
  after(() => sender.close())
  return (url: string, signal?: AbortSignal) =>
    sender.send(
      { url, headers: { 'webhook-id': 'evt_1', 'content-type': 'application/json' }, body: '{"é":1}' },
      signal,
    )
}

test('a message arrives as it was given, and the answer comes back with its first bytes', async () => {
  const seen: unknown[] = []
  const url = await http(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    const { 'webhook-id': id, 'content-type': type, 'content-length': length } = request.headers
    seen.push({ method: request.method, url: request.url, id, type, length, body })
    response.writeHead(503, { 'retry-after': '7' }).end(`no\0${'x'.repeat(5_000)}`)
  })
  const outcome = await sending()(`${url}?a=b#c`)
  assert.deepEqual(outcome, {
    kind: 'answered',
    status: 503,
    retryAfter: '7',
    start: `no\u{FFFD}${'x'.repeat(1_021)}`,
  })
  assert.deepEqual(seen, [
    { method: 'POST', url: '/hook?a=b', id: 'evt_1', type: 'application/json', length: '8', body: '{"é":1}' },
  ])
})

test('a receiver that packs its answer, well or badly, has answered; what is kept of it stays packed', async () => {
  const packed = gzipSync('{"received":true}')
  const bomb = gzipSync(Buffer.alloc(64 * 1_048_576))
  const send = sending()
  for (const body of [packed, bomb, Buffer.from('not packed at all'), Buffer.alloc(0)]) {
    const url = await http((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body))
    const outcome = await send(url)
    assert.equal(outcome?.kind === 'answered' && outcome.status, 200)
    const start = body.subarray(0, 1_024).toString('utf8').replaceAll('\0', '\u{FFFD}')
    assert.equal(outcome?.kind === 'answered' && outcome.start, start)
  }
})

test('a redirect is an answer, not a way to elsewhere', async () => {
  let elsewhere = 0
  const target = await http((_, response) => {
    elsewhere += 1
    response.end()
  })
  const url = await http((_, response) => response.writeHead(307, { location: target }).end())
  const outcome = await sending()(url)
  assert.equal(outcome?.kind === 'answered' && outcome.status, 307)
  assert.equal(elsewhere, 0)
})

test('the deadline holds for the whole exchange, wherever it stalls', async (t) => {
  const drips = (head: string) => async () => {
    const port = await listening(
      createTcpServer((socket: Socket) => {
        socket.write(head)
        const dripping = setInterval(() => socket.write('x'), 20)
        socket.on('error', () => {}).on('close', () => clearInterval(dripping))
      }),
    )
    return `127.0.0.1:${port}`
  }
  const stalls: Record<string, { scheme: string; host: () => Promise<string>; status: number | null }> = {
    'in silence': {
      scheme: 'http',
      host: async () => `127.0.0.1:${await listening(createTcpServer())}`,
      status: null,
    },
    'in the TLS handshake': {
      scheme: 'https',
      host: async () => `127.0.0.1:${await listening(createTcpServer())}`,
      status: null,
    },
    'in the headers': { scheme: 'http', host: drips('HTTP/1.1 200 OK\r\nx-slow: '), status: null },
    'in the body': { scheme: 'http', host: drips('HTTP/1.1 200 OK\r\n\r\n'), status: 200 },
    'in the name server': { scheme: 'http', host: async () => 'slow.example', status: null },
  }
  const send = sending({
    timeoutMs: 300,
    resolve: (name) => (name === 'slow.example' ? new Promise(() => {}) : Promise.resolve(['127.0.0.1'])),
  })
  for (const [name, { scheme, host, status }] of Object.entries(stalls)) {
    await t.test(name, async () => {
      const began = performance.now()
      const outcome = await send(`${scheme}://${await host()}/`)
      const tookMs = performance.now() - began
      assert.deepEqual(outcome, {
        kind: 'unanswered',
        status,
        error: 'no complete answer within 0.3 seconds',
      })
      assert.ok(tookMs >= 290 && tookMs < 2_000, `${tookMs} ms`)
    })
  }
})

test('of an endless answer only so much is read, and its status decides', async () => {
  let written = 0
  const url = await http((_, response) => {
    const chunk = Buffer.alloc(16 * 1_024, 'x')
    const pour = () => {
      while (!response.destroyed) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', pour)
      }
    }
    pour()
  })
  const outcome = await sending()(url)
  assert.ok(outcome?.kind === 'answered' && outcome.status === 200)
  assert.equal(outcome.start.length, 1_024)
  assert.ok(written < 8 * 1_024 * 1_024)
})

test('what a broken receiver does is told in a sentence', async (t) => {
  const port = async (behave: (socket: Socket) => void) =>
    await listening(createTcpServer((socket) => behave(socket.on('error', () => {}))))
  const closed = createTcpServer()
  const closedPort = await listening(closed)
  closed.close()
  const cases: readonly [name: string, url: string, error: RegExp][] = [
    ['nobody listens', `http://127.0.0.1:${closedPort}/`, /^the connection was refused$/],
    [
      'reset',
      `http://127.0.0.1:${await port((socket) => socket.once('data', () => socket.resetAndDestroy()))}/`,
      /^the connection was reset$/,
    ],
    [
      'reset amid the body',
      `http://127.0.0.1:${await port((socket) =>
        socket.once('data', () =>
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', () => socket.resetAndDestroy()),
        ),
      )}/`,
      /^the connection was reset$/,
    ],
    [
      'not HTTP',
      `http://127.0.0.1:${await port((socket) => socket.end('SSH-2.0-x\r\n\r\n'))}/`,
      /Parse Error/,
    ],
    [
      'a switch of protocols',
      `http://127.0.0.1:${await port((socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')),
      )}/`,
      /closed before an answer|reset/,
    ],
    [
      'endless headers',
      `http://127.0.0.1:${await port((socket) => socket.write(`HTTP/1.1 200 OK\r\na: ${'x'.repeat(100_000)}`))}/`,
      /overflow/i,
    ],
    ['a name that is not known', 'http://nowhere.invalid/', /nowhere\.invalid has no address/],
    ['a URL that is none', 'nonsense', /cannot be read/],
  ]
  const send = sending({ resolve: async () => [] })
  for (const [name, url, error] of cases) {
    await t.test(name, async () => {
      const outcome = await send(url)
      assert.ok(outcome?.kind === 'unanswered')
      assert.match(outcome.error, error)
    })
  }
})

test('TLS is checked: a known authority, the right name, in time', async (t) => {
  const answer: RequestListener = (_, response) => response.end('ok')
  const good = await https(answer)
  const trusting = sending({ ca: certificate.cert, resolve: async () => ['127.0.0.1'] })

  await t.test('a good certificate is taken', async () => {
    const outcome = await trusting(`https://localhost:${good}/`)
    assert.ok(outcome?.kind === 'answered' && outcome.status === 200, JSON.stringify(outcome))
  })
  await t.test('an unknown authority is not, whatever the environment says', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    const outcome = await sending()(`https://127.0.0.1:${good}/`)
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    assert.ok(outcome?.kind === 'unanswered')
    assert.match(outcome.error, /self-signed/)
  })
  await t.test('another name is not', async () => {
    const outcome = await trusting(`https://other.example:${good}/`)
    assert.ok(outcome?.kind === 'unanswered')
    assert.match(outcome.error, /ERR_TLS_CERT_ALTNAME_INVALID/)
  })
  await t.test('an expired certificate is not', async () => {
    const expired = selfSigned(['localhost'], new Date(Date.now() - 60_000))
    const port = await https(answer, expired)
    const outcome = await sending({ ca: expired.cert })(`https://localhost:${port}/`)
    assert.ok(outcome?.kind === 'unanswered')
    assert.match(outcome.error, /CERT_HAS_EXPIRED/)
  })
})

test('only public addresses are connected to, whatever names resolve to', async (t) => {
  let reached = 0
  const port = await https((_, response) => {
    reached += 1
    response.end()
  })
  const open = (addresses: readonly string[]) =>
    sending({ allowPrivate: false, ca: certificate.cert, resolve: async () => addresses })
  for (const addresses of [
    ['127.0.0.1'],
    ['::ffff:127.0.0.1'],
    ['0.0.0.0'],
    ['::'],
    ['::1', '169.254.169.254'],
  ]) {
    await t.test(`a name for ${addresses.join(' and ')}`, async () => {
      const outcome = await open(addresses)(`https://localhost:${port}/`)
      assert.deepEqual(outcome, {
        kind: 'unanswered',
        status: null,
        error: 'the address of the host is not on the public internet',
      })
    })
  }
  for (const url of [
    `https://127.0.0.1:${port}/`,
    `https://[::ffff:7f00:1]:${port}/`,
    `https://2130706433:${port}/`,
  ]) {
    await t.test(`the literal ${url}`, async () => {
      const outcome = await open(['8.8.8.8'])(url)
      assert.ok(outcome?.kind === 'unanswered')
      assert.match(outcome.error, /not on the public internet/)
    })
  }
  await t.test('http', async () => {
    const outcome = await open(['8.8.8.8'])(`http://localhost:${port}/`)
    assert.ok(outcome?.kind === 'unanswered')
    assert.match(outcome.error, /not https/)
  })
  assert.equal(reached, 0)
})

test('a name is resolved once per connection, so that a second answer has nobody to lie to', async () => {
  const asked: string[] = []
  const send = sending({
    allowPrivate: false,
    resolve: async (name) => {
      asked.push(name)
      return ['127.0.0.1']
    },
  })
  for (const _ of [1, 2]) {
    const outcome = await send('https://rebinding.example/')
    assert.ok(outcome?.kind === 'unanswered')
    assert.match(outcome.error, /not on the public internet/)
  }
  assert.deepEqual(asked, ['rebinding.example', 'rebinding.example'])
})

test('connections are kept, and one that the receiver closed meanwhile is replaced without a failure', async () => {
  let connections = 0
  const server = createServer((_, response) => response.end('ok'))
  server.on('connection', (socket) => {
    connections += 1
    // The second request on a connection is met by a reset.
    let requests = 0
    socket.on('data', () => {
      requests += 1
      if (requests === 3) socket.resetAndDestroy()
    })
  })
  const url = `http://127.0.0.1:${await listening(server)}/`
  const send = sending()
  for (const _ of [1, 2, 3, 4]) {
    const outcome = await send(url)
    assert.ok(outcome?.kind === 'answered' && outcome.status === 200, JSON.stringify(outcome))
  }
  assert.ok(connections >= 2 && connections <= 3, String(connections))
})

test('a signal cuts an exchange off without an outcome', async () => {
  const url = `http://127.0.0.1:${await listening(createTcpServer())}/`
  const controller = new AbortController()
  const sent = sending()(url, controller.signal)
  controller.abort()
  assert.equal(await sent, null)
  assert.equal(await sending()(url, controller.signal), null)
})
