/**
 * What a simulated story happens in: a gateway, its workers as processes of their own, and a chain in memory. The
 * gateway's rows are the tables in memory, or PostgreSQL: the same story in both has to come out alike.
 */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from '../../src/accounts/account.ts'
import type { ChainPort } from '../../src/chains/chain.ts'
import type { Lease } from '../../src/chains/chain-progress.sql.ts'
import type { SimulatedStorage } from '../../src/chains/simulated/chain-store.ts'
import type { SimulatedChainName } from '../../src/chains/simulated/network.ts'
import { simulatedPort } from '../../src/chains/simulated/simulated-chain.ts'
import type { PaymentId } from '../../src/core/ids.ts'
import type { Gateway } from '../../src/flows/gateway.ts'
import { Approvals } from '../../src/signer/approvals/approvals.ts'
import type { Signer } from '../../src/signer/signer.ts'

/** Nobody approves anything: the folder is looked at once. */
const folder = await mkdtemp(join(tmpdir(), 'beck-simulated-signer-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
export const NO_APPROVALS = await Approvals.open(folder, 'test', async () => [])

/** A signer without limits and allowlist: what a story asks for is signed. */
export const SIGNER_CONFIG: Signer['config'] = {
  limits: {},
  allowlistWaitMs: null,
  folder: '',
  confirmations: {},
  tokens: { USDC: '', USDT: '' },
  modes: { bitcoin: 'regtest', litecoin: 'regtest', ethereum: 'regtest' },
}

/** @param givesGas - The chain knows no EIP-7702: addresses are given gas, and tokens are swept alone. */
export function portOf(storage: SimulatedStorage, givesGas: boolean): ChainPort {
  const port = simulatedPort(storage)
  return givesGas && port.batchSweeping ? { ...port, batchSweeping: async () => null } : port
}

/** One process that works for the gateway. It knows nothing that it did not read since it started. */
export interface Process {
  readonly name: string
  readonly gateway: Gateway
  readonly port: ChainPort
  readonly signer: Signer
  lease: Lease | null
  /** Compares the books with the chain where the watcher stands. */
  prove(): Promise<void>
  /** What it does before it uses a new connection. @throws {Refusal} while the database lost commits and the money is not stopped. */
  verify(): Promise<void>
  /** One beat of its clock: it advances time's arrow and compares it with what it remembers. */
  beat(): Promise<void>
  /** The era in which its signer may sign; null while time does not go forward. */
  maySign(): Promise<number | null>
  /** Its signer ended a turn in this era. */
  hasSigned(era: number): void
  /** Ends it after so many of its statements and calls; null lets it live. */
  doom(statements: number | null): void
  /** Starts it again, if it ended. @returns Whether it had. */
  revive(): boolean
}

export interface World {
  readonly chain: SimulatedChainName
  readonly account: Account
  readonly storage: SimulatedStorage
  /** An address for deposits that is withheld: a buyer was told it, by what a database forgot. */
  readonly withheld: Uint8Array
  /** Two that do the same work and do not know of each other, and the API. */
  readonly processes: readonly [Process, Process]
  readonly api: Process
  /** Every turn and every fault from here on follows from this part of the story alone. */
  restart(part: number): void
  /** What the network asks for, against what is usual. */
  setFees(times: bigint): void
  /** Whether nodes fail: calls are lost, or their answers. */
  setFaults(percent: number): void
  /** The database's clock passes the end of a payment's window. */
  endWindow(id: PaymentId): Promise<void>
  /** Nobody holds the chain's lease any more. */
  endLease(): Promise<void>
  /** What the mempool lost is missing for more than an hour. */
  passHour(): Promise<void>
  /** It is a minute past midnight by the database's clock: a day is to be closed, what waits for days goes on, every window is over. */
  passMidnight(): void
  /** What waits to be sent again is due now. */
  makeDue(): Promise<void>
  /** Keeps a copy of the database. */
  copyDatabase(): Promise<void>
  /** Sets the database back to its copy, if there is one and every process has looked since. @returns Whether it did. */
  setDatabaseBack(): Promise<boolean>
  /**
   * The operator lets the money move again, once it is stopped and what has to be done first is done; at a later look he
   * unfreezes its coins, once the signer has compared its journal and the watcher is at the tip.
   */
  resume(): Promise<void>
  /** The gateway's rows in words that do not depend on ids and clocks, to be compared with another world's. */
  dump(): Promise<string>
  /** What is wrong, each in a sentence; nothing in a world that is well. */
  check(): Promise<string[]>
  /** The same once everything under way has ended. */
  checkEnd(): Promise<string[]>
  /** Broken invariants that a worker caught and logged. */
  readonly complaints: string[]
}
