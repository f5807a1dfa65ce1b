/**
 * The tables that a simulated gateway needs, in memory, with what PostgreSQL promises of them: a transaction happens as a
 * whole or not at all, no other one sees half of it, unique keys hold, and so do the CHECKs that guard money. The
 * modules beside this one stand in for the `*.sql.ts` files of the same name; `hooks.ts` puts them there. Everything
 * else that runs is the house itself.
 */
import type { Account } from '../../../src/accounts/account.ts'
import type { Asset, ChainName } from '../../../src/core/assets.ts'
import type { AccountId, PaymentId } from '../../../src/core/ids.ts'
import { DAY_MS, MINUTE_MS, utcDay } from '../../../src/core/time.ts'
import type { Database, Queryable, Tx } from '../../../src/db/database.ts'
import type { Arrow } from '../../../src/db/time-arrow.ts'
import type { Deposit } from '../../../src/deposits/deposit.ts'
import type { Cause, Transfer } from '../../../src/ledger/chart-of-accounts.ts'
import type { DailyBalance } from '../../../src/ledger/daily-balances.sql.ts'
import type { Payment } from '../../../src/payments/payment.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import type { SetMember } from '../../../src/treasury/signed-transactions.sql.ts'
import type { SweepStatus } from '../../../src/treasury/sweep.ts'
import type { Branch } from '../../../src/wallets/derivation.ts'
import type { Withdrawal } from '../../../src/withdrawals/withdrawal.ts'

export interface AddressRow {
  readonly chain: ChainName
  readonly lookup: Uint8Array
  readonly address: string
  readonly branch: Branch
  readonly position: bigint
  readonly series: string
  readonly paymentId: PaymentId | null
  readonly accountId: AccountId | null
  /** It may have been handed out by what a database that was set back has forgotten. */
  readonly isWithheld?: boolean
}

export interface ChainRow {
  readonly chain: ChainName
  readonly identity: string
  readonly tipHeight: number
  readonly tipHash: string
  readonly tipTime: Date
  readonly polledAt: Date | null
  readonly haltedReason: string | null
  readonly capitalHeight: number
  readonly epoch: bigint
  readonly leaseUntil: Date | null
}

export interface DepositRow extends Deposit {
  readonly replacedBy: string | null
  readonly replacedHeight: number | null
  readonly missingSince: Date | null
}

export interface UtxoRow {
  readonly chain: ChainName
  readonly txid: string
  readonly index: number
  readonly lookup: Uint8Array
  readonly atoms: bigint
  readonly blockHeight: number | null
  readonly spentBy: string | null
  readonly spentHeight: number | null
  readonly reservedBy: string | null
  readonly reservedFirstBy: string | null
}

export interface SignedRow extends SetMember {
  /** Empty until it is released. */
  readonly raw: string
  readonly valueAtoms: bigint
  readonly feeRate: bigint
  readonly createdAt: number
  readonly sendAt: number
  readonly refusal: string | null
  readonly bumpWanted: boolean
}

export interface EntryRow {
  readonly accountId: AccountId
  readonly chain: ChainName
  readonly at: Date
  readonly cause: Cause
  readonly transfers: readonly Transfer[]
}

export interface EventRow {
  readonly accountId: AccountId
  readonly type: string
  readonly cause: string
}

/** Planned, or on its way, or where it ended; chains with accounts. */
export interface SweepRow {
  readonly id: string
  readonly address: string
  readonly series: string
  readonly position: bigint
  readonly asset: Asset
  readonly atoms: bigint
  readonly etherAtoms: bigint
  readonly way: 'alone' | 'batch'
  readonly delegates: boolean
  readonly status: SweepStatus
  readonly gasReplacementSet: string | null
  readonly replacementSet: string | null
  readonly createdAt: number
}

/** Ether that we gave an address, by the block that holds it. */
export interface GasFundingRow {
  readonly txid: string
  readonly address: string
  readonly atoms: bigint
  readonly blockHeight: number
  /** The sweep that took what was left of it. */
  readonly sweep: string | null
}

/** The contract that batches run at. */
export interface DelegateRow {
  readonly replacementSet: string | null
  readonly wantedSince: number | null
}

/** What a batch moved by its block. */
export interface SweptTokensRow {
  readonly txid: string
  readonly address: string
  readonly asset: Asset
  readonly atoms: bigint
}

/** What reached the hot wallet from outside, or an address for deposits that no payment has. */
export interface UnexpectedDepositRow {
  readonly txKey: string
  readonly index: number
  readonly asset: Asset
  readonly atoms: bigint
  readonly blockHeight: number | null
  /** Null at the hot wallet. */
  readonly address: string | null
  readonly sweep: string | null
}

/** Rows by key, in the order they came; every change can be taken back. */
export class Table<Row> {
  readonly #rows = new Map<string, Row>()
  readonly #undo: { log: (() => void)[] | null }

  constructor(undo: { log: (() => void)[] | null }) {
    this.#undo = undo
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key)
  }
  has(key: string): boolean {
    return this.#rows.has(key)
  }
  values(): IterableIterator<Row> {
    return this.#rows.values()
  }
  [Symbol.iterator](): IterableIterator<[string, Row]> {
    return this.#rows.entries()
  }
  keys(): IterableIterator<string> {
    return this.#rows.keys()
  }
  get size(): number {
    return this.#rows.size
  }
  /** Outside of any transaction. */
  replace(rows: Iterable<readonly [string, Row]>): void {
    this.#rows.clear()
    for (const [key, row] of rows) this.#rows.set(key, row)
  }
  set(key: string, row: Row): void {
    const before = this.#rows.get(key)
    this.#undo.log?.push(() => {
      if (before === undefined) this.#rows.delete(key)
      else this.#rows.set(key, before)
    })
    this.#rows.set(key, row)
  }
  delete(key: string): void {
    const before = this.#rows.get(key)
    if (before === undefined) return
    this.#undo.log?.push(() => this.#rows.set(key, before))
    this.#rows.delete(key)
  }
}

/** A worker's process ended here. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/** A row that may not be: PostgreSQL's unique violation, or a CHECK. */
export class Violation extends Error {
  readonly severity = 'ERROR'
  readonly code: '23505' | '23514'
  constructor(code: '23505' | '23514', message: string) {
    super(message)
    this.code = code
  }
}

/** One process that uses the tables: it may end at any of its statements. */
export interface Worker {
  readonly name: string
  /** Statements left until it ends; null for never. */
  crashIn: number | null
  dead: boolean
}

/** Rules that a test breaks on purpose, to see the simulation notice. */
export const MUTATIONS = [
  'deposit-counted-twice',
  'hold-forgotten',
  'cause-not-unique',
  'reorganisation-ignored',
  'payout-key-not-unique',
  'event-announced-twice',
  'rollback-forgotten',
  'tick-forgotten',
  'journal-not-asked',
  'addresses-not-withheld',
  'day-closed-twice',
] as const
export type Mutation = (typeof MUTATIONS)[number]

export interface TablesOptions {
  /** A random whole number below a bound. */
  readonly random: (below: number) => number
  /** Further deposit addresses, from a position on. */
  readonly deriveFresh: (from: bigint) => AddressRow[]
  readonly mutation?: Mutation | null
}

/** When a story begins. */
export const FIRST_MS = Date.UTC(2026, 0, 1)

export class Tables {
  readonly #undo: { log: (() => void)[] | null } = { log: null }
  readonly #tables: Table<unknown>[] = []
  readonly accounts = this.#table<Account>()
  readonly addresses = this.#table<AddressRow>()
  readonly chains = this.#table<ChainRow>()
  /** Hashes of blocks, by height. */
  readonly blocks = this.#table<string>()
  readonly payments = this.#table<Payment>()
  readonly decisionsDue = this.#table<true>()
  readonly deposits = this.#table<DepositRow>()
  /** What unconfirmed deposits spend, by `spent tx:index tx`. */
  readonly inputs = this.#table<{ spent: string; spentTx: string; txKey: string }>()
  readonly unresolved = this.#table<{ paymentId: PaymentId; asset: Asset; atoms: bigint }>()
  readonly entries = this.#table<EntryRow>()
  readonly balances = this.#table<bigint>()
  readonly freezes = this.#table<true>()
  readonly alerts = this.#table<string>()
  readonly events = this.#table<EventRow>()
  readonly withdrawals = this.#table<Withdrawal & { mac: Uint8Array }>()
  readonly signed = this.#table<SignedRow>()
  /** The replacement set that pays a withdrawal. */
  readonly payouts = this.#table<string>()
  readonly utxos = this.#table<UtxoRow>()
  readonly feeRates = this.#table<{ rate: bigint; priorityRate: bigint }>()
  /** The next nonce, by sender. */
  readonly nonces = this.#table<bigint>()
  /** What senders held when it was looked last, by `sender asset`. */
  readonly accountBalances = this.#table<{ atoms: bigint; seenHeight: number }>()
  readonly unexpectedDeposits = this.#table<UnexpectedDepositRow>()
  readonly sweeps = this.#table<SweepRow>()
  readonly sweptTokens = this.#table<SweptTokensRow>()
  /** The sweep that takes, or took, a deposit, by the deposit's key. */
  readonly sweptBy = this.#table<string>()
  readonly sweepDelegates = this.#table<DelegateRow>()
  /** By `txid address`. */
  readonly gasFunding = this.#table<GasFundingRow>()
  readonly timeArrow = this.#table<Arrow & { readonly rememberedEra: number }>()
  /** What accounts had when days ended, by `account currency day`. */
  readonly dailyBalances = this.#table<DailyBalance>()
  readonly closedDays = this.#table<true>()
  /** The next position of change, by series. */
  readonly nextChange = this.#table<bigint>()

  /** Payments that lost a deposit once, for a time or for good: they may have ended before it came back. */
  readonly bereft = new Set<PaymentId>()
  readonly mutation: Mutation | null
  readonly deriveFresh: TablesOptions['deriveFresh']
  readonly #random: (below: number) => number
  #now = FIRST_MS
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: TablesOptions) {
    this.#random = options.random
    this.mutation = options.mutation ?? null
    this.deriveFresh = options.deriveFresh
  }

  #table<Row>(): Table<Row> {
    const table = new Table<Row>(this.#undo)
    this.#tables.push(table as Table<unknown>)
    return table
  }

  /** A copy of the whole database. @returns What sets it back to that. */
  copy(): () => void {
    const copies = this.#tables.map((table) => [...table])
    return () => {
      for (const [index, table] of this.#tables.entries()) table.replace(copies[index] ?? [])
    }
  }

  /** The clock of the database: later at each look. */
  now(): Date {
    this.#now += 1
    return new Date(this.#now)
  }
  /** It is a minute past midnight: what began before it has ended. @returns The day that is over. */
  passMidnight(): string {
    const day = utcDay(new Date(this.#now))
    this.#now = (Math.floor(this.#now / DAY_MS) + 1) * DAY_MS + MINUTE_MS
    return day
  }
  nowMs(): number {
    this.#now += 1
    return this.#now
  }

  /** The tables as one worker sees them. */
  open(worker: Worker): Database {
    const handle = { tables: this, worker }
    const query: Queryable['query'] = async (text) => {
      throw new TypeError(`no table answers ${text}`)
    }
    const tx: Tx & Handle = { ...handle, inTransaction: true, query }
    const database: Database & Handle = {
      ...handle,
      query,
      gathering: () => database,
      transaction: (work) => this.#exclusively(worker, () => work(tx)),
      connections: () => ({ busy: 0, idle: 0, waiting: 0 }),
      close: async () => {},
    }
    return database
  }

  /** One transaction after the other; what throws, and what a crash cuts off, leaves no trace. */
  async #exclusively<Result>(worker: Worker, work: () => Promise<Result>): Promise<Result> {
    await this.tick(worker)
    const before = this.#last
    let end = () => {}
    this.#last = new Promise<void>((resolve) => {
      end = resolve
    })
    await before
    const log: (() => void)[] = []
    this.#undo.log = log
    try {
      const result = await work()
      await this.tick(worker)
      return result
    } catch (error) {
      if (this.mutation !== 'rollback-forgotten') for (const undo of log.reverse()) undo()
      throw error
    } finally {
      this.#undo.log = null
      end()
      // Committed, or not; nobody may hear of it.
      if (!worker.dead) this.#maybeEnd(worker)
    }
  }

  /** A statement: other workers may come first, and the process may end before it. */
  async tick(worker: Worker): Promise<void> {
    for (let turns = this.#random(3); turns > 0; turns--) await null
    this.#maybeEnd(worker)
    if (worker.dead) throw new Crash(`${worker.name} ended`)
  }

  #maybeEnd(worker: Worker): void {
    if (worker.crashIn === null) return
    worker.crashIn -= 1
    if (worker.crashIn < 0) {
      worker.crashIn = null
      worker.dead = true
    }
  }
}

interface Handle {
  readonly tables: Tables
  readonly worker: Worker
}

/** Runs one statement on the tables behind a connection; outside of a transaction it is one of its own. */
export async function run<Result>(db: Queryable, statement: (tables: Tables) => Result): Promise<Result> {
  const { tables, worker } = db as Queryable & Handle
  if ('inTransaction' in db) {
    await tables.tick(worker)
    return statement(tables)
  }
  return (db as Database).transaction(async () => statement(tables))
}

/** A replacement set. */
export const membersOf = (tables: Tables, replacementSet: string): SignedRow[] =>
  [...tables.signed.values()].filter((row) => row.replacementSet === replacementSet)

/** One that is in a block, or may enter one yet: of a set of which none is there the newest; a child lives beside its parent. */
export const isComing = (tables: Tables, row: SignedRow | undefined): boolean =>
  row !== undefined &&
  (row.blockHeight !== null ||
    (isOpen(row.status) &&
      membersOf(tables, row.replacementSet).every(
        (member) =>
          (member.kind !== 'replacement' || member.createdAt <= row.createdAt) &&
          (row.kind === 'child' || member.kind === 'child' || member.blockHeight === null),
      ) &&
      !hasLostCoin(tables, row)))

/** Of its replacement set. */
export const hasLostCoin = (tables: Tables, { replacementSet }: SignedRow): boolean =>
  [...tables.utxos.values()].some(
    ({ txid, reservedBy, blockHeight }) =>
      reservedBy === replacementSet &&
      blockHeight === null &&
      tables.signed.get(txid)?.replacementSet !== replacementSet,
  )

/** A sweep of ether that was signed again, and for less: a reorganisation took a part of what was there. */
export function isLowered(tables: Tables, { asset, replacementSet }: SweepRow): boolean {
  const first = replacementSet === null ? undefined : tables.signed.get(replacementSet)
  if (!first || asset !== 'ETH') return false
  const taken = ({ valueAtoms, feeAtoms }: SignedRow) => valueAtoms + feeAtoms
  return membersOf(tables, first.txid).some((row) => taken(row) < taken(first))
}

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')

/** The row, which must be there. */
export function existing<Row>(table: Table<Row>, key: string): Row {
  const row = table.get(key)
  if (row === undefined) throw new Error(`no row ${key}`)
  return row
}

/** Asked for, not refused, and nothing is signed for it. */
export const isWaiting = (tables: Tables, id: string): boolean => {
  const row = tables.withdrawals.get(id)
  return row?.status === 'requested' && row.refusedReason === null && !tables.payouts.has(id)
}
