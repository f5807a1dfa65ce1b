/** `beck wallet approvers`: the one way to become an approver, at the signer's machine. */
import { APPROVER_DELAY_HOURS } from '../../approvals/approval-policy.ts'
import { type Approver, fingerprintOf } from '../../approvals/approver.ts'
import { conflict, invalid, notFound } from '../../core/errors.ts'
import { readId, showId } from '../../core/ids.ts'
import { DAY_MS } from '../../core/time.ts'
import type { Database } from '../../db/database.ts'
import { addApprover, readApprovers, removeApprover } from './approvers.ts'
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
  throw invalid(
    'unknown_command',
    'expected: approvers list, approvers add FINGERPRINT or approvers remove FINGERPRINT; a fingerprint is 40 hexadecimal digits, as the person sees it on the page of approvers',
  )
}

const digitsOf = (approver: Approver): string => fingerprintOf(approver).replaceAll(' ', '')

async function list({ folder, json, print }: ApproversCommand): Promise<void> {
  const pins = await readApprovers(folder)
  if (json)
    return print(
      JSON.stringify({ approvers: pins.map((pin) => ({ ...shown(pin), added_at: pin.added_at })) }),
    )
  if (pins.length === 0)
    print('This data directory has no approvers: no policy of approvals can take effect.')
  for (const pin of pins) print(`${fingerprintOf(pin)}  ${pin.account}  ${pin.name}  ${pin.added_at}`)
}

const shown = (approver: Approver) => ({
  fingerprint: fingerprintOf(approver),
  account: approver.account,
  user: approver.user,
  name: approver.name,
  origin: approver.origin,
})

async function add(command: ApproversCommand, digits: string): Promise<void> {
  const { db, folder, json, print, ask, yes } = command
  const { origin, hostname: rpId } = new URL(command.dashboardUrl)
  const found = (await listCandidates(db))
    .map((candidate) => ({ candidate, approver: approverOf(candidate, rpId, origin) }))
    .find(({ approver }) => digitsOf(approver) === digits)
  if (!found)
    throw notFound(
      'no_such_passkey',
      `no passkey of a member has this fingerprint for ${origin}. Let the person read it again, from the page of approvers of the dashboard there; --dashboard says where else it is`,
    )
  const { candidate, approver } = found
  const who = [
    `${candidate.name} <${candidate.email}>, ${candidate.role} of ${candidate.merchant}`,
    `  account      ${approver.account} (${candidate.mode})`,
    `  fingerprint  ${fingerprintOf(approver)}`,
    `  passkey of   ${origin}`,
  ]
  if (!json) print(who.join('\n'))
  const question = 'Is this the person who read it to you? Type yes: '
  if (!yes && (await ask(json ? [...who, question].join('\n') : question)) !== 'yes')
    throw invalid('not_confirmed', 'nothing was written')
  if (!(await addApprover(folder, approver)))
    throw conflict('already_an_approver', 'this passkey approves for this account already')
  print(
    json
      ? JSON.stringify({ added: shown(approver) })
      : `An approver from now on where the account has no policy of approvals yet; where it has one, in ${(APPROVER_DELAY_HOURS * 3_600_000) / DAY_MS} days, and its owners are told.`,
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

async function remove({ db, folder, json, print }: ApproversCommand, digits: string): Promise<void> {
  const pin = (await readApprovers(folder)).find((each) => digitsOf(each) === digits)
  if (!pin)
    throw notFound(
      'not_an_approver',
      'no approver has this fingerprint; `npx beck wallet approvers list` shows them',
    )
  await removeApprover(folder, pin)
  print(
    json
      ? JSON.stringify({ removed: shown(pin) })
      : `${pin.name} approves nothing any more for ${pin.account}: nor does what was approved and not paid yet`,
  )
  const accountId = readId('acct', pin.account)
  if (accountId) await db.transaction((tx) => showRemoved(tx, { accountId, credentialId: pin.credentialId }))
}
