/**
 * Approvals on their way from the database into the signer's own log: each is looked at once, as soon as it is seen, so that it
 * holds although what it approves is paid later. What it changes, a policy or an allowlist, changes then.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import {
  APPROVAL_HOURS,
  approvalsToChange,
  isPastGrace,
  policyJson,
} from '../../approvals/approval-policy.ts'
import { fingerprintOf } from '../../approvals/approver.ts'
import { isAsker, isKey } from '../../approvals/asker.ts'
import { verifyAssertion } from '../../approvals/assertion.ts'
import { challengeOf, type Statement, statementText } from '../../approvals/statement.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { showId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts'
import type { Database } from '../../db/database.ts'
import type { Pin } from './approvers.ts'
import { publishIfDue } from './publish.ts'
import { type Reading, type ReadStatement, readStatement } from './read-statement.ts'
import { type ApprovalRow, closeRequest, listUnjudged, lockOpen, noteVerdict } from './seen-approvals.sql.ts'

export interface Taking extends Reading {
  readonly db: Database
  readonly log: Log
  readonly era?: number | undefined
}

const ROWS_READ = 200
/** Clocks of two machines differ. */
const VALID_MS_MAX = APPROVAL_HOURS * HOUR_MS + 5 * MINUTE_MS

/** Shows what is in force, and looks at every approval that nothing was said of yet. @returns Whether there may be more. */
export async function tendApprovals(taking: Taking, now: number): Promise<boolean> {
  await taking.approvals.refresh()
  const more = await takeApprovals(taking, now)
  await publishIfDue(taking, now)
  return more
}

/** Page by page, to the first one of which something was said: what is put off never stands before what comes after it. */
async function takeApprovals(taking: Taking, now: number): Promise<boolean> {
  const putOff = new Set<string>()
  for (let after: ApprovalRow | null = null; ; ) {
    const rows: ApprovalRow[] = await listUnjudged(taking.db, taking.approvals.mode, ROWS_READ, after)
    let said = 0
    for (const row of rows) said += (await takeInOrder(taking, row, putOff, now)) ? 1 : 0
    if (rows.length < ROWS_READ) return false
    if (said > 0) return true
    after = rows.at(-1) ?? null
  }
}

/**
 * Takes a passkey's answers in the order in which it counted them: where one is put off, so are those after it, or its own
 * counter would have gone back once its time comes.
 *
 * @param putOff - The passkeys of which one was put off in this turn.
 * @returns Whether something was said of it.
 */
async function takeInOrder(
  taking: Taking,
  row: ApprovalRow,
  putOff: Set<string>,
  now: number,
): Promise<boolean> {
  const passkey = row.credentialId.toString('base64url')
  if (putOff.has(passkey)) return false
  const isTaken = await takeOne(taking, row, now).catch((error: unknown) => {
    if (taking.approvals.isBroken()) throw error
    taking.log.error(
      { request: showId('apr', row.request.id), err: error },
      'an approval could not be looked at',
    )
    return false
  })
  if (!isTaken && keepsCount(row)) putOff.add(passkey)
  return isTaken
}

type Read = ReadStatement & { readonly kind: 'read' }

/** Synchronised passkeys say 0 for ever. WebAuthn Level 3, 6.1: the count stands behind the hash and the flags. */
const keepsCount = ({ authenticatorData }: ApprovalRow): boolean =>
  authenticatorData.length >= 37 && authenticatorData.readUInt32BE(33) > 0

/** @returns Whether something was said of it: not while its chain is not known. */
async function takeOne(taking: Taking, row: ApprovalRow, now: number): Promise<boolean> {
  const { approvals, db } = taking
  const { request } = row
  if (approvals.log.isDone(showId('apr', request.id))) {
    // A crash came between the change and these words, or somebody would have it made again.
    await closeRequest(db, request, 'approved')
    const isKept = approvals.log.isKeptBy(showId('apr', request.id), showId('usr', row.userId))
    return noteVerdict(db, row, isKept ? 'counts' : 'request_over')
  }
  if (!row.isReadable) return refuse(taking, row, 'malformed')
  const found = await readStatement(taking, request)
  if (found.kind === 'later') {
    // It waits for what may come, and not for ever.
    if (request.status !== 'open') return noteVerdict(db, row, 'request_over')
    return isPastGrace(request.validUntil, now) ? noteVerdict(db, row, 'expired') : false
  }
  if (found.kind === 'nothing') return refuse(taking, row, found.why)
  const credentialId = row.credentialId.toString('base64url')
  const pin = approvals.pinOf(showId('acct', request.accountId), credentialId)
  const text = statementText(found.statement)
  const isKept = approvals.log
    .approvalsOfText(found.statement.request, text)
    .some((kept) => kept.user === pin?.user && kept.credentialId === credentialId)
  if (!isKept) {
    if (request.status !== 'open') return noteVerdict(db, row, 'request_over')
    const why = whyNot(taking, row, pin, found.statement, now)
    if (typeof why === 'string') return refuse(taking, row, why)
    await keep(taking, row, found, { ...why, text, at: now })
    crashPoint('signer:approval-kept')
  }
  await settle(taking, row, found, text, now)
  await noteVerdict(db, row, 'counts')
  crashPoint('signer:approval-told')
  return true
}

interface Good {
  readonly pin: Pin
  readonly counter: number
}

function whyNot(
  { approvals }: Taking,
  row: ApprovalRow,
  pin: Pin | null,
  statement: Statement,
  now: number,
): Good | string {
  if (!pin) return 'not_an_approver'
  if (pin.user !== showId('usr', row.userId)) return 'another_person'
  if (approvals.countsFromMs(pin) > now) return 'not_counting_yet'
  if (isAsker(pin.user, statement.askedBy))
    return isKey(statement.askedBy) ? 'asked_by_his_key' : 'asked_by_himself'
  if (isPastGrace(statement.validUntil, now)) return 'expired'
  if (!(statement.validUntil.getTime() - now <= VALID_MS_MAX)) return 'valid_for_too_long'
  const verdict = verifyAssertion(
    { publicKey: Buffer.from(pin.publicKey, 'base64url'), rpId: pin.rpId, origin: pin.origin },
    challengeOf(statement),
    row,
    approvals.log.counterOf(pin.credentialId),
  )
  return verdict.kind === 'valid' ? { pin, counter: verdict.counter } : verdict.reason
}

async function keep(
  { approvals, log }: Taking,
  row: ApprovalRow,
  { statement, pays }: Read,
  { pin, counter, text, at }: Good & { readonly text: string; readonly at: number },
): Promise<void> {
  await approvals.log.append({
    fact: 'approval',
    at,
    account: statement.account,
    request: statement.request,
    user: pin.user,
    fingerprint: fingerprintOf(pin),
    credentialId: pin.credentialId,
    counter,
    statement: text,
    authenticatorData: row.authenticatorData.toString('base64url'),
    clientData: row.clientData.toString('base64url'),
    signature: row.signature.toString('base64url'),
    pays,
  })
  log.info({ account: statement.account, request: statement.request, user: pin.user }, 'an approval counts')
}

/** What follows from the approvals of a text that were kept, once they are enough. */
async function settle(
  taking: Taking,
  { request }: ApprovalRow,
  { statement, lines }: Read,
  text: string,
  now: number,
): Promise<void> {
  const { approvals, db } = taking
  const { account } = statement
  const inForce = approvals.log.policyOf(account)?.policy ?? null
  const kept = approvals.counting(approvals.log.approvalsOfText(statement.request, text), now)
  const given = new Set(kept.map(({ user }) => user)).size
  if (statement.act === 'withdrawal' || statement.act === 'batch') {
    const rules = lines.map(({ asset }) => inForce?.coins[asset]?.approvals ?? 0)
    if (given >= Math.max(request.needed, ...rules)) await closeRequest(db, request, 'approved')
    return
  }
  const policy = inForce ?? (statement.act === 'policy' ? statement.policy : null)
  if (!policy) return closeRequest(db, request, 'refused', 'no_policy')
  if (given < approvalsToChange(policy) || isPastGrace(statement.validUntil, now)) return
  if (statement.act === 'policy') {
    const people = approvals.approversOf(account, now).size
    if (people <= approvalsToChange(statement.policy))
      return closeRequest(db, request, 'refused', 'too_few_approvers')
  }
  await db.transaction(async (tx) => {
    // Whoever declines it locks it too: one of the two comes first.
    if (!(await lockOpen(tx, request))) return
    if (!approvals.log.isDone(statement.request)) await change(taking, statement, now)
    crashPoint('signer:policy-kept')
    await closeRequest(tx, request, 'approved')
  })
}

async function change({ approvals, log }: Taking, statement: Statement, at: number): Promise<void> {
  const { account, request } = statement
  if (statement.act === 'policy') {
    const number = statement.follows + 1
    await approvals.log.append({
      fact: 'policy',
      at,
      account,
      request,
      number,
      policy: policyJson(statement.policy),
    })
    log.warn({ account, request, number }, 'another policy of approvals is in force')
  } else if (statement.act === 'allow' || statement.act === 'disallow') {
    const { act: fact, network, address, name } = statement
    await approvals.log.append({ fact, at, account, request, network, address, name })
    log.warn(
      { account, request, network, address },
      fact === 'allow' ? 'an address is allowed' : 'an address is allowed no longer',
    )
  }
}

/** It counts for nothing, and somebody should look: once for each that was given. */
async function refuse({ db, log }: Taking, row: ApprovalRow, why: string): Promise<true> {
  const { accountId } = row.request
  const request = showId('apr', row.request.id)
  const user = showId('usr', row.userId)
  await raiseAlert(db, {
    kind: 'approval_refused',
    accountId,
    subject: `${request}/${user}`,
    message: `the signer counts an approval of ${request} for nothing: ${why}. If ${user} did not give it, somebody writes into the database`,
  })
  crashPoint('signer:approval-refused')
  await noteVerdict(db, row, why)
  log.error({ account: showId('acct', accountId), request, user, why }, 'an approval is refused')
  return true
}
