/** Whose passkeys the signer knows, and what the operator types to make it know another one. */
import { fingerprintOf } from '../../../approvals/approver.ts'
import { listApprovers, type PinnedApprover } from '../../../approvals/published.sql.ts'
import { showId } from '../../../core/ids.ts'
import { canHavePasskeys } from '../../../flows/people/passkeys.ts'
import { listPasskeys, type Passkey } from '../../../users/factors.sql.ts'
import { listMembers, type Member } from '../../../users/merchants.sql.ts'
import { may } from '../../../users/permissions.ts'
import { html, type Part } from '../../hosted/html.ts'
import { card, copyable, empty, facts, notice } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { time } from '../words.ts'
import { approvalTabs } from './approval-inbox.ts'

interface Device {
  readonly passkey: Passkey
  readonly fingerprint: string
  /** Null for one that the signer does not know. */
  readonly pinned: PinnedApprover | null
}

async function approversPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place } = call
  const [members, pinned] = await Promise.all([
    listMembers(gateway.db, place.membership.merchantId),
    listApprovers(gateway.db, place.account.id),
  ])
  const approving = members.filter(({ role, isDisabled }) => may(role, 'approvals:write') && !isDisabled)
  const people: (readonly [Member, Device[]])[] = []
  for (const member of approving) people.push([member, await devicesOf(call, member, pinned)] as const)
  const own = people.find(([{ userId }]) => userId === call.person.userId)
  const gone = pinned.filter(
    (each) => !people.some(([, devices]) => devices.some((device) => device.pinned === each)),
  )
  return {
    title: 'Approvers',
    nav: 'approvals',
    content: html`<header class="head"><h1>Approvers</h1></header>${approvalTabs(call, 'approvers')}
<p class="lead">An approval is a passkey’s signature, and the signer counts those alone whose passkeys the operator pinned at its machine. There he compares the fingerprint with the one that you read to him, from your own device and in your own voice.</p>
${own && card('Your passkeys', ownDevices(call, own[1]))}
${card('The team', html`<ul class="rows">${people.map(([member, devices]) => html`<li><div><strong>${member.name}</strong>${call.may('team:read') && html`<span>${member.email}, ${member.role}</span>`}</div><div>${stateOf(devices, call.place.membership.timeZone)}</div></li>`)}</ul>`)}
${gone.length > 0 && notice('wait', html`<p><strong>Pinned, and not in the team any more, or on no device of theirs:</strong></p><ul>${gone.map((each) => html`<li>${each.name}, <code>${each.fingerprint}</code></li>`)}</ul><p>Ask the operator to remove them at the signer.</p>`)}`,
  }
}

async function devicesOf(
  { gateway, place }: PlaceCall,
  { userId, name }: Member,
  pinned: readonly PinnedApprover[],
): Promise<Device[]> {
  const { hostname, origin } = new URL(gateway.settings.dashboardUrl)
  return (await listPasskeys(gateway.db, userId)).map((passkey) => ({
    passkey,
    fingerprint: fingerprintOf({
      account: showId('acct', place.account.id),
      user: showId('usr', userId),
      name,
      credentialId: passkey.credentialId.toString('base64url'),
      publicKey: passkey.publicKey.toString('base64url'),
      rpId: hostname,
      origin,
    }),
    pinned:
      pinned.find((each) => each.userId === userId && each.credentialId.equals(passkey.credentialId)) ?? null,
  }))
}

function ownDevices(call: PlaceCall, devices: readonly Device[]): Part {
  const zone = call.place.membership.timeZone
  if (devices.length === 0)
    return empty(
      'No passkey yet',
      canHavePasskeys(call.gateway)
        ? 'Make one on a device that you carry: your fingerprint, your face, or a security key.'
        : 'Passkeys need a name and https; the operator sets BECK_PUBLIC_URL or BECK_DASHBOARD_URL to an https address.',
      canHavePasskeys(call.gateway) &&
        html`<a class="button primary" href="${call.base}/me/passkeys">Add a passkey</a>`,
    )
  return devices.map(
    ({ passkey, fingerprint, pinned }) =>
      html`<div class="device">${facts([
        ['Passkey', html`<strong>${passkey.name}</strong> ${pinBadge(pinned, zone)}`],
        ['Fingerprint', html`<span class="exact"><code>${fingerprint}</code></span>`],
        ['For the operator', pinned === null && copyable(commandFor(fingerprint), 'Copy the command')],
      ])}</div>`,
  )
}

/** What the operator types at the signer's machine. */
const commandFor = (fingerprint: string): string => `npx beck wallet approvers add '${fingerprint}'`

const pinBadge = (pinned: PinnedApprover | null, zone: string): Part =>
  pinned === null
    ? html`<span class="badge quiet">not pinned</span>`
    : pinned.counts
      ? html`<span class="badge good">counts</span>`
      : html`<span class="badge wait">counts from</span> ${time(pinned.countsFrom, zone)}`

function stateOf(devices: readonly Device[], zone: string): Part {
  const pinned = devices.map((device) => device.pinned).filter((each) => each !== null)
  const best = pinned.find(({ counts }) => counts) ?? pinned[0] ?? null
  if (devices.length === 0) return html`<span class="badge quiet">no passkey yet</span>`
  return pinBadge(best, zone)
}

export const approverRows: readonly DashboardRow[] = [
  placeRow('withdrawals:read', 'GET /:account/approvers', { handle: approversPage }),
]
