/**
 * What the signer knows of approvals, on its own disk: a row per fact, written and synced before it has effect. No row of the
 * database can take one back, or have one counted again.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type ApprovalPolicy, type PolicyJson, readPolicy } from '../../approvals/approval-policy.ts'
import type { AllowlistAct } from '../../approvals/approval-request.ts'
import { foldedAddress } from '../../core/address.ts'
import type { Network } from '../../core/assets.ts'
import { InvariantBroken, invariant } from '../../core/errors.ts'
import { ifThere, syncPath } from '../../core/files.ts'
import { CHECK_DIGITS, checkIn, readRow, rowsOf, writeRow } from '../chained-rows.ts'
import { makeFolder, writeWhole } from '../folder.ts'

interface Fact {
  /** Milliseconds of this machine's clock. */
  readonly at: number
  /** `acct_…` */
  readonly account: string
  /** `apr_…` */
  readonly request: string
}

/** Somebody approved something, and it was verified. */
export interface ApprovalFact extends Fact {
  readonly fact: 'approval'
  readonly user: string
  readonly fingerprint: string
  readonly credentialId: string
  readonly counter: number
  /** The text, and the answer to its SHA-256: base64url. */
  readonly statement: string
  readonly authenticatorData: string
  readonly clientData: string
  readonly signature: string
  /** Of withdrawals: each, as {@link termsKey} names it. */
  readonly pays: readonly string[]
}

interface PolicyFact extends Fact {
  readonly fact: 'policy'
  readonly number: number
  readonly policy: PolicyJson
}

interface AddressFact extends Fact {
  readonly fact: AllowlistAct
  readonly network: Network
  readonly address: string
  readonly name: string
}

/** A withdrawal failed: what was approved of it is approved no longer, whatever its row says later. */
interface OverFact extends Omit<Fact, 'request'> {
  readonly fact: 'over'
  /** As {@link termsKey} names it. */
  readonly terms: string
}

export type ApprovalRow = ApprovalFact | PolicyFact | AddressFact | OverFact

/** Where the log ended once, and in which check digits: beside it, so that one that was lost or cut off is no empty one. */
interface End {
  readonly end: number
  readonly check: string
}

export interface PolicyInForce {
  readonly number: number
  readonly policy: ApprovalPolicy
  readonly sinceMs: number
  /** When the account's first one took effect. */
  readonly firstMs: number
}

export interface AllowedAddress {
  readonly network: Network
  readonly address: string
  readonly name: string
  readonly addedMs: number
}

/** An approval of which the rest is in the file. */
export interface KeptApproval {
  readonly account: string
  readonly request: string
  readonly user: string
  readonly credentialId: string
  readonly statement: string
  readonly start: number
  readonly length: number
}

/** Under which a withdrawal's approvals are kept: changed in any of its terms, or in who asked, it is another one. */
export const termsKey = (digest: string, askedBy: string): string => `${digest} ${askedBy}`

/** Whichever way it is written. */
const addressKey = (network: Network, address: string): string =>
  `${network} ${foldedAddress(network, address)}`

export class ApprovalLog {
  readonly #path: string
  readonly #file: FileHandle
  #check = ''
  #end = 0
  #writing: Promise<void> = Promise.resolve()
  #isBroken = false
  readonly #policies = new Map<string, PolicyInForce>()
  readonly #addresses = new Map<string, Map<string, AllowedAddress>>()
  readonly #counters = new Map<string, number>()
  readonly #byTerms = new Map<string, KeptApproval[]>()
  readonly #byRequest = new Map<string, KeptApproval[]>()
  /** Requests that changed a policy or an allowlist. */
  readonly #done = new Set<string>()
  readonly #over = new Set<string>()

  private constructor(path: string, file: FileHandle) {
    this.#path = path
    this.#file = file
  }

  /**
   * Opens the file, which one process at a time may do.
   *
   * @throws {InvariantBroken} when a row in the middle is damaged, or rows are gone that were there before: a policy that is
   *   forgotten binds nobody. A torn last row is a crash while it was written, before it had any effect: it is cut off.
   */
  static async open(path: string): Promise<ApprovalLog> {
    await makeFolder(dirname(path))
    const log = new ApprovalLog(path, await open(path, 'a+', 0o600))
    try {
      await log.#requireEnd()
      await log.#replay()
    } catch (error) {
      await log.close()
      throw error
    }
    return log
  }

  async #requireEnd(): Promise<void> {
    const text = await ifThere(readFile(`${this.#path}.end`, 'utf8'))
    if (text === null) return
    const { end, check }: End = JSON.parse(text)
    const last = Buffer.alloc(CHECK_DIGITS + 1)
    const { bytesRead } = await this.#file.read(last, 0, last.length, end - last.length)
    if (bytesRead === last.length && last.toString('latin1') === `${check}\n`) return
    throw new InvariantBroken(
      `the signer's log of approvals ${this.#path} ends earlier than it did, or is another one: policies and approvals are missing in it. Restore the newest one from a backup before signing on. Only where there is no newer one, remove ${this.#path}.end: accounts of which the database shows a later policy then wait until their people approve one anew`,
    )
  }

  async #noteEnd(): Promise<void> {
    const noted: End = { end: this.#end, check: this.#check }
    await writeWhole(dirname(this.#path), `${basename(this.#path)}.end`, JSON.stringify(noted))
  }

  async #replay(): Promise<void> {
    let rows = 0
    for await (const { row, isWhole } of rowsOf(this.#path, 0)) {
      const fact = isWhole ? readRow<ApprovalRow>(row, this.#check) : null
      rows += 1
      if (!fact && isWhole)
        throw new InvariantBroken(
          `line ${rows} of the signer's log of approvals ${this.#path} is damaged; restore it from a backup before signing on`,
        )
      if (fact) this.#apply(fact, row)
    }
    await this.#file.truncate(this.#end)
    await syncPath(dirname(this.#path))
    if (this.#end > 0) await this.#noteEnd()
  }

  /** On disk, and in effect, when it resolves. After a failed write there is no next: the file may end in half a row. */
  append(fact: ApprovalRow): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      const row = writeRow(fact, this.#check)
      await this.#file.appendFile(Buffer.concat([row, Buffer.from('\n')]))
      await this.#file.datasync()
      this.#apply(fact, row)
      await this.#noteEnd()
    })
    this.#writing.catch(() => {
      this.#isBroken = true
    })
    return this.#writing
  }

  #apply(fact: ApprovalRow, row: Buffer): void {
    const range = { start: this.#end, length: row.length }
    if (fact.fact === 'over') this.#over.add(fact.terms)
    else if (fact.fact === 'approval') this.#keep(fact, range)
    else {
      this.#done.add(fact.request)
      if (fact.fact === 'policy') this.#enforce(fact)
      else this.#list(fact)
    }
    this.#check = checkIn(row)
    this.#end += row.length + 1
  }

  #keep(
    { account, request, user, credentialId, counter, statement, pays }: ApprovalFact,
    range: { readonly start: number; readonly length: number },
  ): void {
    const kept = { account, request, user, credentialId, statement, ...range }
    for (const key of pays) this.#byTerms.set(key, [...(this.#byTerms.get(key) ?? []), kept])
    this.#byRequest.set(request, [...(this.#byRequest.get(request) ?? []), kept])
    this.#counters.set(credentialId, Math.max(counter, this.counterOf(credentialId)))
  }

  #enforce({ account, at, number, policy: json }: PolicyFact): void {
    const policy = readPolicy(json)
    invariant(policy, `the log of approvals ${this.#path} has a policy that cannot be read`)
    const firstMs = this.#policies.get(account)?.firstMs ?? at
    this.#policies.set(account, { number, policy, sinceMs: at, firstMs })
  }

  #list({ fact, account, at, network, address, name }: AddressFact): void {
    const known = this.#addresses.get(account) ?? new Map<string, AllowedAddress>()
    this.#addresses.set(account, known)
    const key = addressKey(network, address)
    if (fact === 'disallow') known.delete(key)
    // Allowed again, it keeps the time that it was allowed at.
    else known.set(key, { network, address, name, addedMs: known.get(key)?.addedMs ?? at })
  }

  policyOf(account: string): PolicyInForce | null {
    return this.#policies.get(account) ?? null
  }

  /** Whether what was asked for by it was changed: it is not changed again by it. */
  isDone(request: string): boolean {
    return this.#done.has(request)
  }

  hasPolicies(): boolean {
    return this.#policies.size > 0
  }

  /** Accounts that have a policy. */
  accounts(): string[] {
    return [...this.#policies.keys()]
  }

  addressOf(account: string, network: Network, address: string): AllowedAddress | null {
    return this.#addresses.get(account)?.get(addressKey(network, address)) ?? null
  }

  addressesOf(account: string): AllowedAddress[] {
    return [...(this.#addresses.get(account)?.values() ?? [])]
  }

  /** The highest counter that was seen of a passkey; 0 for none. */
  counterOf(credentialId: string): number {
    return this.#counters.get(credentialId) ?? 0
  }

  /** Approvals of a withdrawal with exactly these terms, asked for by exactly him; none once it failed. */
  approvalsOf(account: string, key: string): KeptApproval[] {
    if (this.#over.has(key)) return []
    return (this.#byTerms.get(key) ?? []).filter((kept) => kept.account === account)
  }

  /** Whether this person approved something under this request. */
  isKeptBy(request: string, user: string): boolean {
    return (this.#byRequest.get(request) ?? []).some((kept) => kept.user === user)
  }

  /** Approvals of exactly this text. */
  approvalsOfText(request: string, statement: string): KeptApproval[] {
    return (this.#byRequest.get(request) ?? []).filter((kept) => kept.statement === statement)
  }

  /** The whole of one that was kept. */
  async read({ start, length }: KeptApproval): Promise<ApprovalFact> {
    const row = Buffer.alloc(length)
    await this.#file.read(row, 0, length, start)
    // Its check stands in the row before; what was read at the start was found whole.
    const fact: ApprovalRow = JSON.parse(row.toString('utf8', 0, row.lastIndexOf(0x20)))
    invariant(fact.fact === 'approval', `the log of approvals ${this.#path} is damaged at byte ${start}`)
    return fact
  }

  isBroken(): boolean {
    return this.#isBroken
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}
