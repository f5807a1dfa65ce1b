/** Packed answers: unpacked for who reads them whole, and never beyond what was asked for. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { after } from 'node:test'
import { gzipSync } from 'node:zlib'
import { exchange, NoAnswer } from './http.ts'

const MEGABYTE = 1_048_576
const bodies: Readonly<Record<string, Buffer>> = {
  '/packed': gzipSync('{"price":"7"}'),
  '/bomb': gzipSync(Buffer.alloc(64 * MEGABYTE)),
  '/broken': Buffer.from('not packed at all'),
}

const server = createServer((request, response) =>
  response.writeHead(200, { 'content-encoding': 'gzip' }).end(bodies[request.url ?? '']),
)
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
