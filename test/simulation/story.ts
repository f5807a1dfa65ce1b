/** One story: steps that a seed chooses, taken in a world. The flows that run are the house's own. */
import { bech32 } from '@scure/base'
import {
  holdingKey,
  type SimulatedStorage,
  type SimulatedTransaction,
} from '../../src/chains/simulated/chain-store.ts'
import { mine, mint, reorganise, replace, withDescendants } from '../../src/chains/simulated/ledger.ts'
import { lookupOf } from '../../src/chains/simulated/network.ts'
import { ASSET_FACTS, type Asset } from '../../src/core/assets.ts'
import { Refusal } from '../../src/core/errors.ts'
import { formatDecimal } from '../../src/core/money.ts'
import { cancelPayment } from '../../src/flows/payments/cancel-payment.ts'
import { createPayment } from '../../src/flows/payments/create-payment.ts'
import { acceptPayment } from '../../src/flows/payments/resolve-payment.ts'
import { wentBack } from '../../src/flows/recovery/keep-time.ts'
import { refundPayment } from '../../src/flows/withdrawals/refund-payment.ts'
import { readOwnBalances, requestOwnPayout } from '../../src/flows/withdrawals/request-own-payout.ts'
import { requestWithdrawal } from '../../src/flows/withdrawals/request-withdrawal.ts'
import { lockBalance } from '../../src/ledger/post.sql.ts'
import type { Payment } from '../../src/payments/payment.ts'
import type { ChainKeys } from '../../src/signer/vault.ts'
import { listUnderWay, wishBump } from '../../src/treasury/signed-transactions.sql.ts'
import { OWN_KINDS, type Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { type Random, seeded } from './random.ts'
import { closeDay, expire, look, payOut, settle, sign, survive } from './workers.ts'
import type { Process, World } from './world.ts'

export interface StoryOptions {
  readonly random: Random
  /** Processes end anywhere, two work at once, and the node's connection breaks. Without it the story is calm. */
  readonly chaos: boolean
  /** Payments of a story: few, so that much happens to each. */
  readonly paymentsMax: number
  /** A buyer may pay in hundreds of parts, once. */
  readonly swarm?: boolean
  /** The database may be set back to a copy, once. */
  readonly setBack?: boolean
  /** Steps up to this one are calm: what was before chaos begins is different each time. */
  readonly calmUntil?: number
}

const ETHER = 10n ** 18n

/** The operator's, for payouts on chains with accounts: plenty of everything; or ether for gas, and the rest comes from sweeps. */
const CAPITALS = [
  { ETH: 1_000n * ETHER, USDC: 10n ** 12n, USDT: 10n ** 12n },
  { ETH: ETHER, USDC: 0n, USDT: 0n },
] as const

/** Sends the hot wallet of a chain with accounts what it pays from; the watcher has yet to see it. */
export async function sendCapital(
  storage: SimulatedStorage,
  { hotWallet }: ChainKeys,
  seed: number,
): Promise<void> {
  if (storage.reads.chain !== 'sim-ethereum') return
  const capital = seeded(seed, 4).pick(CAPITALS)
  await storage.change(async (store) => {
    for (const asset of ASSETS['sim-ethereum'])
      if (capital[asset] > 0n) await mint(store, { lookup: hotWallet.lookup, asset, atoms: capital[asset] })
  })
}

/** What the gateway was asked for so far. */
export interface Told {
  readonly payments: Payment[]
  readonly withdrawals: Withdrawal[]
  /** What buyers sent. */
  readonly txids: Set<string>
  /** Transactions of buyers that every mempool lost. */
  readonly forgotten: SimulatedTransaction[]
}

const ASSETS = {
  'sim-bitcoin': ['BTC'],
  'sim-litecoin': ['LTC'],
  'sim-ethereum': ['ETH', 'USDC', 'USDT'],
} as const satisfies Record<World['chain'], readonly Asset[]>

/** Parts of a payment in many. */
const SWARM = 120

/** Beck follows a reorganisation of a hundred blocks, and other ones come before it looks. */
const LOST_DEPTH_MAX = 40

/** More than a story has. */
const DAYS_MAX = 40
const PAYMENTS_AFTER_SET_BACK = 6

/** What may happen, and how often out of all. */
const STEPS = [
  ['create', 6],
  ['pay', 14],
  ['pay-withheld', 2],
  ['swarm', 1],
  ['fees', 2],
  ['mine', 16],
  ['reorganise', 6],
  ['replace', 3],
  ['lose', 1],
  ['forget', 2],
  ['return', 2],
  ['end-window', 3],
  ['look', 20],
  ['settle', 14],
  ['expire', 3],
  ['accept', 2],
  ['refund', 1],
  ['cancel', 1],
  ['withdraw', 2],
  ['take-out', 1],
  ['sign', 6],
  ['pay-out', 10],
  ['bump', 3],
  ['rush', 8],
  ['pass-hour', 2],
  ['midnight', 1],
  ['close-day', 3],
  ['end-lease', 2],
  ['beat', 4],
  ['copy', 1],
  ['set-back', 1],
  ['resume', 2],
] as const
export type StepName = (typeof STEPS)[number][0]
const WEIGHTS = STEPS.flatMap(([name, weight]) => Array.from({ length: weight }, () => name))

export class Story {
  readonly told: Told = { payments: [], withdrawals: [], txids: new Set(), forgotten: [] }
  readonly #world: World
  readonly #random: Random
  readonly #options: StoryOptions
  #isChaos = false
  #isSwarmLeft: boolean
  #isSetBackLeft: boolean
  #paymentsMax: number

  constructor(world: World, options: StoryOptions) {
    this.#world = world
    this.#random = options.random
    this.#options = options
    this.#isSwarmLeft = options.swarm ?? false
    this.#isSetBackLeft = options.setBack ?? false
    this.#paymentsMax = options.paymentsMax
  }

  /** Takes one step, which follows from its number and from what is there: whatever other steps were left out. @returns What it was. */
  async step(number: number): Promise<StepName> {
    const random = this.#random
    random.restart(number)
    this.#world.restart(number)
    this.#isChaos = this.#options.chaos && number >= (this.#options.calmUntil ?? 0)
    const name = this.told.payments.length === 0 ? 'create' : random.pick(WEIGHTS)
    if (this.#isChaos) this.#world.setFaults(random.percent(15) ? 10 : 0)
    await this.take(name)
    return name
  }

  async take(name: StepName): Promise<void> {
    const { storage, chain } = this.#world
    const random = this.#random
    switch (name) {
      case 'create':
        if (this.told.payments.length < this.#paymentsMax) await this.#create()
        return
      case 'pay':
        return this.#pay(random.pick(this.told.payments))
      case 'pay-withheld':
        return this.#payWithheld()
      case 'swarm':
        return this.#swarm()
      case 'fees':
        // Calm stories are told over PostgreSQL too, and compared.
        return this.#isChaos ? this.#world.setFees(random.pick([1n, 1n, 10n, 100n])) : undefined
      case 'mine':
        return this.#mine()
      case 'reorganise':
        return this.#reorganise()
      case 'replace':
        if (chain === 'sim-ethereum') return
        await this.#withWaiting(async (txid) => {
          const by = await storage.change((store) => replace(store, txid))
          if (by !== null) this.told.txids.add(by)
        })
        return
      case 'lose':
        return this.#lose()
      case 'forget':
        return this.#withWaiting((txid) => this.#forget(txid))
      case 'return':
        return this.#return()
      case 'rush':
        return this.#rush()
      case 'end-window':
        return this.#world.endWindow(random.pick(this.told.payments).id)
      case 'look':
        return this.#work((process) => look(process, this.#world))
      case 'settle':
        return this.#work(settle)
      case 'expire':
        return this.#work(expire)
      case 'accept':
        return this.#ask(({ gateway }, payment) =>
          gateway.db.transaction((tx) => acceptPayment(gateway, tx, this.#world.account, payment.id)),
        )
      case 'cancel':
        return this.#ask(({ gateway }, payment) =>
          gateway.db.transaction((tx) => cancelPayment(tx, payment.accountId, payment.id)),
        )
      case 'refund':
        return this.#refund()
      case 'withdraw':
        return this.#withdraw()
      case 'take-out':
        return this.#takeOut()
      case 'sign':
        return this.#work(sign)
      case 'pay-out':
        if (!this.#isChaos || random.percent(60)) await this.#world.makeDue()
        return this.#work(payOut)
      case 'bump':
        return this.#bump()
      case 'pass-hour':
        return this.#world.passHour()
      case 'midnight':
        // Calm stories are told over PostgreSQL too, whose clock nobody moves.
        return this.#isChaos && random.percent(50) ? this.#world.passMidnight() : undefined
      case 'close-day':
        return this.#isChaos ? this.#work(closeDay) : undefined
      case 'end-lease':
        return this.#world.endLease()
      case 'beat':
        await this.#work(({ beat }) => beat())
        await survive(this.#world.api.beat())
        return
      case 'copy':
        return this.#copy()
      case 'set-back':
        return this.#setBack()
      case 'resume':
        return this.#world.resume()
    }
  }

  /** Everything that is under way ends: a steady node, blocks, and every worker until there is nothing left to do. */
  async end(): Promise<void> {
    const { storage, processes } = this.#world
    this.#world.setFaults(0)
    this.#world.setFees(1n)
    for (const process of processes) {
      process.doom(null)
      process.revive()
    }
    for (const { beat } of processes) await beat()
    await this.#world.resume()
    for (const { id } of this.told.payments) await this.#world.endWindow(id)
    await this.#payAgain()
    // A sweep takes three: its contract, itself, and what was booked meanwhile. With gas, or lowered to what a reorganisation left, it
    // takes four, and an address is swept of one coin after the other: three coins, and what was booked meanwhile.
    const rounds = this.#world.chain === 'sim-ethereum' ? 16 : 4
    for (let round = 0; round < rounds; round++) {
      await storage.change((store) => mine(store, 12))
      await this.#world.resume()
      await this.#world.passHour()
      await this.#world.makeDue()
      await this.#world.endLease()
      for (const process of processes) {
        process.lease = null
        await look(process, this.#world)
        await settle(process)
        await expire(process)
        await sign(process)
        await payOut(process)
        await settle(process)
        for (let day = 0; day < DAYS_MAX && (await closeDay(process)); day++);
        await this.#world.endLease()
      }
    }
  }

  /** A sweep of ether that was lost for good waits until its address holds what is worth the fee that was offered. */
  async #payAgain(): Promise<void> {
    const lost = this.told.forgotten.flatMap(({ outputs }) => outputs.filter(({ asset }) => asset === 'ETH'))
    await this.#world.storage.change(async (store) => {
      for (const { lookup, asset } of lost) await mint(store, { lookup, asset, atoms: ETHER })
    })
  }

  /** With a withdrawal that waits: what a database forgets of it must not be paid again. */
  async #copy(): Promise<void> {
    if (!this.#isSetBackLeft) return
    await this.#withdraw()
    await this.#world.copyDatabase()
  }

  /** Processes keep what they have in memory: their connections alone break. */
  async #setBack(): Promise<void> {
    if (!this.#isChaos || !this.#isSetBackLeft || !(await this.#world.setDatabaseBack())) return
    this.#isSetBackLeft = false
    // What is handed out from here on is what has not been handed out.
    this.#paymentsMax = this.told.payments.length + PAYMENTS_AFTER_SET_BACK
  }

  /** A worker does its work; in chaos two may at once, and any may end in the middle. */
  async #work(work: (process: Process) => Promise<unknown>): Promise<void> {
    const random = this.#random
    const [first, second] = this.#world.processes
    if (!this.#isChaos) return void (await work(first))
    const chosen = random.percent(25) ? [first, second] : [random.pick([first, second])]
    if (chosen.length === 2 && random.percent(50)) await this.#world.endLease()
    for (const process of chosen) process.doom(random.percent(15) ? random.below(40) : null)
    await Promise.all(chosen.map((process) => survive(work(process))))
    this.#reviveAll()
  }

  /** The API carries something out, or refuses; it may end in the middle too. */
  async #request<Result>(ask: (api: Process) => Promise<Result>): Promise<Result | null> {
    const { api } = this.#world
    if (this.#isChaos) api.doom(this.#random.percent(5) ? this.#random.below(12) : null)
    const result = await survive(this.#askApi(ask))
    api.doom(null)
    api.revive()
    return result
  }

  async #askApi<Result>(ask: (api: Process) => Promise<Result>): Promise<Result> {
    const { api } = this.#world
    await api.verify()
    const stopped = api.gateway.stopped?.()
    if (stopped) throw wentBack(stopped)
    return ask(api)
  }

  async #ask(ask: (api: Process, payment: Payment) => Promise<unknown>): Promise<void> {
    const payment = this.#random.pick(this.told.payments)
    await this.#request((api) => ask(api, payment))
  }

  async #create(): Promise<void> {
    const { account, chain } = this.#world
    const asset = this.#random.pick<Asset>(ASSETS[chain])
    const fiatMinor = BigInt(this.#random.pick([1_000, 10_000, 33_333]))
    const payment = await this.#request(({ gateway }) =>
      gateway.db.transaction((tx) =>
        createPayment(gateway, tx, account, {
          asset,
          fiatMinor,
          fiatCurrency: 'USD',
          reference: null,
          customerEmail: null,
          metadata: null,
        }),
      ),
    )
    if (payment) this.told.payments.push(payment)
  }

  async #pay(payment: Payment): Promise<void> {
    const { chain, storage } = this.#world
    const lookup = this.#lookupOf(payment)
    const share = BigInt(this.#random.pick([100, 100, 100, 40, 60, 130, 0]))
    const atoms = (payment.dueAtoms * share) / 100n || 1n
    const asset = this.#random.percent(5) ? this.#random.pick<Asset>(ASSETS[chain]) : payment.asset
    this.told.txids.add(await storage.change((store) => mint(store, { lookup, asset, atoms })))
  }

  /** A buyer who was told an address that is withheld pays there: capital, once a sweep has brought it. */
  async #payWithheld(): Promise<void> {
    const { chain, storage, withheld: lookup } = this.#world
    if (chain !== 'sim-ethereum') return
    const asset = this.#random.pick<Asset>(ASSETS[chain])
    const coins = BigInt(this.#random.pick([1, 40, 1_000]))
    const atoms = asset === 'ETH' ? (coins * ETHER) / 1_000n : coins * 1_000_000n
    this.told.txids.add(await storage.change((store) => mint(store, { lookup, asset, atoms })))
  }

  /** One buyer pays in so many parts that a withdrawal of it all spends hundreds of UTXOs. */
  async #swarm(): Promise<void> {
    const { chain, storage } = this.#world
    if (!this.#isSwarmLeft || chain === 'sim-ethereum') return
    this.#isSwarmLeft = false
    const payment = this.#random.pick(this.told.payments)
    const { asset, dueAtoms } = payment
    const lookup = this.#lookupOf(payment)
    const atoms = dueAtoms / BigInt(SWARM) + 10n * ASSET_FACTS[asset].dustAtoms
    for (let part = 0; part < SWARM; part++)
      this.told.txids.add(await storage.change((store) => mint(store, { lookup, asset, atoms })))
  }

  #lookupOf({ address }: Payment): Uint8Array {
    const { chain } = this.#world
    const lookup = lookupOf(chain, address)
    if (!lookup) throw new Error(`${address} is an address of ${chain}`)
    return lookup
  }

  async #mine(count: number = this.#random.pick([1, 1, 2, 6, 12])): Promise<void> {
    await this.#world.storage.change((store) => mine(store, count))
  }

  async #reorganise(): Promise<void> {
    const depth = 1 + this.#random.below(this.#random.pick([2, 4, 14]))
    await this.#world.storage.change((store) => reorganise(store, depth)).catch(onlyRefusals)
  }

  /**
   * An address is paid twice and its sweep signed; then a reorganisation deeper than the confirmations takes one of its deposits, and
   * every mempool loses it, for good unless somebody still has it.
   */
  async #lose(): Promise<void> {
    const { chain, storage } = this.#world
    const inEther = this.told.payments.filter(({ asset }) => asset === 'ETH')
    if (chain !== 'sim-ethereum' || inEther.length === 0) return
    const payment = this.#random.pick(inEther)
    for (const blocks of [1, ASSET_FACTS.ETH.confirmations]) {
      await this.#pay(payment)
      await this.#mine(blocks)
    }
    await this.#workOnSweeps({ settles: true })
    const key = holdingKey({ lookup: this.#lookupOf(payment), asset: 'ETH' })
    const lost = await this.#pickDeposit(key)
    if (!lost) return
    await storage.change(async (store) => {
      await reorganise(store, lost.depth)
      // Nodes keep nothing that its sender may not be able to pay.
      const unpaid = (await store.mempool()).filter(({ debits }) =>
        debits.some((debit) => holdingKey(debit) === key),
      )
      await store.removeFromMempool(unpaid.map(({ txid }) => txid))
    })
    await this.#forget(lost.txid)
    if (this.#random.percent(10)) return
    await this.#mine()
    // Its sweep may be looked at before it is decided what becomes of the deposit.
    await this.#workOnSweeps({ settles: this.#random.percent(70) })
  }

  /** A deposit of ether, by the key of its address, if a block that is not too deep holds it. */
  async #pickDeposit(key: string): Promise<{ readonly txid: string; readonly depth: number } | undefined> {
    const { reads } = this.#world.storage
    const { height } = await reads.tip()
    const placed = await reads.transactions([...this.told.txids])
    const found = [...placed.values()].flatMap(({ transaction: { txid, outputs }, block }) => {
      const depth = block ? height - block.height + 1 : 0
      const isThere = outputs.some((output) => holdingKey(output) === key)
      return isThere && depth > 0 && depth <= LOST_DEPTH_MAX ? [{ txid, depth }] : []
    })
    return found.length === 0 ? undefined : this.#random.pick(found)
  }

  /** Once from the chain to what is signed for it, whoever led it before. */
  async #workOnSweeps({ settles }: { settles: boolean }): Promise<void> {
    await this.#world.endLease()
    for (const process of this.#world.processes) process.lease = null
    await this.#work((process) => look(process, this.#world))
    if (settles) await this.#work(settle)
    await this.#world.makeDue()
    await this.#work(payOut)
    await this.#work(sign)
  }

  /** Does something to a transaction of a buyer that waits, if there is one. */
  async #withWaiting(act: (txid: string) => Promise<void>): Promise<void> {
    const waiting = await this.#world.storage.reads.mempoolIds()
    const theirs = waiting.filter((txid) => this.told.txids.has(txid))
    if (theirs.length > 0) await act(this.#random.pick(theirs))
  }

  /** Every mempool loses it, with all that was built on it. */
  async #forget(txid: string): Promise<void> {
    await this.#world.storage.change(async (store) => {
      const placed = (await store.transactions([txid])).get(txid)
      if (!placed || placed.block) return
      await store.removeFromMempool(await withDescendants(store, [placed.transaction]))
      this.told.forgotten.push(placed.transaction)
    })
  }

  /** Somebody still had it, and sends it again; nothing may have taken its coins meanwhile. */
  async #return(): Promise<void> {
    const transaction = this.told.forgotten.pop()
    if (!transaction) return
    await this.#world.storage.change(async (store) => {
      if ((await store.claimants(transaction.claims)).size === 0) await store.addToMempool(transaction)
    })
  }

  /** All at once, as the loops of two processes run, while the chain moves and merchants ask. */
  async #rush(): Promise<void> {
    const random = this.#random
    if (!this.#isChaos) return this.#mine()
    const works = [(process: Process) => look(process, this.#world), settle, expire, sign, payOut]
    const tasks: Promise<unknown>[] = []
    for (const process of this.#world.processes) {
      process.doom(random.percent(15) ? random.below(80) : null)
      for (const work of works) if (random.percent(60)) tasks.push(survive(work(process)))
    }
    if (random.percent(15)) tasks.push(this.#withdraw())
    if (random.percent(30)) tasks.push(this.#mine())
    if (random.percent(15)) tasks.push(this.#reorganise())
    await Promise.all(tasks)
    this.#reviveAll()
  }

  #reviveAll(): void {
    for (const process of this.#world.processes) {
      process.doom(null)
      if (process.revive()) process.lease = null
    }
  }

  async #withdraw(): Promise<void> {
    const { account, chain } = this.#world
    const asset = this.#random.pick<Asset>(ASSETS[chain])
    const share = BigInt(this.#random.pick([10, 50, 100, 101]))
    const destination = this.#destination()
    const withdrawal = await this.#request(({ gateway }) =>
      gateway.db.transaction(async (tx) => {
        const available = await lockBalance(tx, { accountId: account.id, asset, kind: 'available' })
        const amount = formatDecimal((available * share) / 100n, ASSET_FACTS[asset].decimals)
        return requestWithdrawal(gateway, tx, account, { asset, amount, destination, askedBy: 'unknown' })
      }),
    )
    if (withdrawal) this.told.withdrawals.push(withdrawal)
  }

  /** The operator takes out what the gateway earned, or was given: some of it, all of it, or more than that. */
  async #takeOut(): Promise<void> {
    const { chain } = this.#world
    const asset = this.#random.pick<Asset>(ASSETS[chain])
    const kind = this.#random.pick(OWN_KINDS)
    const share = BigInt(this.#random.pick([10, 50, 100, 101]))
    const destination = this.#destination()
    const withdrawal = await this.#request(({ gateway }) =>
      gateway.db.transaction(async (tx) => {
        const [balance] = await readOwnBalances(tx, { chain, asset })
        const atoms = ((balance?.payable[kind] ?? 0n) * share) / 100n
        const amount = formatDecimal(atoms, ASSET_FACTS[asset].decimals)
        return requestOwnPayout(gateway, tx, { kind, mode: 'test', asset, amount, destination })
      }),
    )
    if (withdrawal) this.told.withdrawals.push(withdrawal)
  }

  async #refund(): Promise<void> {
    const { account } = this.#world
    const { id } = this.#random.pick(this.told.payments)
    const destination = this.#destination()
    const withdrawal = await this.#request(({ gateway }) =>
      gateway.db.transaction((tx) =>
        refundPayment(gateway, tx, account, id, { destination, amount: null, askedBy: 'unknown' }),
      ),
    )
    if (withdrawal) this.told.withdrawals.push(withdrawal)
  }

  async #bump(): Promise<void> {
    const { chain, api } = this.#world
    // In an order that follows from what was signed: sweeps that were planned together are signed in any.
    const waiting = (await listUnderWay(api.gateway.db, chain, null))
      .filter(({ blockHeight }) => blockHeight === null)
      .toSorted((a, b) => (a.txid < b.txid ? -1 : 1))
    if (waiting.length === 0) return
    await wishBump(api.gateway.db, chain, this.#random.pick(waiting).replacementSet)
    await this.#work(sign)
    await this.#world.makeDue()
    await this.#work(payOut)
  }

  /** An address nobody else is paid at, so that the chain itself tells who was paid. */
  #destination(): string {
    const hash = Uint8Array.from({ length: 20 }, () => this.#random.below(256))
    if (this.#world.chain === 'sim-ethereum') return `0x${Buffer.from(hash).toString('hex')}`
    return bech32.encode(this.#world.chain === 'sim-bitcoin' ? 'tb' : 'tltc', [0, ...bech32.toWords(hash)])
  }
}

function onlyRefusals(error: unknown): null {
  if (error instanceof Refusal) return null
  throw error
}
