/** The rules that guard a merchant's money: what is in force, and asking for other ones. */
import {
  ALLOWLIST_DELAY_HOURS_MAX,
  type ApprovalPolicy,
  type CoinRule,
  policyJson,
} from '../../../approvals/approval-policy.ts'
import { findPolicyChange } from '../../../approvals/approval-requests.sql.ts'
import { countPeople, findPolicy, listApprovers } from '../../../approvals/published.sql.ts'
import { ASSET_FACTS, ASSETS, type Asset } from '../../../core/assets.ts'
import { invalidField } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { formatAmount, parseDecimal } from '../../../core/money.ts'
import { isHeard } from '../../../flows/approvals/approval-view.ts'
import { proposePolicy } from '../../../flows/approvals/propose-change.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { card, checks, empty, field, formProblem, notice, select, submit } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { plural, time } from '../words.ts'
import { approvalTabs } from './approval-inbox.ts'
import { policyTable } from './approval-words.ts'

/** What a policy begins with: two people, everything of value, keys as well. */
const FIRST: ApprovalPolicy = { coins: {}, bindsKeys: true, allowlist: { isRequired: false, delayHours: 24 } }

async function policyPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const [inForce, approvers, pending] = await Promise.all([
    findPolicy(gateway.db, place.account.id),
    listApprovers(gateway.db, place.account.id),
    findPolicyChange(gateway.db, place.account.id),
  ])
  const people = countPeople(approvers.filter(isHeard))
  return {
    title: 'Policy of approvals',
    nav: 'approvals',
    content: html`<header class="head"><h1>Policy of approvals</h1></header>${approvalTabs(call, 'policy')}${formProblem(call)}
${pending && notice('wait', html`<p>Another policy was asked for. <a href="${here}/approvals/${showId('apr', pending.id)}">Look at it</a>: while it waits, none other can be asked for.</p>`)}
${
  inForce
    ? card(
        'In force',
        policyTable(inForce.policy, null, true),
        html`<span class="hint">since ${time(inForce.since, place.membership.timeZone)}, number ${inForce.number}</span>`,
      )
    : empty('No policy is in force', 'Whoever may withdraw does so alone, within the operator’s limits.')
}
${call.may('settings:write') && !pending && card(inForce ? 'Ask for another one' : 'Ask for the first one', policyForm(call, inForce?.policy ?? FIRST, people))}`,
  }
}

function policyForm(call: PlaceCall, policy: ApprovalPolicy, people: number): Part {
  return html`<p class="lead">${plural(people, 'person', 'people')} ${people === 1 ? 'is' : 'are'} pinned at the signer and can approve. Nobody approves what he asked for himself: one approval needs two people, two need three. Small payouts of a day add up, so that less than the bound leaves in 24 hours without approvals.</p><form method="post" action="${call.here}/policy"><div class="rules">${ASSETS.map(
    (asset) => {
      const rule = policy.coins[asset]
      return html`<div class="pair">${field(call, { name: `from_${asset}`, label: `${asset} payouts from`, value: rule ? formatAmount(rule.fromAtoms, asset) : '', inputmode: 'decimal', maxlength: 40, unit: asset, placeholder: 'no approvals' })}${select(
        call,
        {
          name: `approvals_${asset}`,
          label: 'need',
          value: String(rule?.approvals ?? 1),
          choices: [
            ['1', 'one approval'],
            ['2', 'two approvals'],
          ],
        },
      )}</div>`
    },
  )}</div><div class="field"><p class="hint">0 is every payout and refund of the coin; nothing typed in means that it needs no approvals.</p></div>${checks(call, { name: 'keys', legend: 'API keys', choices: [['bound', 'What keys ask for needs approvals too']], checked: policy.bindsKeys ? ['bound'] : [], hint: 'A key that leaks pays out no more than this lets through. Who made a key approves nothing that it asks for.' })}${checks(call, { name: 'allowlist', legend: 'Allowlist', choices: [['required', 'Payouts go only to addresses on the allowlist']], checked: policy.allowlist.isRequired ? ['required'] : [], hint: 'Refunds go where the buyer says.' })}${field(call, { name: 'delay_hours', label: 'An address can be used so long after it was approved', value: policy.allowlist.delayHours, required: true, inputmode: 'numeric', maxlength: 3, unit: 'hours', hint: 'The signer counts them by its own clock. Long enough for somebody to notice.' })}${submit('Ask for this policy', 'primary', `${call.here}/policy`)}</form>`
}

/** @throws {Refusal} `invalid`, naming the field. */
function policyOf(call: PlaceCall): ApprovalPolicy {
  const hours = call.form.get('delay_hours')
  const delayHours = Number(hours)
  if (!/^\d{1,3}$/.test(hours) || delayHours > ALLOWLIST_DELAY_HOURS_MAX)
    throw invalidField(
      'delay_hours',
      'invalid_delay',
      `give whole hours from 0 to ${ALLOWLIST_DELAY_HOURS_MAX}`,
    )
  return {
    coins: Object.fromEntries(
      ASSETS.flatMap((asset) => {
        const rule = ruleOf(call, asset)
        return rule ? [[asset, rule] as const] : []
      }),
    ),
    bindsKeys: call.form.all('keys').includes('bound'),
    allowlist: { isRequired: call.form.all('allowlist').includes('required'), delayHours },
  }
}

function ruleOf(call: PlaceCall, asset: Asset): CoinRule | null {
  const text = call.form.get(`from_${asset}`)
  if (text === '') return null
  const fromAtoms = parseDecimal(text, ASSET_FACTS[asset].decimals)
  if (fromAtoms === null || fromAtoms >= 10n ** 60n)
    throw invalidField(
      `from_${asset}`,
      'invalid_amount',
      `give a decimal of ${asset} with at most ${ASSET_FACTS[asset].decimals} decimals, such as 0.5, or nothing`,
    )
  return { fromAtoms, approvals: call.form.get(`approvals_${asset}`) === '2' ? 2 : 1 }
}

export const policyRows: readonly DashboardRow[] = [
  placeRow('withdrawals:read', 'GET /:account/policy', { handle: policyPage }),
  placeRow('settings:write', 'POST /:account/policy', {
    confirm: 'recent',
    async handle(call) {
      const policy = policyOf(call)
      const { account } = call.place
      const id = await change(call, async (tx, record) => {
        const before = await findPolicy(tx, account.id)
        const opened = await proposePolicy(tx, account, call.person, policy)
        record({
          action: 'policy.propose',
          subject: showId('apr', opened),
          before: before && { ...policyJson(before.policy) },
          after: { ...policyJson(policy) },
        })
        return opened
      })
      return { to: `${call.here}/approvals/${showId('apr', id)}`, done: 'asked' }
    },
    redraw: policyPage,
  }),
]
