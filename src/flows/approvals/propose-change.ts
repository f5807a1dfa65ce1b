/** Asking for a change of what guards the money. Nothing is changed by it: the signer does that, once others approved. */
import type { Account } from '../../accounts/account.ts'
import { type ApprovalPolicy, approvalsToChange, policyJson } from '../../approvals/approval-policy.ts'
import type { AllowedAddress, AllowlistAct, Asked } from '../../approvals/approval-request.ts'
import { openRequest } from '../../approvals/approval-requests.sql.ts'
import { countPeople, findAllowed, findPolicy, listApprovers } from '../../approvals/published.sql.ts'
import { chainFor, nativeAsset } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { conflict, invalidField } from '../../core/errors.ts'
import { type ApprovalRequestId, newId, showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import type { Gateway } from '../gateway.ts'
import type { Person } from '../people/person.ts'
import { requirePayable } from '../withdrawals/payable-destination.ts'
import { isHeard } from './approval-view.ts'

/**
 * Asks for another policy; one at a time.
 *
 * @throws {Refusal} `conflict`, reason `too_few_approvers`, `nothing_changes` or `policy_pending`.
 */
export async function proposePolicy(
  tx: Tx,
  account: Account,
  person: Pick<Person, 'userId'>,
  policy: ApprovalPolicy,
): Promise<ApprovalRequestId> {
  const inForce = await findPolicy(tx, account.id)
  if (inForce && JSON.stringify(policyJson(inForce.policy)) === JSON.stringify(policyJson(policy)))
    throw conflict('nothing_changes', 'this is the policy that is in force')
  const needed = approvalsToChange(inForce?.policy ?? policy)
  // One of them asks, and it is others who approve: under the new policy, and of this change.
  const people = Math.max(needed, approvalsToChange(policy)) + 1
  const pinned = countPeople((await listApprovers(tx, account.id)).filter(isHeard))
  if (pinned < people)
    throw conflict(
      'too_few_approvers',
      `this policy needs ${people} people whose passkeys are pinned at the signer and count, since nobody approves what he asked for himself; there ${pinned === 1 ? 'is' : 'are'} ${pinned}`,
    )
  return open(tx, account, person, needed, { act: 'policy', follows: inForce?.number ?? 0, policy })
}

/**
 * Asks for an address to be put on the list, or taken from it.
 *
 * @throws {Refusal} `conflict`, reason `no_policy`, `listed_already` or `not_listed`; `invalid`.
 */
export async function proposeAddress(
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  tx: Tx,
  account: Account,
  person: Pick<Person, 'userId'>,
  wanted: { readonly act: AllowlistAct } & AllowedAddress,
): Promise<ApprovalRequestId> {
  const inForce = await findPolicy(tx, account.id)
  if (!inForce)
    throw conflict(
      'no_policy',
      'the allowlist is guarded by the approvals that the policy asks for, and there is no policy yet; ask for one first',
    )
  const { act, network, address, name } = wanted
  const listed = await findAllowed(tx, account.id, network, address)
  if (act === 'allow') {
    if (listed) throw conflict('listed_already', `${address} is on the list, as ${listed.name}`)
    if (name === '' || name.length > NAME_LENGTH_MAX)
      throw invalidField('name', 'invalid_name', `give it a name of at most ${NAME_LENGTH_MAX} characters`)
    const chain = chainFor(account.mode, network)
    await requirePayable(gateway, tx, nativeAsset(chain), chain, address)
  } else if (!listed) throw conflict('not_listed', `${address} is not on the list`)
  const asked = listed ? { act, network, address: listed.address, name: listed.name } : wanted
  return open(tx, account, person, approvalsToChange(inForce.policy), asked)
}

const NAME_LENGTH_MAX = 80

async function open(
  tx: Tx,
  account: Account,
  { userId }: Pick<Person, 'userId'>,
  needed: 1 | 2,
  asked: Asked,
): Promise<ApprovalRequestId> {
  const id = newId('apr')
  const draft = { accountId: account.id, id, asked, askedBy: showId('usr', userId), needed }
  const isOpen = await openRequest(tx, draft)
  crashPoint('approval:proposed')
  if (isOpen) return id
  throw conflict(
    'policy_pending',
    'another change of the policy waits for approvals; decide about that one first',
  )
}
