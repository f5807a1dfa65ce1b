/** What is never so, after whatever step. Written from what must hold alone: it shares no sum with the house's own proof. */
import type { Balances, SimulatedStorage } from '../../src/chains/simulated/chain-store.ts'
import { ASSETS_OF_ACCOUNTS, lookupOf, type SimulatedChainName } from '../../src/chains/simulated/network.ts'
import type { Asset } from '../../src/core/assets.ts'
import { GATEWAY } from '../../src/core/gateway-account.ts'
import { showCause } from '../../src/ledger/chart-of-accounts.ts'
import type { PaymentStatus } from '../../src/payments/payment.ts'
import { isOpen } from '../../src/treasury/signed-transaction.ts'
import { DEPOSIT_BRANCH } from '../../src/wallets/derivation.ts'
import { isOwnKind, type WithdrawalStatus } from '../../src/withdrawals/withdrawal.ts'
import { TimeChecker } from './check-time.ts'
import { hex, type Tables } from './rows/tables.ts'

/** What a payment may become between two looks at it; a decision may take several steps at once. */
const PAYMENT_MOVES: Readonly<Record<PaymentStatus, readonly PaymentStatus[]>> = {
  // By way of detected, between two looks: funds seen for it were replaced once its window was over.
  pending: ['detected', 'completed', 'overpaid', 'underpaid', 'expired', 'cancelled', 'failed'],
  detected: ['pending', 'completed', 'overpaid', 'underpaid', 'failed', 'expired'],
  underpaid: ['detected', 'completed', 'overpaid', 'pending', 'failed'],
  completed: ['overpaid', 'detected', 'underpaid', 'failed'],
  overpaid: ['completed', 'detected', 'underpaid', 'failed'],
  expired: ['completed', 'detected', 'underpaid', 'overpaid', 'failed'],
  failed: ['completed', 'detected', 'underpaid', 'overpaid'],
  cancelled: ['completed', 'detected', 'underpaid', 'overpaid', 'failed'],
}
const WITHDRAWAL_MOVES: Readonly<Record<WithdrawalStatus, readonly WithdrawalStatus[]>> = {
  requested: ['broadcast', 'completed', 'failed'],
  broadcast: ['completed', 'failed'],
  // A reorganisation deeper than the confirmations may take a payout and the UTXO it spent: its hold is given back.
  completed: ['failed'],
  failed: [],
}

/** Remembers from step to step what rows were. */
export class Checker {
  readonly #tables: Tables
  readonly #storage: SimulatedStorage
  readonly #chain: SimulatedChainName
  readonly #payments = new Map<string, PaymentStatus>()
  readonly #withdrawals = new Map<string, WithdrawalStatus>()
  /** Transactions that the node took, by what they pay: destination lookups in hex. */
  readonly #paying = new Map<string, Set<string>>()
  readonly #lookups = new Map<string, string>()

  readonly #time: TimeChecker
  /** Books and chain differ by what the database has forgotten. */
  #isSetBack = false
  /** Entries that are summed already: what is booked stays as it is. */
  #summed = 0
  readonly #sums = new Map<string, bigint>()
  readonly #causes = new Set<string>()
  /** What of coins the ledger's wallet holds, and what of deposits is booked, by their ids. */
  readonly #wallet = new Map<Asset, bigint>()
  readonly #booked = new Map<string, bigint>()
  /** Events that were read already, and what they tell of. */
  #read = 0
  readonly #told = new Set<string>()

  constructor(tables: Tables, storage: SimulatedStorage, chain: SimulatedChainName) {
    this.#tables = tables
    this.#storage = storage
    this.#chain = chain
    this.#time = new TimeChecker(tables, storage)
  }

  /** The database was set back to a copy. */
  setBack(): void {
    this.#time.setBack()
    this.#isSetBack = true
    this.#payments.clear()
    this.#withdrawals.clear()
    this.#sums.clear()
    this.#causes.clear()
    this.#wallet.clear()
    this.#booked.clear()
    this.#summed = 0
    this.#told.clear()
    this.#read = 0
  }

  resume(): void {
    this.#time.resume()
  }

  /** A day is over. */
  noteMidnight(day: string): void {
    this.#time.noteMidnight(day)
  }

  /** The node took a transaction. */
  async noteBroadcast(txid: string): Promise<void> {
    this.#time.noteBroadcast(txid)
    const placed = (await this.#storage.reads.transactions([txid])).get(txid)
    for (const { lookup } of placed?.transaction.outputs ?? []) {
      const known = this.#paying.get(hex(lookup)) ?? new Set()
      this.#paying.set(hex(lookup), known.add(txid))
    }
  }

  async check(): Promise<string[]> {
    return [
      ...this.#balances(),
      ...this.#deposits(),
      ...this.#holds(),
      ...(this.#isSetBack ? [] : this.#wallets()),
      ...this.#moves(),
      ...this.#events(),
      ...(await this.#payouts()),
      ...(await this.#time.check((destination) => this.#paying.get(this.#lookupOf(destination)) ?? [])),
    ]
  }

  #balances(): string[] {
    const { entries, balances, unresolved } = this.#tables
    const merchant = new Set(['available', 'held', 'unresolved'])
    const [sums, causes] = [this.#sums, this.#causes]
    const wrong: string[] = []
    let position = 0
    for (const { accountId, cause: of, transfers } of entries.values()) {
      if (position++ < this.#summed) continue
      const cause = showCause(of)
      if (causes.has(`${accountId} ${cause}`)) wrong.push(`${cause} is booked twice`)
      causes.add(`${accountId} ${cause}`)
      const isDeposit = of.kind === 'deposit' || of.kind === 'deposit_reversal'
      for (const { asset, debit, credit, atoms } of transfers) {
        const came = debit === 'wallet' ? atoms : credit === 'wallet' ? -atoms : 0n
        add(this.#wallet, asset, came)
        if (isDeposit) this.#booked.set(of.subjectId, (this.#booked.get(of.subjectId) ?? 0n) + came)
        for (const [kind, change] of [
          [debit, -atoms],
          [credit, atoms],
        ] as const) {
          if (!merchant.has(kind)) continue
          const key = `${accountId} ${asset} ${kind}`
          sums.set(key, (sums.get(key) ?? 0n) + change)
        }
      }
    }
    this.#summed = position
    for (const key of new Set([...sums.keys(), ...balances.keys()])) {
      const [booked, kept] = [sums.get(key) ?? 0n, balances.get(key) ?? 0n]
      if (booked !== kept) wrong.push(`balance ${key} is ${kept}, its transfers are ${booked}`)
      if (kept < 0n) wrong.push(`balance ${key} is ${kept}`)
    }
    const held = new Map<string, bigint>()
    for (const { asset, atoms } of unresolved.values()) held.set(asset, (held.get(asset) ?? 0n) + atoms)
    for (const [key, atoms] of balances) {
      const [, asset = '', kind] = key.split(' ')
      if (kind === 'unresolved' && atoms !== (held.get(asset) ?? 0n))
        wrong.push(`${atoms} of ${asset} are unresolved, ${held.get(asset)} are held for payments`)
    }
    return wrong
  }

  /** One output is one deposit, and booked once or not at all. */
  #deposits(): string[] {
    const { deposits } = this.#tables
    const wrong: string[] = []
    const seen = new Set<string>()
    for (const row of deposits.values()) {
      const output = `${row.txKey}:${row.outputIndex}`
      if (seen.has(output)) wrong.push(`output ${output} is two deposits`)
      seen.add(output)
      const booked = this.#booked.get(row.id) ?? 0n
      if (booked !== (row.booked ? row.amountAtoms : 0n))
        wrong.push(`deposit ${output} of ${row.amountAtoms} is booked as ${booked}`)
    }
    return wrong
  }

  /** What is held is what runs. */
  #holds(): string[] {
    const held = new Map<string, bigint>()
    for (const { status, asset, accountId, amountAtoms } of this.#tables.withdrawals.values())
      if (status === 'requested' || status === 'broadcast')
        held.set(`${accountId} ${asset}`, (held.get(`${accountId} ${asset}`) ?? 0n) + amountAtoms)
    const wrong: string[] = []
    for (const [key, atoms] of this.#tables.balances) {
      const [account, asset, kind] = key.split(' ')
      if (kind === 'held' && atoms !== (held.get(`${account} ${asset}`) ?? 0n))
        wrong.push(
          `${atoms} of ${asset} are held, withdrawals that run are ${held.get(`${account} ${asset}`) ?? 0n}`,
        )
    }
    return wrong
  }

  /** The ledger's wallet, and what blocks showed and it does not count yet or any more, is what blocks gave us. */
  #wallets(): string[] {
    const { deposits, utxos, signed, withdrawals, payouts } = this.#tables
    const books = new Map(this.#wallet)
    const blocks = new Map<Asset, bigint>()
    for (const { asset, amountAtoms, blockHeight, booked } of deposits.values()) {
      if ((blockHeight === null) === booked) add(books, asset, booked ? -amountAtoms : amountAtoms)
      if (this.#chain === 'sim-ethereum' && blockHeight !== null) add(blocks, asset, amountAtoms)
    }
    if (this.#chain === 'sim-ethereum') this.#accounts(books, blocks)
    else {
      const asset = this.#chain === 'sim-bitcoin' ? 'BTC' : 'LTC'
      const spenders = new Set<string>()
      for (const utxo of utxos.values()) {
        if (utxo.blockHeight !== null && utxo.spentBy === null) add(blocks, asset, utxo.atoms)
        if (utxo.spentBy !== null) spenders.add(utxo.spentBy)
      }
      for (const row of signed.values()) {
        const isInBlock = spenders.has(row.txid)
        // What can not enter the chain any more costs nothing.
        const booked = isOpen(row.status) || row.blockHeight !== null ? row.bookedFeeAtoms : 0n
        add(books, asset, booked - (isInBlock ? row.feeAtoms : 0n))
        if (isInBlock && row.kind !== 'child') add(books, asset, -row.valueAtoms)
      }
      for (const { id, status, netAtoms } of withdrawals.values())
        if (status === 'completed' && payouts.has(id)) add(books, asset, netAtoms)
    }
    return [...new Set([...books.keys(), ...blocks.keys()])]
      .filter((asset) => (books.get(asset) ?? 0n) !== (blocks.get(asset) ?? 0n))
      .map(
        (asset) =>
          `the books come to ${books.get(asset)} of ${asset}, the blocks to ${blocks.get(asset) ?? 0n}`,
      )
  }

  /** Capital that came in blocks, and what our own transactions took in theirs, before and after they are booked. */
  #accounts(books: Map<Asset, bigint>, blocks: Map<Asset, bigint>): void {
    const { unexpectedDeposits, signed, withdrawals, entries } = this.#tables
    for (const { txKey, index, asset, atoms, blockHeight } of unexpectedDeposits.values()) {
      const isBooked = entries.has(`${GATEWAY} capital ${txKey} ${index}`)
      if (isBooked === (blockHeight === null)) add(books, asset, isBooked ? -atoms : atoms)
      if (blockHeight !== null) add(blocks, asset, atoms)
    }
    for (const row of signed.values()) {
      const { asset, status, valueAtoms, blockHeight, bookedFeeAtoms, paidFeeAtoms, replacementSet } = row
      if (isOpen(status) || blockHeight !== null) add(books, 'ETH', bookedFeeAtoms)
      if (blockHeight === null) continue
      add(books, 'ETH', -(paidFeeAtoms ?? 0n))
      add(blocks, 'ETH', -(paidFeeAtoms ?? 0n))
      // A sweep moves what is ours from one address of ours to another.
      if (signed.get(replacementSet)?.kind !== 'payout') continue
      add(books, asset, -valueAtoms)
      add(blocks, asset, -valueAtoms)
    }
    for (const { status, asset, netAtoms } of withdrawals.values())
      if (status === 'completed') add(books, asset, netAtoms)
  }

  #moves(): string[] {
    const wrong: string[] = []
    for (const { id, status, settlements, creditedAtoms } of this.#tables.payments.values()) {
      const before = this.#payments.get(id)
      this.#payments.set(id, status)
      if (before !== undefined && before !== status && !PAYMENT_MOVES[before].includes(status))
        wrong.push(`payment ${id} went from ${before} to ${status}`)
      const isSettled = status === 'completed' || status === 'overpaid'
      if (isSettled !== (creditedAtoms !== null) && status !== 'failed')
        wrong.push(`payment ${id} is ${status} and credited ${creditedAtoms}`)
      if (settlements > 0 && (status === 'pending' || status === 'expired'))
        wrong.push(`payment ${id} was paid ${settlements} times and is ${status}`)
    }
    for (const { id, status } of this.#tables.withdrawals.values()) {
      const before = this.#withdrawals.get(id)
      this.#withdrawals.set(id, status)
      if (before !== undefined && before !== status && !WITHDRAWAL_MOVES[before].includes(status))
        wrong.push(`withdrawal ${id} went from ${before} to ${status}`)
    }
    return wrong
  }

  /** What merchants were told is so, and each thing was told once. */
  #events(): string[] {
    const { events, payments, withdrawals } = this.#tables
    const wrong: string[] = []
    const causes = this.#told
    let position = 0
    for (const { cause } of events.values()) {
      if (position++ < this.#read) continue
      if (causes.has(cause)) wrong.push(`${cause} is told twice`)
      causes.add(cause)
    }
    this.#read = position
    for (const { id, status, settlements } of payments.values()) {
      if (!causes.has(`payment:${id}:created`)) wrong.push(`payment ${id} was never told of`)
      const isTold = causes.has(`payment:${id}:completed`)
      if (isTold !== settlements > 0)
        wrong.push(`payment ${id} settled ${settlements} times, told: ${isTold}`)
      // One that was paid in between is told of again.
      const ended = `payment:${id}:${status}${settlements > 0 ? `:${settlements}` : ''}`
      if ((status === 'expired' || status === 'failed') && !causes.has(ended))
        wrong.push(`payment ${id} is ${status}, and nobody was told`)
    }
    for (const { id, kind, paymentId, status } of withdrawals.values()) {
      const cause = kind === 'payout' ? `withdrawal:${id}:completed` : `payment:${paymentId}:refunded:${id}`
      const isTold = causes.has(cause)
      // The gateway's own are nobody's news.
      if (isOwnKind(kind)) {
        if (causes.has(`withdrawal:${id}:completed`) || causes.has(`withdrawal:${id}:failed`))
          wrong.push(`withdrawal ${id} of ${kind} is told of`)
        continue
      }
      if (isTold ? status !== 'completed' && status !== 'failed' : status === 'completed')
        wrong.push(`withdrawal ${id} is ${status}, told: ${isTold}`)
    }
    return wrong
  }

  /** What the chain itself says: at most one transaction pays a withdrawal, and exactly its net amount. */
  async #payouts(): Promise<string[]> {
    const wrong: string[] = []
    for (const { id, destination, netAtoms, status } of this.#tables.withdrawals.values()) {
      const lookup = this.#lookupOf(destination)
      const txids = this.#paying.get(lookup)
      if (!txids) {
        if (status === 'completed') wrong.push(`withdrawal ${id} is completed and nothing ever paid it`)
        continue
      }
      const there = await this.#storage.reads.transactions([...txids])
      if (there.size > 1) wrong.push(`withdrawal ${id} is paid by ${[...there.keys()].join(' and ')}`)
      if (status === 'failed' && there.size > 0)
        wrong.push(`withdrawal ${id} failed and is paid by ${[...there.keys()]}`)
      for (const { transaction } of there.values()) {
        const paid = transaction.outputs.filter((output) => hex(output.lookup) === lookup)
        if (paid.length !== 1 || paid[0]?.atoms !== netAtoms)
          wrong.push(`withdrawal ${id} of ${netAtoms} is paid ${paid.map(({ atoms }) => atoms)}`)
      }
    }
    return wrong
  }

  #lookupOf(destination: string): string {
    const known = this.#lookups.get(destination)
    if (known !== undefined) return known
    const lookup = lookupOf(this.#chain, destination)
    if (!lookup) throw new Error(`${destination} is no address of ${this.#chain}`)
    this.#lookups.set(destination, hex(lookup))
    return hex(lookup)
  }

  /**
   * A payout whose UTXO left the chain and every mempool, and that nothing replaced: it may come back at any time and the
   * payout with it, so its hold is never given back. So is what spends the change of such a payout.
   */
  #waitsForVanished(replacementSet: string): boolean {
    const { utxos, deposits, signed } = this.#tables
    return [...utxos.values()].some(
      ({ txid, index, reservedBy, blockHeight }) =>
        reservedBy === replacementSet &&
        blockHeight === null &&
        ([...deposits.values()].some(
          (deposit) =>
            deposit.txKey === txid && deposit.outputIndex === index && deposit.status === 'dropped',
        ) ||
          [...signed.values()].some(
            (parent) =>
              parent.txid === txid && isOpen(parent.status) && this.#waitsForVanished(parent.replacementSet),
          )),
    )
  }

  /** A reorganisation took for good what somebody was credited with, or was paid. */
  #hasLost(asset: Asset): boolean {
    const { entries, unexpectedDeposits } = this.#tables
    return (
      [...entries.values()].some(({ transfers }) =>
        transfers.some((each) => each.asset === asset && (each.debit === 'loss' || each.credit === 'loss')),
      ) || [...unexpectedDeposits.values()].some((row) => row.asset === asset && row.blockHeight === null)
    )
  }

  /** Chains with accounts: what blocks gave and took by our rows is what the chain holds at all our addresses, sweeps and all. */
  async #atAddresses(): Promise<string[]> {
    if (this.#chain !== 'sim-ethereum') return []
    const wrong: string[] = []
    for (const { address, asset, status } of this.#tables.sweeps.values())
      if (status !== 'done' && status !== 'failed')
        wrong.push(`the sweep of ${asset} at ${address} is still ${status}`)
    const blocks = new Map<Asset, bigint>()
    for (const { asset, amountAtoms, blockHeight } of this.#tables.deposits.values())
      if (blockHeight !== null) add(blocks, asset, amountAtoms)
    this.#accounts(new Map(), blocks)
    const lookups = [...this.#tables.addresses.values()].map(({ lookup }) => lookup)
    const held = new Map<string, bigint>()
    const balances = await this.#storage.reads.balances(lookups)
    for (const [key, atoms] of balances) {
      const asset = key.slice(key.indexOf(':') + 1)
      held.set(asset, (held.get(asset) ?? 0n) + atoms)
    }
    wrong.push(...this.#stranded(balances))
    for (const asset of ASSETS_OF_ACCOUNTS)
      if ((held.get(asset) ?? 0n) !== (blocks.get(asset) ?? 0n))
        wrong.push(
          `the chain holds ${held.get(asset) ?? 0n} of ${asset}, by our rows ${blocks.get(asset) ?? 0n}`,
        )
    return wrong
  }

  /** What lies at addresses of deposits for a sweep to come is what no sweep has taken; of gas something may be left. */
  #stranded(balances: Balances): string[] {
    const { addresses, deposits, sweptBy, unexpectedDeposits, gasFunding } = this.#tables
    const expected = new Map<string, bigint>()
    const expect = (address: string, asset: Asset, atoms: bigint) => {
      const key = `${address.slice(2).toLowerCase()}:${asset}`
      expected.set(key, (expected.get(key) ?? 0n) + atoms)
    }
    for (const [key, { address, asset, amountAtoms, blockHeight }] of deposits)
      if (blockHeight !== null && !sweptBy.has(key)) expect(address, asset, amountAtoms)
    for (const { address, asset, atoms, blockHeight, sweep } of unexpectedDeposits.values())
      if (address !== null && blockHeight !== null && sweep === null) expect(address, asset, atoms)
    for (const { address, atoms } of gasFunding.values()) expect(address, 'ETH', atoms)
    const ours = new Set(
      [...addresses.values()]
        .filter(({ branch }) => branch === DEPOSIT_BRANCH)
        .map(({ lookup }) => hex(lookup)),
    )
    return [...balances].flatMap(([key, atoms]) =>
      ours.has(key.slice(0, key.indexOf(':'))) && atoms > (expected.get(key) ?? 0n)
        ? [`${atoms} lie at ${key}, of which sweeps will take ${expected.get(key) ?? 0n}`]
        : [],
    )
  }

  /** When everything under way has ended: nothing is left open, and the chain holds what the books say. */
  async checkEnd(): Promise<string[]> {
    const { payments, deposits, withdrawals, entries, chains } = this.#tables
    const wrong: string[] = []
    const tip = await this.#storage.reads.tip()
    if (chains.get(this.#chain)?.tipHash !== tip.hash) wrong.push('the watcher did not reach the tip')
    wrong.push(...this.#time.checkEnd())
    if (this.#isSetBack) return wrong
    for (const row of deposits.values()) {
      const isThere = (await this.#storage.reads.transactions([row.txKey])).get(row.txKey)?.block
      if (Boolean(isThere) !== (row.status === 'confirmed'))
        wrong.push(`deposit ${row.txKey} is ${row.status}`)
      if (row.booked !== (row.status === 'confirmed' && !row.dust))
        wrong.push(`deposit ${row.txKey} is ${row.status}, booked: ${row.booked}`)
    }
    for (const { id, status, asset, dueAtoms, settlements } of payments.values()) {
      const confirmed = [...deposits.values()].filter(
        (row) => row.paymentId === id && row.asset === asset && !row.dust && row.status === 'confirmed',
      )
      const inTime = confirmed.filter((row) => !row.late).reduce((sum, row) => sum + row.amountAtoms, 0n)
      if (status === 'pending' || status === 'detected') wrong.push(`payment ${id} is still ${status}`)
      const wentBack = [...withdrawals.values()].some(
        (each) => each.paymentId === id && each.asset === asset && each.status !== 'failed',
      )
      const mayHaveEnded =
        wentBack || this.#tables.bereft.has(id) || status === 'failed' || status === 'cancelled'
      if (inTime >= dueAtoms && !mayHaveEnded && status !== 'completed' && status !== 'overpaid')
        wrong.push(`payment ${id} got ${inTime} of ${dueAtoms} in time and is ${status}`)
      if (settlements === 0 && (status === 'completed' || status === 'overpaid'))
        wrong.push(`payment ${id} is ${status} and never settled`)
    }
    for (const { id, status } of withdrawals.values())
      if (status === 'broadcast' && !this.#waitsForVanished(this.#tables.payouts.get(id) ?? ''))
        wrong.push(`withdrawal ${id} is still on its way`)
    for (const { id, asset, status } of withdrawals.values())
      if (status === 'requested' && !this.#hasLost(asset))
        wrong.push(`withdrawal ${id} of ${asset} still waits for coins`)
    wrong.push(...(await this.#atAddresses()))
    if (entries.size === 0 && deposits.size > 0) wrong.push('nothing was booked')
    return wrong
  }
}

function add(sums: Map<Asset, bigint>, asset: Asset, atoms: bigint): void {
  sums.set(asset, (sums.get(asset) ?? 0n) + atoms)
}
