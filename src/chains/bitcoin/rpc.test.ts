/** What a node, or the network before it, can do to a caller. The node's own behaviour is in bitcoin-chain.test.ts. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { OutsideFailure } from '../../core/errors.ts'
import { AT_ONCE, type SpareTime } from '../../core/spare-time.ts'
import { NodeError } from '../json-rpc.ts'
import { openCoreRpc } from './rpc.ts'

/** A server that answers as told; returns the URL with credentials. */
async function answering(listener: http.RequestListener): Promise<string> {
  const server = http.createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://alice:s3cr%2Ft@127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function bodyOf(request: http.IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

/** The failure of a call, checked to hold no credentials anywhere a log would print. */
async function failure(call: Promise<unknown>): Promise<OutsideFailure> {
  const error = await call.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof OutsideFailure)
  assert.doesNotMatch(
    `${error.message} ${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`,
    /s3cr|alice/,
  )
  return error
}

test('user and password are sent percent-decoded, and a batch keeps the order of its calls', async () => {
  let authorization: string | undefined
  const url = await answering(async (request, response) => {
    authorization = request.headers.authorization
    const calls = JSON.parse(await bodyOf(request)) as { id: number; method: string }[]
    const answers = calls.map(({ id, method }) =>
      method === 'bad'
        ? { id, result: null, error: { code: -5, message: 'no' } }
        : { id, result: method, error: null },
    )
    response.end(JSON.stringify(answers.reverse()))
  })
  const rpc = openCoreRpc(url, 1)
  const [first, second, third] = await rpc.batch([{ method: 'a' }, { method: 'bad' }, { method: 'c' }])
  assert.equal(authorization, `Basic ${Buffer.from('alice:s3cr/t').toString('base64')}`)
  assert.equal(first?.error ?? first?.result, 'a')
  assert.equal(second?.error?.code, -5)
  assert.equal(third?.error ?? third?.result, 'c')
  rpc.close()
})

const refusals: readonly [name: string, status: number, body: string, retryable: boolean, says: RegExp][] = [
  ['wrong credentials say so', 401, '', false, /refuses the user or password/],
  [
    'a foreign address, and a method that is not whitelisted, say so',
    403,
    '',
    false,
    /not allow getblockcount .*rpcallowip .*rpcwhitelist/,
  ],
  ['a full work queue is worth another try', 503, 'Work queue depth exceeded', true, /work queue is full/],
  ['an answer that is no JSON is worth another try', 200, '{"result":', true, /no JSON/],
  ['an answer without a result is worth another try', 200, '{"id":1}', true, /left out its answer/],
  [
    'a node that warms up is worth another try',
    500,
    '{"result":null,"error":{"code":-28,"message":"Loading block index..."},"id":1}',
    true,
    /-28: Loading block index/,
  ],
  [
    'a refusal of the node is final',
    500,
    '{"result":null,"error":{"code":-8,"message":"Block height out of range"},"id":1}',
    false,
    /-8: Block height out of range/,
  ],
]
for (const [name, status, body, retryable, says] of refusals) {
  test(name, async () => {
    const rpc = openCoreRpc(
      await answering((_, response) => {
        response.writeHead(status).end(body)
      }),
      1,
    )
    const error = await failure(rpc.call('getblockcount'))
    assert.match(error.message, says)
    assert.equal(error.retryable, retryable)
    assert.equal(error instanceof NodeError, body.includes('"code"'))
    assert.equal((await failure(rpc.batch([{ method: 'getblockcount' }]))).retryable, retryable)
    const ofBytes = await failure(rpc.callForBytes('getblockcount', [], {}))
    assert.deepEqual([ofBytes.message, ofBytes.retryable], [error.message, retryable])
    rpc.close()
  })
}

test('bytes are what the digits of a result say; with any other result, another try is worth it', async () => {
  let result: unknown = 'c0ffee'
  const rpc = openCoreRpc(
    await answering((request, response) => {
      assert.equal(request.headers['accept-encoding'], 'identity')
      response.end(JSON.stringify({ result, error: null, id: 0 }))
    }),
    1,
  )
  assert.deepEqual(await rpc.callForBytes('getblock', ['00', 0], {}), Buffer.from('c0ffee', 'hex'))
  for (result of [null, 7, { hex: 'c0ffee' }, 'coffee', 'c0f']) {
    const error = await failure(rpc.callForBytes('getblock', ['00', 0], {}))
    assert.match(
      error.message,
      /^the node at http:\/\/127.* answered getblock with something else than .* hexadecimal digits$/,
    )
    assert.equal(error.retryable, true)
  }
  rpc.close()
})

test('however long the node took, what it answers is rested from by its size', async () => {
  const digits = 'ab'.repeat(1_000_000)
  const rpc = openCoreRpc(
    await answering((_, response) => {
      setTimeout(() => response.end(JSON.stringify({ result: digits, error: null, id: 0 })), 300)
    }),
    1,
  )
  const owns: number[] = []
  const spareTime: SpareTime = {
    ...AT_ONCE,
    async step(work, ownMs) {
      const result = await work()
      owns.push(ownMs?.(result) ?? Number.POSITIVE_INFINITY)
      return result
    },
  }
  const bytes = await rpc.callForBytes('getblock', ['00', 0], { spareTime })
  assert.ok(bytes.equals(Buffer.from(digits, 'hex')))
  assert.ok(owns.length > 1)
  const ownMs = owns.reduce((sum, ms) => sum + ms, 0)
  assert.ok(ownMs > 5 && ownMs < 8, `${ownMs} ms of two megabytes`)
  rpc.close()
})

test('nobody listening is worth another try', async () => {
  const error = await failure(openCoreRpc('http://alice:s3cr%2Ft@127.0.0.1:1', 1).call('getblockcount'))
  assert.match(error.message, /cannot be reached: ECONNREFUSED/)
  assert.equal(error.retryable, true)
})

test('a connection dropped before or within the answer is worth another try', async () => {
  for (const part of ['', '{"result":"00']) {
    const rpc = openCoreRpc(
      await answering((_, response) => {
        response.writeHead(200, { 'content-length': '1000' })
        response.write(part, () => response.destroy())
      }),
      1,
    )
    assert.equal((await failure(rpc.call('sendrawtransaction', ['00']))).retryable, true)
    assert.equal((await failure(rpc.callForBytes('getblock', ['00', 0], {}))).retryable, true)
    rpc.close()
  }
})

test('silence, and an answer that only drips, end with the time that was given', async () => {
  for (const drip of [false, true]) {
    const timers: NodeJS.Timeout[] = []
    const rpc = openCoreRpc(
      await answering((_, response) => {
        if (drip) timers.push(setInterval(() => response.write(' '), 20))
      }),
      1,
    )
    for (const call of [rpc.call, rpc.callForBytes]) {
      const error = await failure(call('getblockcount', [], { timeoutMs: 200 }))
      assert.match(error.message, /did not answer within 0.2 s/)
      assert.equal(error.retryable, true)
    }
    for (const timer of timers) clearInterval(timer)
    rpc.close()
  }
})

test('a kept connection that the node closed meanwhile is replaced without anybody noticing', async () => {
  let connections = 0
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => response.end('{"id":1,"result":7,"error":null}'))
  })
  server.on('connection', (socket) => {
    connections += 1
    // The node closes as soon as it sees a second request on a connection, as it does when its time is up.
    let requests = 0
    socket.on('data', () => {
      requests += 1
      if (requests > 1) socket.resetAndDestroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => server.close())
  const rpc = openCoreRpc(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 1)
  for (let i = 0; i < 3; i++) assert.equal(await rpc.call('getblockcount'), 7)
  assert.equal(connections, 3)
  rpc.close()
})

test('a URL that is none is refused without being repeated', () => {
  for (const url of [
    'alice:s3cr',
    'http://alice:s3c/r@host',
    'ftp://alice:s3cr@host',
    'http://alice:s3%zz@host',
  ]) {
    assert.throws(
      () => openCoreRpc(url, 1),
      (error: Error) => error instanceof RangeError && !/s3|alice/.test(error.message),
    )
  }
})

test('the port is the given one, else the node’s own', () => {
  assert.equal(openCoreRpc('http://u:p@node.example', 8332).endpoint, 'http://node.example:8332')
  assert.equal(openCoreRpc('http://u:p@node.example:80', 8332).endpoint, 'http://node.example:80')
  assert.equal(openCoreRpc('http://[::1]:9000', 8332).endpoint, 'http://[::1]:9000')
  assert.equal(openCoreRpc('https://u:p@node.example/path', 8332).endpoint, 'https://node.example:443')
})
