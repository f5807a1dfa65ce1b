/** `beck wallet approvers`: the one way to become an approver, at the signer's machine. */
import { APPROVER_DELAY_HOURS } from '../../approvals/approval-policy.ts'
import { type Approver, fingerprintOf } from '../../approvals/approver.ts'
import { Refusal } from '../../core/errors.ts'
import { readId, showId } from '../../core/ids.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Database } from '../../db/database.ts'
import { addApprover, type Pin, readApprovers, removeApprover } from './approvers.ts'
import { type Candidate, listCandidates } from './candidates.sql.ts'
import { showRemoved } from './shown-approvals.sql.ts'

export interface ApproversCommand {
  readonly db: Database
  readonly folder: string
  readonly json: boolean
  /** Whether the operator is asked before a person is written down. */
  readonly yes: boolean
  /** Where the dashboard is: passkeys belong to its name. */
  readonly dashboardUrl: string
  print(text: string): void
  /** Asks on the terminal. @returns What was typed in. */
  ask(question: string): Promise<string>
}

export async function approversCommand(
  command: ApproversCommand,
  [verb, ...rest]: readonly string[],
): Promise<void> {
  const given = rest.join('').toLowerCase().replaceAll(/[\s-]/g, '')
  if (verb === 'list' && given === '') return list(command)
  if ((verb === 'add' || verb === 'remove') && /^[0-9a-f]{40}$/.test(given))
    return verb === 'add' ? add(command, given) : remove(command, given)
  throw new Refusal(
    'invalid',
    'unknown_command',
    'expected: approvers list, approvers add FINGERPRINT or approvers remove FINGERPRINT; a fingerprint is 40 hexadecimal digits, as the person sees it on the page of approvers',
  )
}

const digitsOf = (approver: Approver): string => fingerprintOf(approver).replaceAll(' ', '')

async function list({ folder, json, print }: ApproversCommand): Promise<void> {
  const pins = await readApprovers(folder)
  if (json) return print(JSON.stringify({ approvers: pins.map(shown) }))
  if (pins.length === 0)
    print('This data directory has no approvers: no policy of approvals can take effect.')
  for (const pin of pins) print(`${fingerprintOf(pin)}  ${pin.account}  ${pin.name}  ${pin.added_at}`)
}

const shown = (pin: Pin) => ({
  fingerprint: fingerprintOf(pin),
  account: pin.account,
  user: pin.user,
  name: pin.name,
  origin: pin.origin,
  added_at: pin.added_at,
})

async function add(command: ApproversCommand, digits: string): Promise<void> {
  const { db, folder, print, ask, yes } = command
  const { origin, hostname: rpId } = new URL(command.dashboardUrl)
  const found = (await listCandidates(db))
    .map((candidate) => ({ candidate, approver: approverOf(candidate, rpId, origin) }))
    .find(({ approver }) => digitsOf(approver) === digits)
  if (!found)
    throw new Refusal(
      'not_found',
      'no_such_passkey',
      `no passkey of a member has this fingerprint for ${origin}. Let the person read it again, from the page of approvers of the dashboard there; --dashboard says where else it is`,
    )
  const { candidate, approver } = found
  print(`${candidate.name} <${candidate.email}>, ${candidate.role} of ${candidate.merchant}`)
  print(`  account      ${approver.account} (${candidate.mode})`)
  print(`  fingerprint  ${fingerprintOf(approver)}`)
  print(`  passkey of   ${origin}`)
  if (!yes && (await ask('Is this the person who read it to you? Type yes: ')) !== 'yes')
    throw new Refusal('invalid', 'not_confirmed', 'nothing was written')
  if (!(await addApprover(folder, approver)))
    throw new Refusal('conflict', 'already_an_approver', 'this passkey approves for this account already')
  print(
    `An approver from now on where the account has no policy of approvals yet; where it has one, in ${(APPROVER_DELAY_HOURS * 3_600_000) / DAY_MS} days, and its owners are told.`,
  )
}

const approverOf = (candidate: Candidate, rpId: string, origin: string): Approver => ({
  account: showId('acct', candidate.accountId),
  user: showId('usr', candidate.userId),
  name: `${candidate.name} <${candidate.email}>`,
  credentialId: candidate.credentialId.toString('base64url'),
  publicKey: candidate.publicKey.toString('base64url'),
  rpId,
  origin,
})

async function remove({ db, folder, print }: ApproversCommand, digits: string): Promise<void> {
  const pin = (await readApprovers(folder)).find((each) => digitsOf(each) === digits)
  if (!pin)
    throw new Refusal(
      'not_found',
      'not_an_approver',
      'no approver has this fingerprint; `npx beck wallet approvers list` shows them',
    )
  await removeApprover(folder, pin)
  print(
    `${pin.name} approves nothing any more for ${pin.account}: nor does what was approved and not paid yet`,
  )
  const accountId = readId('acct', pin.account)
  if (accountId) await db.transaction((tx) => showRemoved(tx, { accountId, credentialId: pin.credentialId }))
}
