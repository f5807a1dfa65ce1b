import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { createEthereumChain } from '../../src/chains/ethereum/ethereum-chain.ts'
import { SILENT } from '../../src/core/log.ts'
import type { Gateway, Queue } from '../../src/flows/gateway.ts'
import { meetChain } from '../../src/flows/watching/observe-chain.ts'
import { startSettler } from '../../src/workers/settle.ts'
import { startWatcher } from '../../src/workers/watch.ts'
import { type Anvil, startAnvil } from '../anvil.ts'
import { call, testApp, testMerchant } from '../api.ts'
import { testGateway } from '../gateway.ts'

/** Longer than the test: whoever waits for it to end has missed a hint. */
const NEVER_MS = 600_000

const anvil = await startAnvil()
const usdc = await anvil.deploy('UsdCoin')
const usdt = await anvil.deploy('TetherToken')
const openPort = (node: Anvil) =>
  createEthereumChain({
    rpcUrl: node.url,
    wsUrl: node.wsUrl,
    network: 'dev',
    usdcContract: usdc,
    usdtContract: usdt,
    log: SILENT,
  })

const wakers = new Map<Queue, () => void>()
const gateway: Gateway = { ...(await testGateway()), wake: (queue) => wakers.get(queue)?.() }
const app = await testApp(gateway)
const { key } = await testMerchant(gateway.db, { mode: 'live' })

it('a running gateway hears of each block by WebSocket and completes a payment made over HTTP', async () => {
  const port = openPort(anvil)
  const settler = startSettler(gateway, { idleMs: NEVER_MS })
  wakers.set('settle', settler.wake)
  const watcher = startWatcher(gateway, port, { idleMs: NEVER_MS })
  after(async () => {
    await watcher.stop()
    await settler.stop()
    await port.close()
  })
  const created = await until(
    () => call(app, key, 'POST', '/payments', { body: { asset: 'USDC', fiat_amount: 25 } }),
    ({ status }) => status === 201,
  )
  const { id, deposit } = created.data
  const show = () => call(app, key, 'GET', `/payments/${id}`)

  await anvil.call(usdc, 'transfer', [deposit.address, BigInt(deposit.expected_amount_atoms)])
  // The subscription may begin after the first block.
  await until(
    async () => {
      await anvil.mine()
      return show()
    },
    ({ data }) => data.status === 'detected',
  )
  await anvil.mine(deposit.required_confirmations)
  const { data } = await until(show, (answer) => answer.data.status === 'completed')
  assert.ok(data.confirmations >= deposit.required_confirmations)
  assert.equal(data.deposits.length, 1)
  const balance = await call(app, key, 'GET', '/balance')
  const held = balance.data.assets.find((entry: { asset: string }) => entry.asset === 'USDC')
  assert.equal(held.available, '24.75')
})

it('another dev chain behind the same name is refused, even with the same chain id', async () => {
  const other = await startAnvil()
  await assert.rejects(meetChain(gateway, openPort(other)), /is on the wrong chain/)
})

async function until<Value>(read: () => Promise<Value>, isThere: (value: Value) => boolean): Promise<Value> {
  for (;;) {
    const value = await read()
    if (isThere(value)) return value
  }
}
