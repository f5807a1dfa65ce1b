/** A world whose gateway keeps its rows in memory. Only to be used where `hooks.ts` is in force. */
import type { Account } from '../../src/accounts/account.ts'
import { mine } from '../../src/chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../src/chains/simulated/memory.ts'
import type { SimulatedChainName } from '../../src/chains/simulated/network.ts'
import type { Asset } from '../../src/core/assets.ts'
import { InvariantBroken } from '../../src/core/errors.ts'
import type { AccountId, PaymentId } from '../../src/core/ids.ts'
import type { Log } from '../../src/core/log.ts'
import { SECOND_MS } from '../../src/core/time.ts'
import { beginEra, readArrow } from '../../src/db/time-arrow.sql.ts'
import type { Moment, TimeMemory } from '../../src/db/time-arrow.ts'
import { openTimeKeeper } from '../../src/flows/recovery/keep-time.ts'
import type { ToldPayments } from '../../src/flows/recovery/told-payments.ts'
import { meetChain } from '../../src/flows/watching/observe-chain.ts'
import { thaw } from '../../src/ledger/freezes.sql.ts'
import type { Signer } from '../../src/signer/signer.ts'
import { timeCheck } from '../../src/signer/time.ts'
import { type ChainKeys, chainKeys } from '../../src/signer/vault.ts'
import type { Branch, DerivedAddress } from '../../src/wallets/derivation.ts'
import { gatewayOn } from '../gateway-on.ts'
import { TEST_SECRETS, testMode, testRoot } from '../wallet.ts'
import { Checker } from './check.ts'
import { dumpTables } from './dump.ts'
import { memoryJournal } from './memory-journal.ts'
import { seeded } from './random.ts'
import {
  type AddressRow,
  Crash,
  existing,
  hex,
  type Mutation,
  Tables,
  Violation,
  type Worker,
} from './rows/tables.ts'
import { sendCapital } from './story.ts'
import { unsteadyNode } from './unsteady-node.ts'
import { NO_APPROVALS, type Process, portOf, SIGNER_CONFIG, type World } from './world.ts'

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
  closedAt: null,
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
  /** With one signer alone: what another one signed no journal but its own could give back. */
  readonly setBack?: boolean
  /** The chain knows no EIP-7702. */
  readonly givesGas?: boolean
}

export async function memoryWorld({
  chain,
  seed,
  mutation,
  setBack: mayBeSetBack = false,
  givesGas = false,
}: MemoryWorldOptions): Promise<MemoryWorld> {
  const turns = seeded(seed, 2)
  const keys = cachedKeys(chain)
  const deriveFresh = (from: bigint) => addressesOf(chain, keys, 0, from, DEPOSIT_ADDRESSES)
  const tables = new Tables({ random: turns.below, deriveFresh, mutation: mutation ?? null })
  const storage = createMemoryStorage({ chain, seed: String(seed), now: () => tables.nowMs() })
  await storage.change((store) => mine(store, 3))
  for (const row of [...deriveFresh(0n), ...addressesOf(chain, keys, 1, 0n, CHANGE_ADDRESSES)])
    tables.addresses.set(hex(row.lookup), row)
  const { lookup: withheld } = keys.address(0, 0n)
  tables.addresses.set(hex(withheld), { ...existing(tables.addresses, hex(withheld)), isWithheld: true })
  tables.accounts.set(ACCOUNT.id, ACCOUNT)
  const checker = new Checker(tables, storage, chain)
  const connection = { percent: 0, feeTimes: 1n, random: seeded(seed, 3) }
  const complaints: string[] = []

  /** The era in which the signer ended a turn last. */
  let comparedIn = 0
  const start = (name: string): Process => {
    const worker: Worker = { name, crashIn: null, dead: false }
    const db = tables.open(worker)
    const log = complaining(complaints)
    const time = openTimeKeeper({
      db,
      secrets: TEST_SECRETS,
      log,
      memory: memoryOfTime(tables),
      told: memoryOfPayments(tables),
    })
    const gateway = { ...gatewayOn(db, TEST_SECRETS, log), stopped: () => time.stopped() }
    // A second passes between two looks.
    let lookedAtMs = 0
    const look = timeCheck(memoryOfTime(tables), db, log, () => (lookedAtMs += SECOND_MS))
    const maySign = async () => (mayBeSetBack && name !== 'one' ? null : look())
    const tick = () => tables.tick(worker)
    const bare = portOf(storage, givesGas)
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
    const journal = memoryJournal(tick)
    const signer: Signer = {
      db,
      secrets: TEST_SECRETS,
      journal: mutation === 'journal-not-asked' ? { ...journal, payingFor: async () => [] } : journal,
      approvals: NO_APPROVALS,
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
      verify: () => time.verify(db),
      beat: () => time.turn(),
      maySign,
      hasSigned(era) {
        comparedIn = era
      },
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
  const processes = [one, two, api]
  let setBack: (() => void) | null = null

  return {
    chain,
    account: ACCOUNT,
    storage,
    withheld,
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
    passMidnight() {
      checker.noteMidnight(tables.passMidnight())
    },
    async makeDue() {
      for (const [key, row] of tables.signed) tables.signed.set(key, { ...row, sendAt: 0 })
    },
    async copyDatabase() {
      for (const { beat } of processes) await beat()
      setBack = tables.copy()
    },
    async setDatabaseBack() {
      if (setBack === null || tables.timeArrow.get('the only one')?.stopped) return false
      // What is lost is more than a second old.
      for (const { beat, maySign } of processes) await Promise.all([beat(), maySign()])
      setBack()
      setBack = null
      checker.setBack()
      return true
    },
    async resume() {
      if (await beginEra(one.gateway.db)) return checker.resume()
      const { hash } = await storage.reads.tip()
      const isKnown = comparedIn === (await readArrow(one.gateway.db))?.era
      if (!isKnown || tables.chains.get(chain)?.tipHash !== hash) return
      for (const asset of [...tables.freezes.keys()]) await thaw(one.gateway.db, chain, asset as Asset)
    },
    dump: async () => dumpTables(tables),
    check: () => checker.check(),
    checkEnd: () => checker.checkEnd(),
  }
}

const addressesOf = (
  chain: SimulatedChainName,
  keys: ChainKeys,
  branch: Branch,
  from: bigint,
  count: number,
): AddressRow[] =>
  Array.from({ length: count }, (_, index) => {
    const position = from + BigInt(index)
    const { lookup, address } = keys.address(branch, position)
    const of = { accountId: null, paymentId: null }
    return { chain, lookup, address, branch, position, series: keys.series, ...of }
  })

/** What a process remembers of time, and the payments that were told of: outside of the database, in files as it were. */
function memoryOfTime({ mutation }: Tables): TimeMemory {
  let seen: Moment | null = null
  return {
    get seen() {
      return seen
    },
    async remember({ history, era, tick, timeline, at }) {
      if (mutation !== 'tick-forgotten') seen = { history, era, tick, timeline, at }
    },
  }
}
function memoryOfPayments(tables: Tables): ToldPayments {
  const told = new Set<PaymentId>()
  return {
    async note() {
      for (const { id } of tables.payments.values()) told.add(id)
    },
    findGone: async () => [...told].filter((id) => !tables.payments.has(id)),
    list: async () => 'lost-payments',
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
