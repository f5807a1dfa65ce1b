/**
 * POST /payments at sixteen connections of a Beck as it comes, while its watcher reads a block of 4 MB, beside the same without
 * one: how far their p99 moves.
 *
 *   node bench/block-beside-payments.ts [seconds per stretch] [--rounds=5]
 *
 * Stretches take turns. In every second one a node shows a new block after a third of it; the node is a stand-in that answers
 * from a thread (block-beside-payments/stand-in.ts). Checked before anything is printed: no request was refused, and each
 * block was followed within its stretch. Bar: at most a fifth more.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { BITCOIN_NETWORKS } from '../src/chains/bitcoin/networks.ts'
import { findChainProgress } from '../src/chains/chain-progress.sql.ts'
import { pause } from '../src/core/pause.ts'
import { openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { makeBlock } from './block-scan/made-block.ts'
import { loadHttp } from './create-payment/load-http.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'
import { startBeck } from './started-beck.ts'

const RATIO_MAX = 1.2
const BLOCK_BYTES = 4_000_000
const CONNECTIONS = 16
const SECONDS = Number(process.argv.slice(2).find((given) => /^\d+$/.test(given)) ?? 9)
const ROUNDS = Number(process.argv.find((given) => given.startsWith('--rounds='))?.slice(9) ?? 5)
const BODY = JSON.stringify({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' })

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
const node = new Worker(new URL('./block-beside-payments/stand-in.ts', import.meta.url))
const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
try {
  const [port] = (await once(node, 'message')) as [number]
  const chain = { parent: BITCOIN_NETWORKS.bitcoin.regtest.genesisHash, height: 0 }
  // Beck begins at the tip that it meets.
  await makeNext(chain, 100_000)
  await show(chain)
  const beck = await startBeck({
    DATABASE_URL: cluster.url('postgres'),
    BECK_DATA_DIR: join(folder, 'beck'),
    BECK_METRICS_PORT: '0',
    BECK_RATES: 'fixed:BTC/USD=65000,LTC/USD=100,ETH/USD=2500,USDC/USD=1,USDT/USD=1,EUR/USD=1.08',
    BITCOIN_RPC_URL: `http://user:password@127.0.0.1:${port}`,
    BITCOIN_NETWORK: 'regtest',
  })
  try {
    const load = {
      url: new URL('/v1/payments', beck.url).href,
      key: beck.key,
      body: BODY,
      connections: CONNECTIONS,
      seconds: SECONDS,
    }
    const quiet: number[] = []
    const beside: number[] = []
    // The first round warms both up, and its blocks are not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      const alone = await loadHttp(load)
      await makeNext(chain, BLOCK_BYTES)
      const [reading] = await Promise.all([loadHttp(load), followed(chain)])
      if (round === 0) continue
      quiet.push(alone.p99Ms)
      beside.push(reading.p99Ms)
    }
    const ratio = median(beside) / median(quiet)
    process.stdout.write(
      `p99 of POST /payments at ${CONNECTIONS} connections: ${quiet.join(', ')} ms alone, ${beside.join(', ')} ms while a block of 4 MB is read\n` +
        `ratio of medians ${ratio.toFixed(2)} (bar: at most ${RATIO_MAX}): ${ratio <= RATIO_MAX ? 'met' : 'MISSED'}\n`,
    )
    process.exitCode = ratio <= RATIO_MAX ? 0 : 1
  } finally {
    await beck.stop()
  }
} finally {
  await db.close()
  await node.terminate()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

interface Chain {
  parent: string
  height: number
}

/** The node has it, and says nothing of it yet. */
async function makeNext(chain: Chain, bytesMin: number): Promise<void> {
  const { hash, bytes } = makeBlock(chain.parent, bytesMin, [])
  node.postMessage({ hash, bytes })
  await once(node, 'message')
  chain.parent = hash
}

async function show(chain: Chain): Promise<void> {
  node.postMessage('show')
  await once(node, 'message')
  chain.height += 1
}

/** Shows a block in the midst of the stretch that begins now, and waits until it is followed, before the stretch ends. */
async function followed(chain: Chain): Promise<void> {
  const until = performance.now() + SECONDS * 1_000
  await pause((SECONDS * 1_000) / 3)
  await show(chain)
  for (;;) {
    if (Number((await findChainProgress(db, 'bitcoin'))?.tipHeight) === chain.height) return
    assert.ok(performance.now() < until, `block ${chain.height} was not followed in its stretch`)
    await pause(100)
  }
}
