/**
 * Withdrawals while processes are killed: the server's paying part and the signer are real processes, one of them ends
 * by SIGKILL at a named step, again and again, on one database with one simulated chain. Everything that happens follows
 * from a seed; only the timing does not.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { bech32 } from '@scure/base'
import { getAddress } from 'viem'
import { reorganise } from '../src/chains/simulated/ledger.ts'
import { lookupOf, type SimulatedChainName } from '../src/chains/simulated/network.ts'
import { createSimulatedChain } from '../src/chains/simulated/simulated-chain.ts'
import { lockSimulatedChain } from '../src/chains/simulated/store.sql.ts'
import { type Asset, networkOfChain } from '../src/core/assets.ts'
import { mineInSandbox, payInSandbox } from '../src/flows/sandbox.ts'
import { reconcile } from '../src/proof/reconcile.ts'
import { wishBump } from '../src/treasury/signed-transactions.sql.ts'
import { fillAddressPool } from '../src/wallets/address-pool.sql.ts'
import { settleNext } from '../src/workers/settle.ts'
import { startWatcher } from '../src/workers/watch.ts'
import { testAccount, testGateway, testPayment } from './gateway.ts'
import { type Answer, type Ask, KILL_CONFIRMATIONS } from './kill-protocol.ts'
import { buildPrograms, type KillableProcess, startProgram } from './killable-programs.ts'
import { type Random, seeded } from './simulation/random.ts'
import { until } from './wait-for.ts'
import { TEST_SECRETS } from './wallet.ts'

/** Every step of request, hold, refusal, broadcast and confirmation in the server. */
export const SERVER_STEPS = [
  'request:held',
  'request:written',
  'request:committed',
  'refuse:given-back',
  'refuse:committed',
  'broadcast:claimed',
  'broadcast:sent',
  'broadcast:recorded',
  'confirm:deep',
  'confirm:booked',
  'confirm:committed',
  'time:beat',
  'time:noted',
]

/** Of sweeps, where there are some. */
export const SWEEP_STEPS = ['sweep:planned', 'sweep:mined']

/** Every step of judging, signing, journal and placing in the signer. */
export const SIGNER_STEPS = [
  'signer:refused',
  'signer:planned',
  'signer:marked',
  'signer:signed',
  'signer:journaled',
  'signer:placing',
  'signer:placed',
  'signer:placing-journaled',
  'signer:ready',
  'signer:beat',
]

const ASSETS = {
  'sim-bitcoin': ['BTC'],
  'sim-litecoin': ['LTC'],
  'sim-ethereum': ['ETH', 'USDC'],
} as const satisfies Record<SimulatedChainName, readonly Asset[]>
const AMOUNTS: Partial<Record<Asset, number>> = { BTC: 0.001, LTC: 0.5, ETH: 0.02, USDC: 20 }

/** How long a step may take to come by, on a machine that does much else. */
const HIT_WITHIN_MS = 180_000
const OPEN_MAX = 5

export interface KillRange {
  /** Kills one process once at a step. Fails when the step does not come by. */
  kill(step: string, seed: number): Promise<void>
  /** Ends every process. */
  close(): Promise<void>
  /** Lets everything come to its end, and proves that each withdrawal was paid exactly once or its hold given back. */
  prove(): Promise<{ completed: number; failed: number }>
}

export async function openKillRange(chain: SimulatedChainName): Promise<KillRange> {
  const base = await testGateway()
  const gateway = { ...base, settings: { ...base.settings, confirmations: KILL_CONFIRMATIONS } }
  const { db } = gateway
  const account = await testAccount(gateway)
  const port = createSimulatedChain({ db, chain })
  // The signer of the sandbox gets the keys that the tests' wallets were published with.
  await db.query('insert into sandbox_seed (sealed) values ($1)', [
    TEST_SECRETS.seal('sandbox-seed', 'sandbox', Buffer.alloc(32)),
  ])
  const folder = await mkdtemp(join(tmpdir(), 'beck-kills-'))
  const programs = await buildPrograms()
  const watcher = startWatcher(gateway, port, { idleMs: 20 })
  const mine = (count: number) =>
    db
      .transaction(async (tx) => {
        // Kills come faster than an account may mine.
        await tx.query('update accounts set sandbox_mined_until = null where id = $1', [account.id])
        await mineInSandbox(tx, account, networkOfChain(chain), count)
      })
      .then(() => {})

  for (const asset of ASSETS[chain]) {
    for (let count = 0; count < 3; count++) {
      const payment = await testPayment(gateway, account, { asset, fiatMinor: 100_000_000n })
      await db.transaction((tx) => payInSandbox(tx, account, payment.id, { confirmations: 3 }))
    }
  }
  await until('the deposits are credited', async () => {
    await settleNext(gateway)
    const { rowCount } = await db.query(`select from payments where status <> 'completed'`)
    return rowCount === 0
  })

  let server: KillableProcess | null = null
  let signer: KillableProcess | null = null
  const asked: Ask[] = []
  const answers = new Map<string, Answer>()

  const startServer = async (step: string): Promise<KillableProcess> => {
    // The half minute for which a killed one had claimed what it was sending is over.
    await db.query(`update signed_transactions set send_at = now() where send_at > now()`)
    const started = startProgram(programs, 'server', [db.url, chain, account.id, folder], step, {})
    const ready = Promise.withResolvers<void>()
    started.child.on('message', (answer: Answer | 'ready') => {
      if (answer === 'ready') ready.resolve()
      else answers.set(answer.key, answer)
    })
    await Promise.race([ready.promise, started.died])
    // What was not answered is asked again, under the same key.
    for (const ask of asked) if (!answers.has(ask.key) && started.isAlive()) started.child.send(ask, () => {})
    return started
  }
  const startSigner = (step: string): KillableProcess =>
    startProgram(programs, 'signer', ['run'], step, {
      DATABASE_URL: db.url,
      BECK_DATA_DIR: folder,
      BECK_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
      BECK_CONFIRMATIONS: 'BTC=2,LTC=2,ETH=2,USDC=2,USDT=2',
      BECK_LOG_LEVEL: 'error',
    })
  const ensureRunning = async () => {
    if (!server?.isAlive()) server = await startServer('')
    if (!signer?.isAlive()) signer = startSigner('')
  }
  const openCount = async (): Promise<number> => {
    const { rowCount } = await db.query(`select from withdrawals where status in ('requested', 'broadcast')`)
    return rowCount + asked.filter(({ key }) => !answers.has(key)).length
  }
  async function balanceOf(asset: Asset, kind: string): Promise<bigint> {
    const { rows } = await db.query<{ atoms: bigint }>(
      'select atoms from balances where account_id = $1 and asset = $2 and kind = $3',
      [account.id, asset, kind],
    )
    return rows[0]?.atoms ?? 0n
  }

  /** A moment in the life of a merchant, and of a chain. */
  const live = async (random: Random, spoiltPercent: number) => {
    if ((await openCount()) < OPEN_MAX) {
      const asset = random.pick<Asset>(ASSETS[chain])
      const amount = ((AMOUNTS[asset] ?? 1) * (1 + random.below(9))).toFixed(6)
      const ask: Ask = {
        key: `ask-${asked.length}`,
        asset,
        amount,
        destination: randomDestination(chain, random),
        spoilt: random.percent(spoiltPercent),
      }
      asked.push(ask)
      if (server?.isAlive()) server.child.send(ask, () => {})
    }
    const chance = random.below(100)
    if (chance < 8) await bumpOne(random)
    else if (chance < 14 && chain === 'sim-ethereum') await earn(random)
    if (chance >= 97)
      await db.transaction(async (tx) => {
        await reorganise(await lockSimulatedChain(tx, chain), 1 + random.below(3))
      })
    else if (chance >= 40) await mine(1)
    while (await settleNext(gateway));
    await fillAddressPool(db, TEST_SECRETS, { fresh: 4, change: 20 })
    await setTimeout(10)
  }
  /** A buyer pays, so that there is something to sweep. */
  const earn = async (random: Random) => {
    const asset = random.pick<Asset>(ASSETS[chain])
    const payment = await testPayment(gateway, account, { asset, fiatMinor: 1_000_000n })
    await db.transaction((tx) => payInSandbox(tx, account, payment.id, { confirmations: 0 }))
  }
  const earnedOf = async (asset: Asset): Promise<bigint> => {
    const { rows } = await db.query<{ atoms: bigint }>(
      `select coalesce(sum(credited_atoms), 0) as atoms from payments where account_id = $1 and asset = $2`,
      [account.id, asset],
    )
    return rows[0]?.atoms ?? 0n
  }
  const bumpOne = async (random: Random) => {
    const { rows } = await db.query<{ replacement_set: string }>(
      `select distinct replacement_set from signed_transactions
       where chain = $1 and status not in ('confirmed', 'reverted', 'displaced', 'impossible')
         and block_height is null and sent_at is not null order by replacement_set`,
      [chain],
    )
    if (rows.length > 0) await wishBump(db, chain, random.pick(rows).replacement_set)
  }

  return {
    async kill(step, seed) {
      const random = seeded(seed, 1)
      const pass = 1 + random.below(3)
      const spoiltPercent = /refuse/.test(step) ? 50 : 5
      const inSigner = step.startsWith('signer:')
      if (inSigner) {
        await signer?.end()
        signer = startSigner(`${step}#${pass}`)
      } else {
        await server?.end()
        server = await startServer(`${step}#${pass}`)
      }
      const victim = inSigner ? signer : server
      assert(victim)
      await ensureOther(inSigner)
      const deadline = Date.now() + HIT_WITHIN_MS
      while (victim.isAlive()) {
        const other = inSigner ? server : signer
        assert.ok(other?.isAlive(), `seed ${seed}: the other one ended by itself:\n${other?.output()}`)
        assert.ok(Date.now() < deadline, `seed ${seed}: the kill at ${step}#${pass} on ${chain} did not hit`)
        await live(random, spoiltPercent)
      }
      assert.equal(
        await victim.died,
        'SIGKILL',
        `seed ${seed}: ${step}#${pass} on ${chain} was to be killed and ended by itself:\n${victim.output()}`,
      )
    },

    async close() {
      for (const process of [server, signer]) await process?.end()
      await watcher.stop()
      for (const each of [folder, programs]) await rm(each, { recursive: true, force: true })
    },

    async prove() {
      await ensureRunning()
      await until(
        'everything came to its end',
        async () => {
          await ensureRunning()
          await mine(1)
          while (await settleNext(gateway));
          await fillAddressPool(db, TEST_SECRETS, { fresh: 4, change: 20 })
          const { rowCount: unsettled } = await db.query(
            `select from signed_transactions where status not in ('confirmed', 'reverted', 'displaced', 'impossible') union all
           select from sweeps where status not in ('done', 'failed') union all
           select from payments where status not in ('completed', 'expired')`,
          )
          return unsettled === 0 && (await openCount()) === 0
        },
        HIT_WITHIN_MS,
      )
      const { rows: withdrawals } = await db.query<Row>(
        'select id, asset, status, destination, amount_atoms, net_atoms from withdrawals',
      )
      assert.equal(withdrawals.length, new Set([...answers.values()].flatMap(({ id }) => id ?? [])).size)
      const paid = await paidByDestination(chain)
      const gone = new Map<Asset, bigint>()
      for (const { id, asset, status, destination, amount_atoms, net_atoms } of withdrawals) {
        const lookup = lookupOf(chain, destination)
        assert(lookup)
        const payments = paid.get(Buffer.from(lookup).toString('hex')) ?? []
        assert.deepEqual(
          payments,
          status === 'completed' ? [net_atoms] : [],
          `withdrawal ${id} of ${asset} is ${status} and was paid ${payments.join(' + ')}`,
        )
        if (status === 'completed') gone.set(asset, (gone.get(asset) ?? 0n) + amount_atoms)
      }
      for (const asset of ASSETS[chain]) {
        assert.equal(await balanceOf(asset, 'held'), 0n)
        assert.equal(await balanceOf(asset, 'available'), (await earnedOf(asset)) - (gone.get(asset) ?? 0n))
      }
      await until('the books were compared with the chain', async () => {
        const { differences, unproven } = await reconcile(db, [port])
        assert.deepEqual(differences, [])
        return unproven.length === 0
      })
      const completed = withdrawals.filter(({ status }) => status === 'completed').length
      return { completed, failed: withdrawals.length - completed }
    },
  }

  async function ensureOther(inSigner: boolean): Promise<void> {
    if (inSigner && !server?.isAlive()) server = await startServer('')
    if (!inSigner && !signer?.isAlive()) signer = startSigner('')
  }

  /** What every address was paid on the best chain, transaction by transaction. */
  async function paidByDestination(of: SimulatedChainName): Promise<Map<string, bigint[]>> {
    const { rows } = await db.query<{ height: bigint }>(
      'select distinct height from sim_transactions where chain = $1 and height is not null',
      [of],
    )
    const paid = new Map<string, bigint[]>()
    for (const { height } of rows) {
      const hash = await port.blockHash(Number(height))
      assert(hash)
      for (const { outputs } of (await port.readBlock(hash)).transactions)
        for (const { lookup, atoms } of outputs) {
          const key = Buffer.from(lookup).toString('hex')
          paid.set(key, [...(paid.get(key) ?? []), atoms])
        }
    }
    return paid
  }
}

interface Row {
  id: string
  asset: Asset
  status: string
  destination: string
  amount_atoms: bigint
  net_atoms: bigint
}

/** A wallet that nobody else pays, of its network's kind. */
function randomDestination(chain: SimulatedChainName, random: Random): string {
  const bytes = Uint8Array.from({ length: 20 }, () => random.below(256))
  const network = networkOfChain(chain)
  if (network === 'ethereum') return getAddress(`0x${Buffer.from(bytes).toString('hex')}`)
  return bech32.encode(network === 'bitcoin' ? 'tb' : 'tltc', [0, ...bech32.toWords(bytes)])
}
