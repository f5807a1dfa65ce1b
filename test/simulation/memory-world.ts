/** A world whose gateway keeps its rows in memory. Only to be used where `hooks.ts` is in force. */
import type { Account } from '../../src/accounts/account.ts'
import { mine } from '../../src/chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../src/chains/simulated/memory.ts'
import type { SimulatedChainName } from '../../src/chains/simulated/network.ts'
import { simulatedPort } from '../../src/chains/simulated/simulated-chain.ts'
import { InvariantBroken } from '../../src/core/errors.ts'
import type { AccountId } from '../../src/core/ids.ts'
import type { Log } from '../../src/core/log.ts'
import { meetChain } from '../../src/flows/watching/observe-chain.ts'
import type { Signer } from '../../src/signer/signer.ts'
import { type ChainKeys, chainKeys } from '../../src/signer/vault.ts'
import type { Branch, DerivedAddress } from '../../src/wallets/derivation.ts'
import { gatewayOn } from '../gateway-on.ts'
import { TEST_SECRETS, testMode, testRoot } from '../wallet.ts'
import { Checker } from './check.ts'
import { dumpTables } from './dump.ts'
import { memoryJournal } from './memory-journal.ts'
import { seeded } from './random.ts'
import { Crash, hex, type Mutation, Tables, Violation, type Worker } from './rows/tables.ts'
import { sendCapital } from './story.ts'
import { unsteadyNode } from './unsteady-node.ts'
import { type Process, SIGNER_CONFIG, type World } from './world.ts'

const ACCOUNT: Account = {
  id: '00000000-0000-7000-8000-000000000001' as AccountId,
  name: 'Shop',
  email: 'shop@example.com',
  mode: 'test',
  currency: 'USD',
  acceptsLateFunds: false,
  toleranceBps: 0,
  feeBps: null,
  offeredAssets: null,
  contact: null,
  termsUrl: null,
  privacyUrl: null,
  confirmationRules: [],
  successUrl: null,
  cancelUrl: null,
  brandName: null,
  brandLogo: null,
  brandColor: null,
  frameOrigins: [],
  trouble: null,
  createdAt: new Date(0),
}

const DEPOSIT_ADDRESSES = 16
const CHANGE_ADDRESSES = 64

/** Keys of one chain that derive nothing twice: curve arithmetic is most of what signing costs. */
const keysOf = new Map<SimulatedChainName, ChainKeys>()
function cachedKeys(chain: SimulatedChainName): ChainKeys {
  const known = keysOf.get(chain)
  if (known) return known
  const keys = chainKeys(testRoot, chain, testMode(chain))
  const addresses = new Map<string, DerivedAddress>()
  const privateKeys = new Map<string, Uint8Array>()
  const remember = <Value>(map: Map<string, Value>, key: string, make: () => Value): Value => {
    const found = map.get(key) ?? make()
    map.set(key, found)
    return found
  }
  const cached: ChainKeys = {
    ...keys,
    address: (branch, position) =>
      remember(addresses, `${branch}:${position}`, () => keys.address(branch, position)),
    privateKey: (branch, position) =>
      remember(privateKeys, `${branch}:${position}`, () => keys.privateKey(branch, position)),
  }
  keysOf.set(chain, cached)
  return cached
}

export interface MemoryWorld extends World {
  readonly tables: Tables
  readonly checker: Checker
}

export interface MemoryWorldOptions {
  readonly chain: SimulatedChainName
  readonly seed: number
  readonly mutation?: Mutation | null
}

export async function memoryWorld({ chain, seed, mutation }: MemoryWorldOptions): Promise<MemoryWorld> {
  const turns = seeded(seed, 2)
  const tables = new Tables({ random: turns.below, mutation: mutation ?? null })
  const storage = createMemoryStorage({ chain, seed: String(seed), now: () => tables.nowMs() })
  await storage.change((store) => mine(store, 3))
  const keys = cachedKeys(chain)
  issueAddresses(tables, chain, keys)
  tables.accounts.set(ACCOUNT.id, ACCOUNT)
  const checker = new Checker(tables, storage, chain)
  const connection = { percent: 0, feeTimes: 1n, random: seeded(seed, 3) }
  const complaints: string[] = []

  const start = (name: string): Process => {
    const worker: Worker = { name, crashIn: null, dead: false }
    const db = tables.open(worker)
    const log = complaining(complaints)
    const gateway = gatewayOn(db, TEST_SECRETS, log)
    const tick = () => tables.tick(worker)
    const bare = simulatedPort(storage)
    const noting = {
      ...bare,
      broadcast: async (raw: string) => {
        const before = new Set(await storage.reads.mempoolIds())
        const outcome = await bare.broadcast(raw)
        for (const txid of await storage.reads.mempoolIds())
          if (!before.has(txid)) await checker.noteBroadcast(txid)
        return outcome
      },
    }
    const signer: Signer = {
      db,
      secrets: TEST_SECRETS,
      journal: memoryJournal(tick),
      config: SIGNER_CONFIG,
      vault: new Map([[chain, keys]]),
      log,
    }
    return {
      name,
      gateway,
      port: unsteadyNode(noting, connection, tick),
      signer,
      lease: null,
      async prove() {},
      doom(statements) {
        worker.crashIn = statements
      },
      revive() {
        const was = worker.dead
        worker.dead = false
        return was
      },
    }
  }
  const [one, two, api] = [start('one'), start('two'), start('api')]
  await meetChain(one.gateway, one.port)
  await sendCapital(storage, keys, seed)

  return {
    chain,
    account: ACCOUNT,
    storage,
    processes: [one, two],
    api,
    tables,
    checker,
    complaints,
    restart(part) {
      turns.restart(part)
      connection.random.restart(part)
    },
    setFees(times) {
      connection.feeTimes = times
    },
    setFaults(percent) {
      connection.percent = percent
    },
    async endWindow(id) {
      const payment = tables.payments.get(id)
      const now = tables.now()
      if (payment && payment.expiresAt > now) tables.payments.set(id, { ...payment, expiresAt: now })
    },
    async endLease() {
      const row = tables.chains.get(chain)
      if (row) tables.chains.set(chain, { ...row, leaseUntil: null })
    },
    async passHour() {
      for (const [key, row] of tables.deposits)
        if (row.missingSince)
          tables.deposits.set(key, {
            ...row,
            missingSince: new Date(row.missingSince.getTime() - 2 * 3_600_000),
          })
    },
    async makeDue() {
      for (const [key, row] of tables.signed) tables.signed.set(key, { ...row, sendAt: 0 })
    },
    dump: async () => dumpTables(tables),
    check: () => checker.check(),
    checkEnd: () => checker.checkEnd(),
  }
}

function issueAddresses(tables: Tables, chain: SimulatedChainName, keys: ChainKeys): void {
  for (const [branch, count] of [
    [0, DEPOSIT_ADDRESSES],
    [1, CHANGE_ADDRESSES],
  ] as const satisfies readonly (readonly [Branch, number])[])
    for (let position = 0n; position < BigInt(count); position++) {
      const { lookup, address } = keys.address(branch, position)
      tables.addresses.set(hex(lookup), {
        chain,
        lookup,
        address,
        branch,
        position,
        series: keys.series,
        accountId: null,
        paymentId: null,
      })
    }
}

/** Loops log what they survive; a broken invariant among it is a finding all the same. */
const complaining = (complaints: string[]): Log => ({
  debug() {},
  info() {},
  warn() {},
  error(fields, message) {
    const error = 'err' in fields ? fields.err : null
    if (error instanceof Crash || !(error instanceof Error)) return
    const isBroken =
      error instanceof InvariantBroken || error instanceof Violation || error instanceof TypeError
    if (isBroken) complaints.push(`${message}: ${error.stack}`)
  },
})
