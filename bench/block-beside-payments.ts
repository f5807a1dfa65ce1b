/**
 * POST /payments at sixteen connections of a Beck as it comes, while its watcher reads blocks of 4 MB, beside the same without
 * one: how far their p99 moves.
 *
 *   node bench/block-beside-payments.ts [seconds per stretch] [--rounds=8]
 *
 * Stretches take turns, and which of two comes first does too. In one of two a node shows blocks, one after another is followed;
 * each pays addresses of payments. The node is a stand-in that answers from a thread (block-beside-payments/stand-in.ts). What counts is the p99 of the requests
 * that were under way while a block was: from when the node was asked for it until it is followed; and of those in the same parts
 * of the stretch without blocks. Of whole stretches, requests that a block holds up are too few for a p99 to show. What happened while
 * a virtual processor or its disk was taken away is not counted, of neither (steady-machine.ts): alone it moves a p99 by more than a
 * block may; how many that leaves out of either, and what they come to with all, is printed. As root, on Linux. Checked before
 * anything is printed: no request was refused, what was answered was made and no more than was asked for, each block was followed within its stretch, and what it paid was found, to the atom. Bar: at most a fifth more.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { bech32 } from '@scure/base'
import { BITCOIN_NETWORKS } from '../src/chains/bitcoin/networks.ts'
import { findChainProgress } from '../src/chains/chain-progress.sql.ts'
import { pause } from '../src/core/pause.ts'
import { openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { testMerchant } from '../test/api.ts'
import type { Loaded } from './block-beside-payments/load.ts'
import { makeBlock } from './block-scan/made-block.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'
import { type StartedBeck, startBeck } from './started-beck.ts'
import { type Given, steadyMachine } from './steady-machine.ts'

const RATIO_MAX = 1.2
const BLOCK_BYTES = 4_000_000
const BLOCKS_PER_STRETCH = 4
const PAID_PER_BLOCK = 50
const CONNECTIONS = 16
/** So many requests of a round at the least make a p99. */
const REQUESTS_MIN = 200
/** What is sent less than this before the machine is gone is not counted, however long it took: else the slow ones were left out. */
const REACH_MS = 100
const LOOK_MS = 100
const IN_SIGHT_MS_MAX = 60_000
const SECONDS = Number(process.argv.slice(2).find((given) => /^\d+$/.test(given)) ?? 15)
const ROUNDS = Number(process.argv.find((given) => given.startsWith('--rounds='))?.slice(9) ?? 8)
const BODY = { asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' }
const BECK = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))
const LOAD = fileURLToPath(new URL('./block-beside-payments/load.ts', import.meta.url))

const folder = await benchFolder()
const cluster = await startCluster({ dataDir: join(folder, 'pg') })
const node = new Worker(new URL('./block-beside-payments/stand-in.ts', import.meta.url))
const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 1 })
// Beck is to see for itself how busy the machine is.
const machine = steadyMachine({ isKeptAwake: false })
try {
  const [port] = (await once(node, 'message')) as [number]
  const chain = { parent: BITCOIN_NETWORKS.bitcoin.regtest.genesisHash, height: 0, waiting: 0 }
  // Beck begins at the tip that it meets.
  await makeNext(chain, 100_000, [])
  await show(chain)
  const env = {
    DATABASE_URL: cluster.url('postgres'),
    BECK_DATA_DIR: join(folder, 'beck'),
    BECK_METRICS_PORT: '0',
    BECK_SECRET_KEY: 'ab'.repeat(32),
    BECK_KEYSTORE_PASSPHRASE: 'correct horse battery staple',
    BECK_RATES: 'fixed:BTC/USD=65000,LTC/USD=100,ETH/USD=2500,USDC/USD=1,USDT/USD=1,EUR/USD=1.08',
    BITCOIN_RPC_URL: `http://user:password@127.0.0.1:${port}`,
    BITCOIN_NETWORK: 'regtest',
  }
  await promisify(execFile)(process.execPath, [BECK, '--json', 'wallet', 'init'], {
    env: { ...process.env, ...env },
  })
  const beck = await startBeck(env)
  try {
    // What a sandbox's account is paid is on chains of its own.
    const live = await testMerchant(db, { mode: 'live' })
    const quiet: Took[] = []
    const beside: Took[] = []
    let [sent, answers] = [0, 0]
    // The first round warms both up, and its blocks are not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      await makeBlocks(beck.url, live.key, chain)
      const loadAlone = () => machine.during(() => load(beck))
      const before = round % 2 === 0 ? await loadAlone() : null
      const [[reading, spans], given] = await machine.during(() =>
        Promise.all([load(beck), showBlocks(chain)]),
      )
      const [alone, givenAlone] = before ?? (await loadAlone())
      sent += alone.sent + reading.sent
      answers += alone.answers + reading.answers
      if (round === 0) continue
      const parts = spans.map(([from, to]) => [from - reading.beganAt, to - reading.beganAt] as const)
      quiet.push(tookDuring(parts, alone, givenAlone))
      beside.push(tookDuring(parts, reading, given))
    }
    await check({ sent, answers }, chain)
    const isCounted = quiet.map((each, round) => enough(each) && enough(beside[round]))
    const counted = (rounds: readonly Took[]) => rounds.filter((_, round) => isCounted[round])
    const [p99Quiet, p99Beside] = [quiet, beside].map((rounds) =>
      p99(counted(rounds).flatMap(({ given }) => given)),
    )
    assert.ok(p99Quiet && p99Beside, 'nothing can be measured on a machine that others use')
    const byRound = counted(quiet).map(
      ({ given }, round) => p99(counted(beside)[round]?.given ?? []) / p99(given),
    )
    const [pooled, middle] = [p99Beside / p99Quiet, median(byRound)]
    const ratio = Math.max(pooled, middle)
    const told = (rounds: readonly Took[]) => {
      const [all, given] = [rounds.flatMap((each) => each.all), rounds.flatMap((each) => each.given)]
      return `${given.length} requests; ${((100 * (all.length - given.length)) / all.length).toFixed(1)} % left out, with them ${p99(all).toFixed(1)} ms`
    }
    process.stdout.write(
      `p99 of POST /payments at ${CONNECTIONS} connections: ${p99Quiet.toFixed(1)} ms alone (${told(counted(quiet))}), ` +
        `${p99Beside.toFixed(1)} ms while a block of 4 MB is read (${told(counted(beside))})\n` +
        `ratios of ${byRound.length} of ${quiet.length} rounds: ${byRound.map((each) => each.toFixed(2)).join(', ')}\n` +
        `ratio of all together ${pooled.toFixed(2)}, median of rounds ${middle.toFixed(2)} (bar: both at most ${RATIO_MAX}): ${ratio <= RATIO_MAX ? 'met' : 'MISSED'}\n`,
    )
    process.exitCode = ratio <= RATIO_MAX ? 0 : 1
  } finally {
    await beck.stop()
  }
} finally {
  machine.stop()
  await db.close()
  await node.terminate()
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
}

interface Chain {
  parent: string
  height: number
  /** Blocks that are made and not shown. */
  waiting: number
}

interface Paid {
  readonly keyHash: Uint8Array
  readonly atoms: number
}

/** Milliseconds since the epoch, or since a stretch began. */
type Span = readonly [from: number, to: number]

/** The node has it, and says nothing of it yet. */
async function makeNext(chain: Chain, bytesMin: number, paying: readonly Paid[]): Promise<void> {
  const { hash, bytes } = makeBlock(chain.parent, bytesMin, paying)
  node.postMessage({ hash, bytes })
  await once(node, 'message')
  chain.parent = hash
  chain.waiting += 1
}

/** As many as a stretch may show, each paying payments that are made for it. */
async function makeBlocks(url: string, key: string, chain: Chain): Promise<void> {
  const body = JSON.stringify({ ...BODY, asset: 'BTC' })
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  while (chain.waiting < BLOCKS_PER_STRETCH) {
    const paying = await Promise.all(
      Array.from({ length: PAID_PER_BLOCK }, async () => {
        const answer = await whenInSight(() =>
          fetch(new URL('/v1/payments', url), { method: 'POST', headers, body }),
        )
        const { data } = (await answer.json()) as { data: { deposit: { address: string } } }
        return payOf(data.deposit.address)
      }),
    )
    await makeNext(chain, BLOCK_BYTES, paying)
  }
}

/** A coin is sold when its watcher has seen the chain. */
async function whenInSight(post: () => Promise<Response>): Promise<Response> {
  const until = performance.now() + IN_SIGHT_MS_MAX
  for (;;) {
    const answer = await post()
    if (answer.status === 201) return answer
    const text = await answer.text()
    assert.ok(answer.status === 503 && performance.now() < until, text)
    await pause(LOOK_MS)
  }
}

async function payOf(address: string): Promise<Paid> {
  const { rows } = await db.query<{ due: bigint }>(
    "select due_atoms as due from payments where chain = 'bitcoin' and address = $1",
    [address],
  )
  const [version, ...words] = bech32.decode(address as `${string}1${string}`).words
  assert.ok(rows[0] && version === 0, address)
  return { keyHash: bech32.fromWords(words), atoms: Number(rows[0].due) }
}

/** A stretch of load that begins now. */
async function load(beck: StartedBeck): Promise<Loaded> {
  const url = new URL('/v1/payments', beck.url).href
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [LOAD, url, beck.key, JSON.stringify(BODY), String(CONNECTIONS), String(SECONDS)],
    { maxBuffer: 100_000_000 },
  )
  const loaded = JSON.parse(stdout) as Loaded
  assert.equal(loaded.refused, 0)
  return loaded
}

async function show(chain: Chain): Promise<void> {
  node.postMessage('show')
  await once(node, 'message')
  chain.height += 1
  chain.waiting -= 1
}

/**
 * Shows blocks in the first third of the stretch that begins now, the next when one is followed, each before the stretch ends.
 * @returns From when each was asked for until it was followed.
 */
async function showBlocks(chain: Chain): Promise<Span[]> {
  const stretchMs = SECONDS * 1_000
  const until = performance.now() + stretchMs
  await pause(stretchMs / 9)
  const spans: Span[] = []
  while (chain.waiting > 0 && performance.now() < until - (2 * stretchMs) / 3) {
    await show(chain)
    while (Number((await findChainProgress(db, 'bitcoin'))?.tipHeight) !== chain.height) {
      assert.ok(performance.now() < until, `block ${chain.height} was not followed in its stretch`)
      await pause(LOOK_MS)
    }
    const followedAt = Date.now()
    node.postMessage('asked?')
    const [askedAt] = (await once(node, 'message')) as [number]
    assert.ok(askedAt > 0)
    spans.push([askedAt, followedAt])
  }
  return spans
}

/** Milliseconds. */
interface Took {
  readonly all: readonly number[]
  /** Of those that were sent while the machine had its processors and its disk. */
  readonly given: readonly number[]
}

/** How long the requests took that were under way in one of the spans. */
function tookDuring(spans: readonly Span[], { beganClockMs, requests }: Loaded, { wasGiven }: Given): Took {
  const began = beganClockMs + performance.now() - Number(process.hrtime.bigint()) / 1e6
  const under = requests.filter(([sent, answered]) =>
    spans.some(([from, to]) => sent <= to && answered >= from),
  )
  const tookOf = (some: typeof requests) => some.map(([sent, answered]) => answered - sent)
  return {
    all: tookOf(under),
    given: tookOf(under.filter(([sent]) => wasGiven(began + sent, began + sent + REACH_MS))),
  }
}

function enough(took: Took | undefined): boolean {
  return (took?.given.length ?? 0) >= REQUESTS_MIN
}

function p99(took: readonly number[]): number {
  const sorted = took.toSorted((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
}

/** What was answered was made, and nothing that was not asked for; what was paid was found. */
async function check({ sent, answers }: Pick<Loaded, 'sent' | 'answers'>, chain: Chain): Promise<void> {
  const { rows } = await db.query<Record<'loaded' | 'paid' | 'found' | 'deposits', number>>(
    `select (select count(*) from payments where asset = 'LTC')::int as loaded,
       (select count(*) from payments where asset = 'BTC' and status <> 'pending')::int as paid,
       (select count(*) from deposits d join payments p on p.account_id = d.account_id and p.id = d.payment_id
         where d.chain = 'bitcoin' and d.address = p.address and d.amount_atoms = p.due_atoms)::int as found,
       (select count(*) from deposits)::int as deposits`,
  )
  assert.ok(rows[0])
  const { loaded, paid, found, deposits } = rows[0]
  assert.ok(answers <= loaded && loaded <= sent, `${answers} answers, ${loaded} payments, ${sent} requests`)
  // The first block paid nobody.
  const due = (chain.height - 1) * PAID_PER_BLOCK
  assert.deepEqual({ paid, found, deposits }, { paid: due, found: due, deposits: due })
}
