/** Packed answers: unpacked for who reads them whole, and never beyond what was asked for. And answers that are taken piece by piece. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { after } from 'node:test'
import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Connections, exchange, type HttpRequest, NoAnswer, openConnections } from './http.ts'

const MEGABYTE = 1_048_576
const bodies: Readonly<Record<string, Buffer>> = {
  '/packed': gzipSync('{"price":"7"}'),
  '/bomb': gzipSync(Buffer.alloc(64 * MEGABYTE)),
  '/broken': Buffer.from('not packed at all'),
}

const LONG = Buffer.alloc(8 * MEGABYTE, 'the whole of it, ')
const SMALL_CHUNKS = 4_096
/** Whether the last of it left the server. */
let isSent = false
/** What was asked for, in order. */
const asked: string[] = []

const server = createServer((request, response) => {
  const path = request.url ?? ''
  asked.push(path)
  isSent = false
  if (path === '/long') response.end(LONG, () => (isSent = true))
  else if (path === '/small' || path === '/few') {
    const size = MEGABYTE / SMALL_CHUNKS
    for (let n = 0; n < (path === '/few' ? 20 : SMALL_CHUNKS); n++)
      response.write(LONG.subarray(n * size, (n + 1) * size))
    response.end()
  } else if (path === '/full') response.writeHead(503).end('full')
  else if (path === '/next') setTimeout(() => response.end('next'), 100)
  else if (path === '/reset') {
    for (let n = 0; n < 3; n++) response.write(LONG.subarray(0, 10_000))
    response.end(() => setTimeout(() => (response.socket ?? request.socket).resetAndDestroy(), 30))
  } else response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies[path])
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => {
  server.close()
  server.closeAllConnections()
})

const urlOf = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`

const ask = (path: string, bytesKept?: number) =>
  exchange({
    url: urlOf(path),
    timeoutMs: 10_000,
    bytesMax: MEGABYTE,
    ...(bytesKept === undefined ? {} : { bytesKept }),
  })

test('a packed answer is read as what was packed', async () => {
  assert.equal((await ask('/packed')).body.toString(), '{"price":"7"}')
})

test('an answer that unpacks to more than was to be read, or to nothing, is no answer', async () => {
  assert.ok((bodies['/bomb']?.length ?? 0) < MEGABYTE, 'small enough on the wire')
  for (const path of ['/bomb', '/broken'])
    await assert.rejects(
      ask(path),
      (error) =>
        error instanceof NoAnswer && error.status === 200 && /wrongly or too well/.test(error.message),
      path,
    )
})

test('who keeps the first bytes of an answer keeps them as they came', async () => {
  for (const path of Object.keys(bodies)) {
    const { status, body } = await ask(path, 1_024)
    assert.equal(status, 200)
    assert.deepEqual(body, bodies[path]?.subarray(0, 1_024), path)
  }
})

/** Each of them kept open, and closed by who is asked. */
const KINDS = {
  kept: openConnections({ idleMs: 5_000, perHostMax: 1 }),
  single: undefined,
}
after(() => KINDS.kept.close())

const take = (
  path: string,
  onPiece: (piece: Buffer) => void | Promise<void>,
  more: Partial<HttpRequest> = {},
) => exchange({ url: urlOf(path), timeoutMs: 10_000, bytesMax: LONG.length, onPiece, ...more })

const next = async (connections: Connections | undefined) =>
  (
    await exchange({
      url: urlOf('/next'),
      timeoutMs: 5_000,
      bytesMax: 100,
      ...(connections && { connections }),
    })
  ).body.toString()

for (const [kind, connections] of Object.entries(KINDS)) {
  const with_ = connections ? { connections } : {}

  test(`${kind}: pieces come in their order, one when the one before was taken, and who sends waits`, async () => {
    const pieces: Buffer[] = []
    let underWay = 0
    const { status, body, isWhole } = await take(
      '/long',
      async (piece) => {
        underWay += 1
        assert.equal(underWay, 1)
        if (pieces.length === 0) {
          await pause(200)
          assert.equal(isSent, false)
        }
        await setImmediate()
        pieces.push(piece)
        underWay -= 1
      },
      with_,
    )
    assert.deepEqual([status, isWhole, body.length], [200, true, 0])
    assert.ok(pieces.length > 10)
    assert.ok(Buffer.concat(pieces).equals(LONG))
    assert.equal(await next(connections), 'next')
  })

  test(`${kind}: an answer in small chunks is taken whole`, async () => {
    const pieces: Buffer[] = []
    await take(
      '/small',
      async (piece) => {
        await setImmediate()
        pieces.push(piece)
      },
      with_,
    )
    assert.ok(Buffer.concat(pieces).equals(LONG.subarray(0, MEGABYTE)))
  })

  test(`${kind}: an answer that came whole is taken whole, though its connection is reset meanwhile`, async () => {
    let taken = 0
    const { isWhole } = await take(
      '/reset',
      async (piece) => {
        await pause(60)
        taken += piece.length
      },
      with_,
    )
    assert.deepEqual([isWhole, taken], [true, 30_000])
  })

  test(`${kind}: what the taker of pieces throws ends the exchange, and so do its time and too much of an answer`, async () => {
    const odd = new Error('not what was asked for')
    let pieces = 0
    const count = () => {
      pieces += 1
    }
    await assert.rejects(
      take(
        '/long',
        () => {
          count()
          throw odd
        },
        with_,
      ),
      odd,
    )
    assert.equal(pieces, 1)
    await assert.rejects(
      take('/long', count, { ...with_, bytesMax: MEGABYTE }),
      /sent more than 1048576 bytes/,
    )
    for (const path of ['/long', '/small', '/few']) {
      pieces = 0
      const late = take(
        path,
        async () => {
          count()
          await pause(30)
        },
        { ...with_, timeoutMs: 100 },
      )
      await assert.rejects(late, /did not answer within 0.1 s/)
      const until = pieces
      await pause(100)
      assert.equal(pieces, until, 'nothing is given any more')
    }
    assert.equal(await next(connections), 'next')
  })

  test(`${kind}: pieces of a packed answer are not taken`, async () => {
    await assert.rejects(
      take('/packed', () => assert.fail('a piece'), with_),
      (error) => error instanceof NoAnswer && error.status === 200 && /packed/.test(error.message),
    )
  })
}

test('who waits for the connection of an answer of 503 has another one, and is asked once', async () => {
  asked.length = 0
  const [full, other] = await Promise.all([
    take('/full', () => pause(50), { connections: KINDS.kept }),
    next(KINDS.kept),
  ])
  assert.deepEqual([full.status, other, asked], [503, 'next', ['/full', '/next']])
})
