/** Hints over real ZeroMQ sockets. Debian's litecoind has none, so a local server says where they are. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Publisher } from 'zeromq'
import { SILENT } from '../../core/log.ts'
import { listenForHints } from './hints.ts'
import { openCoreRpc } from './rpc.ts'

async function nodeThatNames(notifications: unknown): Promise<string> {
  const server = http.createServer((_, response) => {
    response.end(JSON.stringify({ result: notifications, error: null, id: 1 }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Publishes until the subscriber, whose connection takes its time, has heard one. */
async function publishUntil(publisher: Publisher, heard: Promise<void>): Promise<void> {
  let done = false
  void heard.then(() => {
    done = true
  })
  while (!done) {
    await publisher.send(['hashblock', Buffer.alloc(32), Buffer.alloc(4)])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** ZeroMQ gives the address of a closed socket free only some time later. */
async function bindOnceFree(publisher: Publisher, address: string): Promise<void> {
  for (const deadlineMs = Date.now() + 20_000; ; ) {
    try {
      return await publisher.bind(address)
    } catch (error) {
      if (!/in use/.test(String(error)) || Date.now() > deadlineMs) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

test('a hint wakes, also after the node restarted, and stopping ends it at once', async () => {
  let publisher = new Publisher({ linger: 0 })
  after(() => publisher.close())
  await publisher.bind('tcp://127.0.0.1:*')
  const address = publisher.lastEndpoint ?? assert.fail('bound')
  // The node names the interface it binds to; the hint comes from the host its RPC answers on.
  const url = await nodeThatNames([
    { type: 'pubhashblock', address: address.replace('127.0.0.1', '0.0.0.0'), hwm: 1000 },
    { type: 'pubhashtx', address: address.replace('127.0.0.1', '*'), hwm: 1000 },
  ])
  let wake = Promise.withResolvers<void>()
  const rpc = openCoreRpc(url, 1)
  const stop = listenForHints(rpc, () => wake.resolve(), SILENT)
  after(stop)
  await publishUntil(publisher, wake.promise)

  publisher.close()
  wake = Promise.withResolvers<void>()
  publisher = new Publisher({ linger: 0 })
  await bindOnceFree(publisher, address)
  await publishUntil(publisher, wake.promise)

  stop()
  rpc.close()
})

test('hints without end of a busy mempool wake ever less often, and blocks as often as before', async () => {
  const publisher = new Publisher({ linger: 0 })
  after(() => publisher.close())
  await publisher.bind('tcp://127.0.0.1:*')
  const address = publisher.lastEndpoint ?? assert.fail('bound')
  const rpc = openCoreRpc(await nodeThatNames([{ type: 'pubsequence', address, hwm: 1000 }]), 1)
  let wakes = 0
  const stop = listenForHints(rpc, () => (wakes += 1), SILENT)
  after(stop)
  const publish = async (label: 'A' | 'C') => {
    await publisher.send(['sequence', Buffer.concat([Buffer.alloc(32), Buffer.from(label)]), Buffer.alloc(4)])
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  while (wakes === 0) await publish('A')
  const began = performance.now()
  while (wakes < 4) await publish('A')
  assert.ok(performance.now() - began >= 1_700, 'after a quarter, a half and a whole second')

  const before = wakes
  const sent = performance.now()
  while (wakes < before + 8) await publish('C')
  assert.ok(performance.now() - sent < 6_000, 'four a second')
  stop()
  rpc.close()
})

test('a node without hints, or whose answer makes no sense, wakes nobody and breaks nothing', async () => {
  for (const answer of [
    [],
    null,
    'x',
    [{ type: 'pubhashblock' }],
    [{ type: 'pubrawwallet', address: 'tcp://127.0.0.1:1' }],
  ]) {
    const rpc = openCoreRpc(await nodeThatNames(answer), 1)
    const stop = listenForHints(rpc, () => assert.fail('woken'), SILENT)
    await rpc.call('getzmqnotifications')
    stop()
    rpc.close()
  }
})

test('a listener that nobody stopped does not keep the process from ending once it is stopped', async () => {
  const url = await nodeThatNames([{ type: 'pubhashblock', address: 'tcp://127.0.0.1:1', hwm: 1 }])
  const program = `
    import { listenForHints } from './src/chains/bitcoin/hints.ts'
    import { openCoreRpc } from './src/chains/bitcoin/rpc.ts'
    const rpc = openCoreRpc('${url}', 1)
    const listening = Promise.withResolvers()
    const log = { debug: listening.resolve, info() {}, warn() {}, error() {} }
    const stop = listenForHints(rpc, () => {}, log)
    await listening.promise
    stop()
    rpc.close()
  `
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})
