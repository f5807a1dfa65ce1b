/** Where payouts may go: the signer's list as it published it, and asking for a change of it. */
import type { AllowlistAct } from '../../../approvals/approval-request.ts'
import { findPolicy, type ListedAddress, listAllowed } from '../../../approvals/published.sql.ts'
import { NETWORKS } from '../../../core/assets.ts'
import { invalidField } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { proposeAddress } from '../../../flows/approvals/propose-change.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { button, card, copyable, empty, field, formProblem, notice, select, submit } from '../parts.ts'
import { type DashboardRow, type Move, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { NETWORK_CHOICES, networkName, plural, time } from '../words.ts'
import { approvalTabs } from './approval-inbox.ts'
import { listWords } from './approval-words.ts'

async function allowlistPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const [inForce, listed] = await Promise.all([
    findPolicy(gateway.db, place.account.id),
    listAllowed(gateway.db, place.account.id),
  ])
  const mayAsk = call.may('allowlist:write') && inForce !== null
  return {
    title: 'Allowlist',
    nav: 'approvals',
    content: html`<header class="head"><h1>Allowlist</h1></header>${approvalTabs(call, 'allowlist')}${formProblem(call)}
${
  inForce
    ? notice('info', html`<p>The policy says: ${listWords(inForce.policy)}.</p>`)
    : notice(
        'wait',
        html`<p>The allowlist is guarded by the approvals of the <a href="${here}/policy">policy</a>, and there is none yet.</p>`,
      )
}
${listed.length > 0 ? addresses(call, listed, mayAsk) : empty('No address yet', 'Wallets that you pay out to again and again, each with a name.')}
${
  mayAsk &&
  card(
    'Ask for an address',
    html`<form method="post" action="${here}/allowlist">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 80, hint: 'What people call it, such as Cold wallet.' })}<div class="pair">${select(call, { name: 'network', label: 'Network', choices: NETWORK_CHOICES })}${field(call, { name: 'destination_address', label: 'Address', required: true, maxlength: 128, autocomplete: 'off' })}</div>${submit('Ask for approval')}</form>`,
  )
}`,
  }
}

function addresses(call: PlaceCall, listed: readonly ListedAddress[], mayAsk: boolean): Part {
  const zone = call.place.membership.timeZone
  const line = (row: ListedAddress) =>
    html`<li><div><strong>${row.name}</strong><span>${copyable(row.address, 'Copy the address')}</span><span>${networkName(row.network)}, since ${time(row.addedAt, zone)}</span></div><div>${row.isUsable ? html`<span class="badge good">usable</span>` : html`<span class="badge wait">usable from</span>${time(row.usableFrom, zone)}`}</div>${
      mayAsk &&
      button(`${call.here}/allowlist/remove`, 'Take off', {
        fields: { network: row.network, destination_address: row.address },
        name: `Take off ${row.name}`,
      })
    }</li>`
  return card(plural(listed.length, 'address', 'addresses'), html`<ul class="rows">${listed.map(line)}</ul>`)
}

const propose =
  (act: AllowlistAct) =>
  async (call: PlaceCall): Promise<Move> => {
    const { gateway, place, form } = call
    const network = NETWORKS.find((each) => each === form.get('network'))
    if (!network) throw invalidField('network', 'invalid_network', 'choose a network')
    const address = form.get('destination_address')
    const name = form.get('name')
    const id = await change(call, async (tx, record) => {
      const wanted = { act, network, address, name }
      const opened = await proposeAddress(gateway, tx, place.account, call.person, wanted)
      record({ action: 'allowlist.propose', subject: showId('apr', opened), after: wanted })
      return opened
    })
    return { to: `${call.here}/approvals/${showId('apr', id)}`, done: 'asked' }
  }

export const allowlistRows: readonly DashboardRow[] = [
  placeRow('withdrawals:read', 'GET /:account/allowlist', { handle: allowlistPage }),
  placeRow('allowlist:write', 'POST /:account/allowlist', {
    confirm: 'recent',
    handle: propose('allow'),
    redraw: allowlistPage,
  }),
  placeRow('allowlist:write', 'POST /:account/allowlist/remove', {
    confirm: 'recent',
    handle: propose('disallow'),
    redraw: allowlistPage,
  }),
]
