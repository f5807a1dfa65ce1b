import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import net from 'node:net'
import { after, describe, it } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { startAnvil } from '../../../test/anvil.ts'
import { startNodeProxy } from '../../../test/node-proxy.ts'
import { until } from '../../../test/wait-for.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { createEthereumChain, type EthereumChainOptions } from './ethereum-chain.ts'

const anvil = await startAnvil()
const usdc = await anvil.deploy('UsdCoin')
const usdt = await anvil.deploy('TetherToken')
const GWEI = 10n ** 9n

const open = (options: Partial<EthereumChainOptions> = {}) =>
  createEthereumChain({
    rpcUrl: anvil.url,
    network: 'dev',
    usdcContract: usdc,
    usdtContract: usdt,
    log: SILENT,
    ...options,
  })

describe('sending through an Ethereum node', () => {
  const chain = open()
  /** The key of Anvil's first account, known to everybody. */
  const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const sign = async (nonce: number, feeGwei = 10n) =>
    account.signTransaction({
      chainId: 31_337,
      type: 'eip1559',
      to: '0x00000000000000000000000000000000000000aa',
      value: 1n,
      nonce,
      gas: 21_000n,
      maxFeePerGas: feeGwei * GWEI,
      maxPriorityFeePerGas: GWEI,
    })
  const nextNonce = async () =>
    Number(await anvil.rpc<string>('eth_getTransactionCount', [account.address, 'latest']))

  it('accepts bytes once and knows them again, waiting or in a block', async () => {
    const raw = await sign(await nextNonce())
    assert.deepEqual(await chain.broadcast(raw), { kind: 'accepted' })
    assert.deepEqual(await chain.broadcast(raw), { kind: 'already_known' })
    await anvil.mine()
    assert.deepEqual(
      await chain.broadcast(raw),
      { kind: 'already_known' },
      'its nonce is too low because of itself',
    )
  })

  it('says where a transaction is and what it cost', async () => {
    const nonce = await nextNonce()
    const raw = await sign(nonce)
    await chain.broadcast(raw)
    const waiting = await anvil.rpc<{ transactions: { hash: string }[] }>('eth_getBlockByNumber', [
      'pending',
      true,
    ])
    const hash = waiting.transactions[0]?.hash ?? ''
    assert.deepEqual(await chain.findTransaction(hash), { block: null })
    await anvil.mine()
    const found = await chain.findTransaction(hash)
    assert.deepEqual(found?.block, await chain.tip())
    assert.equal(found?.reverted, false)
    assert.ok((found?.feeAtoms ?? 0n) >= 21_000n * GWEI)
    assert.equal(await chain.findTransaction(`0x${'11'.repeat(32)}`), null)
  })

  it('knows the next nonce of confirmed state and what gas costs next', async () => {
    const nonce = await nextNonce()
    assert.equal(await chain.nextNonce?.(account.address), BigInt(nonce))
    const rates = await chain.feeRates()
    assert.ok(rates.kind === 'gas' && rates.baseFeeWei > 0n && rates.priorityFeeWei > 0n)
    await anvil.mine()
    const block = await anvil.rpc<{ baseFeePerGas: string }>('eth_getBlockByNumber', ['latest', false])
    assert.equal(rates.baseFeeWei, BigInt(block.baseFeePerGas))
  })

  it('is refused when another transaction used the nonce', async () => {
    const outcome = await chain.broadcast(await sign((await nextNonce()) - 1, 50n))
    assert.equal(outcome.kind, 'refused')
    assert.match('reason' in outcome ? outcome.reason : '', /nonce too low/i)
  })

  it('is refused when a replacement pays too little more', async () => {
    const nonce = await nextNonce()
    await chain.broadcast(await sign(nonce, 100n))
    const outcome = await chain.broadcast(await sign(nonce, 99n))
    assert.equal(outcome.kind, 'refused')
    assert.match('reason' in outcome ? outcome.reason : '', /underpriced/i)
    await anvil.mine()
  })
})

describe('what a node says of a transaction that it does not have', () => {
  for (const [message, kind] of [
    ['unknown transaction type', 'refused'],
    ['Unknown_transaction: type 4 is not supported', 'refused'],
    ['Known transaction: 11', 'already_known'],
    ['known_transaction', 'already_known'],
  ] as const)
    it(`${message}: ${kind}`, async () => {
      const url = await proxy((method, answer) =>
        method === 'eth_sendRawTransaction' ? { error: { code: -32000, message } } : answer,
      )
      assert.equal(
        (await open({ rpcUrl: url }).broadcast(`0x${randomBytes(100).toString('hex')}`)).kind,
        kind,
      )
    })
})

describe('an Ethereum node in trouble', () => {
  it('that is down is a failure that passes: the same port works when the node is back', async () => {
    const chain = open()
    const tip = await chain.tip()
    await anvil.stop()
    await assert.rejects(chain.tip(), (error: unknown) => {
      assert.ok(error instanceof OutsideFailure && error.retryable)
      assert.match(error.message, /ECONNREFUSED/)
      return true
    })
    await anvil.start()
    assert.deepEqual(await chain.tip(), tip)
  })

  it('is given 5 s, also when it stalls in the middle of an answer', { timeout: 9_000 }, async () => {
    const stalling = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('[{"jsonrpc":"2.0",')
    })
    const started = Date.now()
    await assert.rejects(open({ rpcUrl: stalling }).tip(), /did not answer within 5 s/)
    assert.ok(Date.now() - started < 6_500)
  })

  for (const [what, status, body] of [
    ['limits our rate over HTTP', 429, '{"message":"slow down"}'],
    [
      'limits our rate in JSON-RPC',
      200,
      '[{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"limit"}}]',
    ],
    ['refuses batches', 200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}'],
    ['is a web page', 200, '<html></html>'],
    ['leaves calls out', 200, '[]'],
    ['answers with nonsense', 200, '[{"id":1,"result":{}},{"id":2,"result":7}]'],
    ['asks for a password', 401, 'unauthorised'],
  ] as const) {
    it(`that ${what} is a failure that passes`, async () => {
      const url = await serve((_, response) => response.writeHead(status).end(body))
      await assert.rejects(open({ rpcUrl: url }).tip(), (error: unknown) => {
        assert.ok(error instanceof OutsideFailure && error.retryable)
        return true
      })
    })
  }

  it('that still synchronises is not believed on a real network', async () => {
    const url = await proxy((method, answer) =>
      method === 'eth_syncing' ? { result: { currentBlock: '0x1', highestBlock: '0x9' } } : answer,
    )
    await assert.rejects(open({ rpcUrl: url, network: 'mainnet' }).tip(), /synchronises/)
    assert.deepEqual(await open({ rpcUrl: url }).tip(), await open().tip(), 'a dev chain never does')
  })

  it('that shows an old last block as if it were new is not believed on a real network', async () => {
    const url = await proxy((method, answer) => {
      if (method === 'eth_syncing') return { result: false }
      if (method !== 'eth_getBlockByNumber') return answer
      const timestamp = `0x${Math.floor(Date.now() / 1_000 - 200).toString(16)}`
      return { result: { ...(answer as { result: object }).result, timestamp } }
    })
    await assert.rejects(open({ rpcUrl: url, network: 'mainnet' }).tip(), (error: unknown) => {
      assert.ok(error instanceof OutsideFailure && error.retryable)
      assert.match(error.message, /last block that is 3 minutes old/)
      return true
    })
    assert.deepEqual(await open({ rpcUrl: url }).tip(), await open().tip(), 'a dev chain may rest')
  })

  it('gets its user and password in a header, and neither they nor its key appear in an error', async () => {
    const seen: (string | undefined)[] = []
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(500).end(`cannot serve ${request.url} to hunter22`)
    })
    const secret = url.replace('//', '//operator:hunter22@').concat('/v3/0123456789abcdef?token=fedcba98')
    await assert.rejects(open({ rpcUrl: secret }).tip(), (error: unknown) => {
      assert.ok(error instanceof OutsideFailure)
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /hunter22|0123456789abcdef|fedcba98/)
      assert.equal(error.cause, undefined)
      return true
    })
    assert.deepEqual(seen, [`Basic ${Buffer.from('operator:hunter22').toString('base64')}`])
    assert.throws(() => open({ rpcUrl: 'hunter22' }), /is not of the form/)
  })

  it('without eth_getBlockReceipts is asked for receipts one by one, from then on', async () => {
    const asked: string[] = []
    const url = await proxy((method, answer) => {
      asked.push(method)
      return method === 'eth_getBlockReceipts'
        ? { error: { code: -32601, message: 'the method eth_getBlockReceipts does not exist' } }
        : answer
    })
    const buyer = address()
    await anvil.call(usdc, 'transfer', [buyer, 3n])
    await anvil.send({ to: buyer, value: 4n })
    await anvil.mine()
    const { hash } = await open().tip()
    const chain = open({ rpcUrl: url })
    const expected = await open().readBlock(hash)
    assert.equal(expected.transactions.length, 2)
    assert.deepEqual(await chain.readBlock(hash), expected)
    assert.deepEqual(await chain.readBlock(hash), expected)
    assert.equal(asked.filter((method) => method === 'eth_getBlockReceipts').length, 1)
  })

  it('that has no time for receipts is not asked for each of them', async () => {
    const asked: string[] = []
    const error = { code: -32000, message: 'the database is closed' }
    const url = await proxy((method, answer) => {
      asked.push(method)
      return method === 'eth_getBlockReceipts' ? { error } : answer
    })
    const { hash } = await open().tip()
    await assert.rejects(open({ rpcUrl: url }).readBlock(hash), /the database is closed/)
    assert.ok(!asked.includes('eth_getTransactionReceipt'))
  })

  it('that has no time for the priority fee has one all the same', async () => {
    const of = (error: { code: number; message: string }) =>
      proxy((method, answer) => (method === 'eth_maxPriorityFeePerGas' ? { error } : answer))
    const rpcUrl = await of({ code: -32000, message: 'the database is closed' })
    await assert.rejects(open({ rpcUrl }).feeRates(), /the database is closed/)
    const without = await of({ code: -32601, message: 'Method not found' })
    assert.equal((await open({ rpcUrl: without }).feeRates()).kind, 'gas')
  })

  for (const [fork, shown] of [
    ['prague', {}],
    ['prague', { blockAccessListHash: null }],
    ['amsterdam', { blockAccessListHash: `0x${'11'.repeat(32)}` }],
    ['amsterdam', { balHash: `0x${'11'.repeat(32)}` }],
  ] as const)
    it(`that shows ${JSON.stringify(shown)} in its last block is asked for gas as under ${fork}`, async () => {
      const url = await proxy((method, answer) =>
        method === 'eth_getBlockByNumber'
          ? { result: { ...(answer as { result: object }).result, ...shown } }
          : answer,
      )
      const rates = await open({ rpcUrl: url }).feeRates()
      assert.equal(rates.kind === 'gas' && rates.fork, fork)
    })

  it('is asked once for what watched addresses hold after a block', async () => {
    const asked: string[] = []
    const url = await proxy((method, answer) => {
      asked.push(method)
      return answer
    })
    const chain = open({ rpcUrl: url })
    const payer = await anvil.deploy('Payer')
    const buyer = address()
    for (const [value, calls] of [
      [5n, 2],
      [6n, 1],
    ] as const) {
      await anvil.call(payer, 'payAll', [[buyer]], { value })
      await anvil.mine()
      asked.length = 0
      const block = await chain.readBlock(await anvil.tipHash(), {
        accounts: [buyer, buyer.toUpperCase().replace('0X', '0x')],
      })
      assert.deepEqual(
        block.transactions
          .filter((one) => one.key.startsWith('internal:'))
          .map((one) => one.outputs[0]?.atoms),
        [value],
      )
      assert.equal(asked.filter((method) => method === 'eth_call').length, calls)
    }
  })

  for (const data of [undefined, 'Reverted 0x', {}])
    it(`that drops what calls revert with (${JSON.stringify(data)}) is asked otherwise`, async () => {
      const url = await proxy((method, answer) => {
        if (method !== 'eth_call' || !('error' in answer)) return answer
        const { code, message } = answer.error
        return { error: { code, message: message.slice(0, 18), ...(data !== undefined && { data }) } }
      })
      const holder = address()
      await anvil.send({ to: holder, value: 4n })
      await anvil.call(usdc, 'transfer', [holder, 3n])
      await anvil.mine()
      const chain = open({ rpcUrl: url })
      const query = { outpoints: [], addresses: [holder] }
      assert.deepEqual(await chain.holdings(query), { ETH: 4n, USDC: 3n, USDT: 0n })
    })

  it('that shows a block without all its receipts is asked again later', async () => {
    const url = await proxy((method, answer) => (method === 'eth_getBlockReceipts' ? { result: [] } : answer))
    await anvil.send({ to: address(), value: 4n })
    await anvil.mine()
    const { hash } = await open().tip()
    await assert.rejects(open({ rpcUrl: url }).readBlock(hash), /without the receipt/)
  })

  it('that can not trace still shows ether of contracts, without a transaction hash', async () => {
    const url = await proxy((method, answer) =>
      /trace/.test(method) ? { error: { code: -32601, message: 'method not found' } } : answer,
    )
    const payer = await anvil.deploy('Payer')
    const buyer = address()
    await anvil.call(payer, 'payAll', [[buyer]], { value: 5n })
    await anvil.mine()
    const { hash } = await open().tip()
    const block = await open({ rpcUrl: url }).readBlock(hash, { accounts: [buyer] })
    const credit = block.transactions.at(-1)
    assert.deepEqual([credit?.key, credit?.hash], [`internal:${hash}:${buyer}`, null])
  })

  it('that only knows debug_traceBlockByHash names the transaction with it', async () => {
    const url = await proxy((method, answer) =>
      method === 'trace_block' ? { error: { code: -32601, message: 'method not found' } } : answer,
    )
    const payer = await anvil.deploy('Payer')
    const buyer = address()
    await anvil.call(payer, 'tryToPay', [buyer], { value: 5n })
    const paying = await anvil.call(payer, 'payAll', [[buyer]], { value: 5n })
    await anvil.mine()
    const { hash } = await open().tip()
    const block = await open({ rpcUrl: url }).readBlock(hash, { accounts: [buyer] })
    assert.equal(block.transactions.at(-1)?.hash, paying)
  })

  it('that is too slow for thousands of watched addresses leaves out the oldest, not the block', async () => {
    const { rpcUrl, delayAnswersTo } = await startNodeProxy(anvil.url)
    const payer = await anvil.deploy('Payer')
    const watched = Array.from({ length: 9_000 }, address)
    const [newest = '', oldest = ''] = [watched[0], watched.at(-1)]
    await anvil.call(payer, 'payAll', [[newest, oldest]], { value: 10n })
    await anvil.mine()
    const chain = open({ rpcUrl })
    const { hash } = await chain.tip()
    delayAnswersTo('eth_call', 2_500)
    const block = await chain.readBlock(hash, { accounts: watched })
    assert.ok(block.transactions.some(({ key }) => key === `internal:${hash}:${newest}`))
    assert.ok(block.missedAccounts?.includes(oldest))
    assert.ok(!block.missedAccounts?.includes(newest))
    // What was read of the block is not asked for again, so that the rest has its turn.
    delayAnswersTo('eth_call', 0)
    const again = await chain.readBlock(hash, { accounts: watched })
    assert.equal(again.missedAccounts, undefined)
    assert.equal(again.transactions.filter(({ key }) => key.startsWith('internal:')).length, 2)
  })

  it('that has the state of an old block no longer says whom it missed, and what they hold now', async () => {
    const pruning = await startAnvil({ options: ['--prune-history', '4'] })
    const payer = await pruning.deploy('Payer')
    const buyer = address()
    const direct = await pruning.send({ to: buyer, value: 4n })
    await pruning.call(payer, 'payAll', [[buyer]], { value: 5n })
    await pruning.mine()
    const chain = open({ rpcUrl: pruning.url })
    const { hash } = await chain.tip()
    await pruning.mine(40)
    const block = await chain.readBlock(hash, { accounts: [buyer] })
    assert.deepEqual(block.missedAccounts, [buyer])
    assert.equal(block.transactions[0]?.key, direct, 'what needs no state is still read')
    const tip = await chain.tip()
    assert.deepEqual(await chain.etherAt?.(tip.hash, [buyer]), [9n])
    await assert.rejects(async () => chain.etherAt?.(hash, [buyer]), OutsideFailure)
  })
})

describe('a WebSocket to an Ethereum node', () => {
  it('hints at new blocks', async () => {
    const chain = open({ wsUrl: anvil.wsUrl })
    await hintOf(chain)
    await chain.close()
  })

  it('carries calls as well, and comes back after the node was away', async () => {
    const chain = open({ rpcUrl: anvil.wsUrl })
    assert.deepEqual(await chain.tip(), await open().tip())
    await hintOf(chain)
    await anvil.stop()
    await assert.rejects(chain.tip(), OutsideFailure)
    await anvil.start()
    assert.deepEqual(await chain.tip(), await open().tip())
    await chain.close()
    await assert.rejects(chain.tip(), OutsideFailure)
  })

  it('that says nothing any more is given up, though it is never closed', { timeout: 60_000 }, async () => {
    const { port: nodePort } = new URL(anvil.wsUrl)
    const links: [net.Socket, net.Socket][] = []
    const between = net.createServer((near) => {
      const far = net.connect(Number(nodePort), '127.0.0.1')
      near.pipe(far).pipe(near)
      near.on('error', () => far.destroy())
      far.on('error', () => near.destroy())
      links.push([near, far])
    })
    await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve))
    const chain = open({ rpcUrl: `ws://127.0.0.1:${(between.address() as net.AddressInfo).port}` })
    const tip = await chain.tip()
    for (const [near, far] of links) {
      near.unpipe(far)
      far.unpipe(near)
      near.resume()
    }
    await assert.rejects(chain.tip(), /did not answer within 5 s/)
    await until('another connection', () =>
      chain
        .tip()
        .then(() => true)
        .catch(() => false),
    )
    assert.deepEqual(await chain.tip(), tip)
    assert.equal(links.length, 2)
    await chain.close()
    for (const [near, far] of links) {
      near.destroy()
      far.destroy()
    }
    between.close()
  })

  it('is not needed: without one there are no hints', async () => {
    const chain = open()
    chain.onHint(() => assert.fail('nobody can hint'))()
    await chain.close()
  })

  /** Mines until a hint arrives; the subscription may begin a moment after the first block. */
  async function hintOf(chain: ReturnType<typeof open>) {
    let isHinted = false
    const stop = chain.onHint(() => {
      isHinted = true
    })
    await until('a block is hinted at', async () => {
      if (!isHinted) await anvil.mine()
      return isHinted
    })
    stop()
  }
})

type Answer = { result: unknown } | { error: { code: number; message: string; data?: unknown } }

interface Call {
  readonly id: number
  readonly method: string
  readonly params: unknown[]
}

/** A way to Anvil that changes answers. */
function proxy(change: (method: string, answer: Answer) => Answer): Promise<string> {
  return serve(async (request, response) => {
    const asked: Call | Call[] = JSON.parse(await textOf(request))
    const calls = [asked].flat()
    const upstream = await fetch(anvil.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(calls.map((call) => ({ jsonrpc: '2.0', ...call }))),
    })
    const answers = (await upstream.json()) as Answer[]
    const changed = calls.map((call, position) => {
      const answer = answers[position] ?? { result: null }
      const { id, method } = call
      return { jsonrpc: '2.0', id, ...change(method, 'error' in answer ? { error: answer.error } : answer) }
    })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(Array.isArray(asked) ? changed : changed[0]))
  })
}

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const bound = server.address()
  assert.ok(bound !== null && typeof bound === 'object')
  return `http://127.0.0.1:${bound.port}`
}

async function textOf(request: IncomingMessage): Promise<string> {
  return Buffer.concat(await Array.fromAsync(request)).toString()
}

const address = (): string => `0x${randomBytes(20).toString('hex')}`
