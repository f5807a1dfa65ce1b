/**
 * A person's approval: his passkey's signature over what a request says. The server checks it with the
 * signer's own code, so that who made a mistake is told at once; what counts, the signer decides alone.
 */
import type { Account } from '../../accounts/account.ts'
import { type ApprovalRequest, isOpen } from '../../approvals/approval-request.ts'
import { lockRequest } from '../../approvals/approval-requests.sql.ts'
import { insertApproval, listApprovals, stands } from '../../approvals/approvals.sql.ts'
import { isAsker, isKey } from '../../approvals/asker.ts'
import { type Assertion, type AssertionVerdict, verifyAssertion } from '../../approvals/assertion.ts'
import { listApprovers, type PinnedApprover } from '../../approvals/published.sql.ts'
import { challengeOf, type Statement } from '../../approvals/statement.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { conflict, unauthenticated } from '../../core/errors.ts'
import { type ApprovalRequestId, showId, type UserId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import { findPasskey, markPasskeyUsed, type Passkey } from '../../users/factors.sql.ts'
import type { Gateway } from '../gateway.ts'
import { requestNotFound } from './decline-request.ts'
import { statementOf } from './statement-of-request.ts'

/** What `navigator.credentials.get` is asked for, as JSON: this request's own challenge, and the passkeys that count. */
export function approvalOptions(
  gateway: Pick<Gateway, 'settings'>,
  statement: Statement,
  passkeys: readonly Pick<PinnedApprover, 'credentialId'>[],
) {
  return {
    challenge: challengeOf(statement).toString('base64url'),
    rpId: new URL(gateway.settings.dashboardUrl).hostname,
    userVerification: 'required',
    timeout: 300_000,
    allowCredentials: passkeys.map(({ credentialId }) => ({
      type: 'public-key',
      id: credentialId.toString('base64url'),
    })),
  } as const
}

/** Why somebody cannot approve a request; null when he can. */
export type Hindrance =
  | 'over'
  | 'asked_himself'
  | 'made_the_key'
  | 'approved_already'
  | 'not_pinned'
  | 'waiting'

export async function hindranceOf(
  db: Queryable,
  request: ApprovalRequest,
  userId: UserId,
): Promise<{ readonly hindrance: Hindrance | null; readonly passkeys: readonly PinnedApprover[] }> {
  const pinned = (await listApprovers(db, request.accountId)).filter((each) => each.userId === userId)
  const passkeys = pinned.filter(({ counts }) => counts)
  const given = await listApprovals(db, request.accountId, [request.id])
  const first = (): Hindrance | null => {
    if (!isOpen(request, new Date())) return 'over'
    if (isAsker(showId('usr', userId), request.askedBy))
      return isKey(request.askedBy) ? 'made_the_key' : 'asked_himself'
    if (given.some((each) => each.userId === userId && stands(each))) return 'approved_already'
    if (passkeys.length > 0) return null
    return pinned.length > 0 ? 'waiting' : 'not_pinned'
  }
  return { hindrance: first(), passkeys }
}

const HINDRANCES: Readonly<Record<Hindrance, readonly [reason: string, message: string]>> = {
  over: ['request_over', 'the request is not open any more'],
  asked_himself: [
    'asked_himself',
    'you asked for it yourself: others approve it. You can decline it, or call it back',
  ],
  made_the_key: [
    'made_the_key',
    'you made the API key that asked for it: others approve it. You can decline it',
  ],
  approved_already: ['approved_already', 'you have approved it already'],
  not_pinned: [
    'not_an_approver',
    'none of your passkeys is pinned at the signer; the page of approvers says how the operator does that',
  ],
  waiting: ['not_an_approver', 'your passkey was pinned a short time ago and does not count yet'],
}

/**
 * Keeps a person's approval. Locks the request.
 *
 * @param response - What the browser answered, as JSON.
 * @throws {Refusal} `not_found`; `conflict` as {@link HINDRANCES} say; `unauthenticated`, `passkey_refused`.
 */
export async function giveApproval(
  gateway: Pick<Gateway, 'settings' | 'secrets'>,
  tx: Tx,
  account: Pick<Account, 'id'>,
  given: { readonly id: ApprovalRequestId; readonly userId: UserId; readonly response: string },
): Promise<ApprovalRequest> {
  const { id, userId, response } = given
  const request = await lockRequest(tx, account.id, id)
  if (!request) throw requestNotFound()
  const { hindrance, passkeys } = await hindranceOf(tx, request, userId)
  if (hindrance) throw conflict(...HINDRANCES[hindrance])
  const answer = readAnswer(response)
  const isPinned = passkeys.some(({ credentialId }) => answer && credentialId.equals(answer.credentialId))
  const passkey = answer && isPinned ? await findPasskey(tx, answer.credentialId) : null
  if (!answer || !passkey || passkey.userId !== userId)
    throw refused('this passkey is not one of yours that are pinned at the signer')
  await verify(gateway, tx, await statementOf(tx, gateway.secrets, request), passkey, answer)
  const isNew = await insertApproval(tx, { ...answer, accountId: account.id, requestId: id, userId })
  crashPoint('approval:given')
  if (!isNew) throw conflict(...HINDRANCES.approved_already)
  return request
}

async function verify(
  { settings }: Pick<Gateway, 'settings'>,
  tx: Tx,
  statement: Statement,
  passkey: Passkey,
  answer: Assertion,
): Promise<void> {
  const { hostname, origin } = new URL(settings.dashboardUrl)
  const verdict = verifyAssertion(
    { publicKey: passkey.publicKey, rpId: hostname, origin },
    challengeOf(statement),
    answer,
    Number(passkey.counter),
  )
  if (verdict.kind === 'invalid') throw refused(WRONG[verdict.reason])
  if (!(await markPasskeyUsed(tx, passkey, verdict.counter))) throw refused(WRONG.counter_went_back)
}

const WRONG: Readonly<Record<Extract<AssertionVerdict, { kind: 'invalid' }>['reason'], string>> = {
  malformed: 'the browser gave no answer that can be read; try again',
  not_an_assertion: 'the browser gave no signature of a passkey; try again',
  other_challenge: 'what was signed is not what this request says now; load the page again and look at it',
  other_origin: 'it was signed on another page than this dashboard',
  other_relying_party: 'it was signed for another site than this dashboard',
  not_verified: 'the device did not verify that it is you; use your fingerprint, face or PIN',
  bad_signature: 'the signature is not this passkey’s',
  counter_went_back: 'the passkey counted backwards, as a copy of it would; tell your operator',
}

const refused = (message: string) => unauthenticated('passkey_refused', message)

function readAnswer(text: string): (Assertion & { readonly credentialId: Buffer }) | null {
  try {
    const { id, response } = JSON.parse(text)
    const [credentialId, authenticatorData, clientData, signature] = [
      id,
      response.authenticatorData,
      response.clientDataJSON,
      response.signature,
    ].map(bytesOf)
    return credentialId && authenticatorData && clientData && signature
      ? { credentialId, authenticatorData, clientData, signature }
      : null
  } catch {
    return null
  }
}

/** Far above what an authenticator answers. */
const ANSWER_BYTES_MAX = 4_096

function bytesOf(text: unknown): Buffer | null {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64url') : null
  return bytes && bytes.length > 0 && bytes.length <= ANSWER_BYTES_MAX ? bytes : null
}
