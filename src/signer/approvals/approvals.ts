/** The signer's own side of approvals: who counts, what was approved, what left freely. */
import { join } from 'node:path'
import { digestOfTerms, type PayoutTerms } from '../../approvals/statement.ts'
import { type Mode, networkOf } from '../../core/assets.ts'
import { showId } from '../../core/ids.ts'
import { nameOf, type ReleasedBy } from '../../treasury/signed-entry.ts'
import { isOwnKind, type WithdrawalRequest } from '../../withdrawals/withdrawal.ts'
import type { Requested } from '../requests.sql.ts'
import { ApprovalLog, type KeptApproval, termsKey } from './approval-log.ts'
import { countsFromMs, type Pin, readApprovers } from './approvers.ts'
import type { Known } from './judge-release.ts'
import { type Left, LeftFreely } from './left-freely.ts'
import { PlannedFreely } from './planned-freely.ts'

/** How a statement names a withdrawal's terms. */
export const termsOf = (request: WithdrawalRequest): PayoutTerms => ({
  withdrawal: showId('wd', request.id),
  kind: request.kind === 'refund' ? 'refund' : 'payout',
  asset: request.asset,
  amountAtoms: request.amountAtoms,
  netAtoms: request.netAtoms,
  destination: request.destination,
})

export const keyOfTerms = (request: WithdrawalRequest): string =>
  termsKey(digestOfTerms(termsOf(request)), request.askedBy)

export class Approvals {
  readonly mode: Mode
  readonly log: ApprovalLog
  readonly left: LeftFreely
  readonly #readPins: () => Promise<readonly Pin[]>
  #pins: readonly Pin[] = []

  private constructor(
    mode: Mode,
    log: ApprovalLog,
    left: LeftFreely,
    readPins: () => Promise<readonly Pin[]>,
  ) {
    this.mode = mode
    this.#readPins = readPins
    this.log = log
    this.left = left
  }

  /** Opens those of live accounts, or of test accounts, in a signer's folder. */
  static async open(folder: string, mode: Mode, readPins = () => readApprovers(folder)): Promise<Approvals> {
    const side = mode === 'live' ? '' : '-simulated'
    const log = await ApprovalLog.open(join(folder, `approvals${side}`))
    try {
      const left = await LeftFreely.open(join(folder, `left-freely${side}`), log.hasPolicies())
      const approvals = new Approvals(mode, log, left, readPins)
      await approvals.refresh()
      return approvals
    } catch (error) {
      await log.close()
      throw error
    }
  }

  /** Whom the operator added or removed since counts, or does not, from here on. */
  async refresh(): Promise<void> {
    this.#pins = await this.#readPins()
  }

  get pins(): readonly Pin[] {
    return this.#pins
  }

  pinOf(account: string, credentialId: string): Pin | null {
    return this.#pins.find((pin) => pin.account === account && pin.credentialId === credentialId) ?? null
  }

  countsFromMs(pin: Pin): number {
    return countsFromMs(pin, this.log.policyOf(pin.account)?.firstMs ?? null)
  }

  /** Persons whose passkeys count now. */
  approversOf(account: string, now: number): Set<string> {
    const counting = this.#pins.filter((pin) => pin.account === account && this.countsFromMs(pin) <= now)
    return new Set(counting.map(({ user }) => user))
  }

  /** Of approvals that were kept, those by passkeys that count still. */
  counting(kept: readonly KeptApproval[], now: number): KeptApproval[] {
    return kept.filter(({ account, credentialId, user }) => {
      const pin = this.pinOf(account, credentialId)
      return pin?.user === user && this.countsFromMs(pin) <= now
    })
  }

  approvalsOf(request: WithdrawalRequest, now: number): KeptApproval[] {
    const account = showId('acct', request.accountId)
    // Only where there can be any: of a row whose MAC is right, and of an address that was looked at when it was asked for.
    if (/\s/.test(request.destination)) return []
    return this.counting(this.log.approvalsOf(account, keyOfTerms(request)), now)
  }

  /**
   * What a release is judged by.
   *
   * @param freely - What the same transaction has leave freely.
   */
  knownOf(request: WithdrawalRequest, freely: PlannedFreely, now: number): Known {
    const account = showId('acct', request.accountId)
    const policy = this.log.policyOf(account)?.policy ?? null
    // What the gateway takes out for itself is the operator's, whom no merchant's policy binds.
    if (isOwnKind(request.kind) && !policy) return NOTHING_KNOWN
    const { asset, destination } = request
    return {
      policy,
      leftFreelyAtoms: freely.besides(request, now),
      approvedBy: new Set(this.approvalsOf(request, now).map(({ user }) => user)),
      allowedMs: this.log.addressOf(account, networkOf(asset), destination)?.addedMs ?? null,
    }
  }

  /** For a transaction that is to be put together: nothing leaves by it yet. */
  planFreely(): PlannedFreely {
    return new PlannedFreely(this.left)
  }

  /** What the journal keeps beside the bytes: each approval once, of all that a transaction pays. */
  async evidenceOf(requests: readonly WithdrawalRequest[], now: number): Promise<ReleasedBy[]> {
    const kept = new Map<string, KeptApproval>()
    for (const request of requests)
      for (const each of this.approvalsOf(request, now)) kept.set(`${each.request} ${each.user}`, each)
    const found: ReleasedBy[] = []
    for (const each of kept.values()) {
      const { statement, fingerprint, authenticatorData, clientData, signature } = await this.log.read(each)
      found.push({ statement, fingerprint, authenticatorData, clientData, signature })
    }
    return found
  }

  /**
   * Whether the database shows more policies of the account than this folder knows: its log was lost and an older one put back, or the
   * account is another signer's. Then nothing is signed for it until its people approve a policy here.
   */
  isBehind({ accountId, policiesShown }: Pick<Requested, 'accountId' | 'policiesShown'>): boolean {
    return policiesShown > (this.log.policyOf(showId('acct', accountId))?.number ?? 0)
  }

  /** Whether this folder has an approver or a policy of the account. */
  knows(account: string): boolean {
    return this.log.policyOf(account) !== null || this.#pins.some((pin) => pin.account === account)
  }

  /** Before it fails: what was approved of it releases nothing any more. */
  async forget(request: WithdrawalRequest): Promise<void> {
    if (/\s/.test(request.destination)) return
    const [account, terms] = [showId('acct', request.accountId), keyOfTerms(request)]
    if (this.log.approvalsOf(account, terms).length > 0)
      await this.log.append({ fact: 'over', at: Date.now(), account, terms })
  }

  /** Before anything is signed for what leaves freely. */
  countLeft(requests: readonly WithdrawalRequest[], now: number): Promise<void> {
    return this.left.count(requests.map(leftOf), now)
  }

  /** Whether a write failed: only opening it again tells what the file ends in. */
  isBroken(): boolean {
    return this.log.isBroken()
  }

  async close(): Promise<void> {
    await this.log.close()
    await this.left.close()
  }
}

const NOTHING_KNOWN: Known = { policy: null, leftFreelyAtoms: 0n, approvedBy: new Set(), allowedMs: null }

const leftOf = (request: WithdrawalRequest): Left => ({
  account: showId('acct', request.accountId),
  asset: request.asset,
  withdrawal: nameOf(request),
  atoms: request.amountAtoms,
})
