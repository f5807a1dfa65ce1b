/** Packed answers: unpacked for who reads them whole, and never beyond what was asked for. And answers that are taken piece by piece. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { after } from 'node:test'
import { setTimeout as pause, setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { exchange, NoAnswer } from './http.ts'

const MEGABYTE = 1_048_576
const bodies: Readonly<Record<string, Buffer>> = {
  '/packed': gzipSync('{"price":"7"}'),
  '/bomb': gzipSync(Buffer.alloc(64 * MEGABYTE)),
  '/broken': Buffer.from('not packed at all'),
}

const LONG = Buffer.alloc(32 * MEGABYTE, 'the whole of it, ')
/** Whether the last of it left the server. */
let isSent = false

const server = createServer((request, response) => {
  isSent = false
  if (request.url === '/long') response.end(LONG, () => (isSent = true))
  else response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies[request.url ?? ''])
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => {
  server.close()
  server.closeAllConnections()
})

const ask = (path: string, bytesKept?: number) =>
  exchange({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
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

const takeLong = (take: (piece: Buffer) => void | Promise<void>, more = {}) =>
  exchange({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/long`,
    timeoutMs: 10_000,
    bytesMax: LONG.length,
    take,
    ...more,
  })

test('pieces come in their order, one when the one before was taken, and who sends them waits', async () => {
  const pieces: Buffer[] = []
  let underWay = 0
  let isHeld = true
  const { status, body, isWhole } = await takeLong(async (piece) => {
    underWay += 1
    assert.equal(underWay, 1)
    if (isHeld) {
      await pause(200)
      assert.equal(isSent, false)
      isHeld = false
    }
    await setImmediate()
    pieces.push(piece)
    underWay -= 1
  })
  assert.deepEqual([status, isWhole, body.length], [200, true, 0])
  assert.ok(pieces.length > 10)
  assert.ok(Buffer.concat(pieces).equals(LONG))
})

test('who closes the connection behind an answer that is still being taken has given it whole', async () => {
  const pieces: Buffer[] = []
  const { isWhole } = await takeLong(
    async (piece) => {
      await pause(pieces.length === 0 ? 200 : 0)
      pieces.push(piece)
    },
    { headers: { connection: 'close' } },
  )
  assert.equal(isWhole, true)
  assert.ok(Buffer.concat(pieces).equals(LONG))
})

test('what the taker of pieces throws ends the exchange, and so do its time and too much of an answer', async () => {
  const odd = new Error('not what was asked for')
  let pieces = 0
  await assert.rejects(
    takeLong(() => {
      pieces += 1
      throw odd
    }),
    odd,
  )
  assert.equal(pieces, 1)
  await assert.rejects(
    takeLong(() => pause(20), { timeoutMs: 100 }),
    /did not answer within 0.1 s/,
  )
  let taken = 0
  const sum = (piece: Buffer) => {
    taken += piece.length
  }
  await assert.rejects(takeLong(sum, { bytesMax: MEGABYTE }), /sent more than 1048576 bytes/)
  assert.ok(taken > 0 && taken <= MEGABYTE)
})
