/** One request for approvals: what it says, who said yes, and the passkey's button. */
import type { ApprovalRequest } from '../../../approvals/approval-request.ts'
import { findRequest } from '../../../approvals/approval-requests.sql.ts'
import { findPolicy } from '../../../approvals/published.sql.ts'
import { challengeOf, type Statement } from '../../../approvals/statement.ts'
import { type ApprovalRequestId, readId, showId } from '../../../core/ids.ts'
import { type ApprovalProgress, progressOf } from '../../../flows/approvals/approval-view.ts'
import { declineRequest, requestNotFound } from '../../../flows/approvals/decline-request.ts'
import {
  approvalOptions,
  giveApproval,
  type Hindrance,
  hindranceOf,
} from '../../../flows/approvals/give-approval.ts'
import { tryStatementOf } from '../../../flows/approvals/statement-of-request.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { button, card, facts, formProblem, hidden, notice, sentence } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, time } from '../words.ts'
import { inboxPage, pathOf, UNREADABLE } from './approval-inbox.ts'
import {
  askerWords,
  discountWords,
  exactText,
  headlineOf,
  progressWords,
  statementBody,
} from './approval-words.ts'

/** @throws {Refusal} `not_found`. */
async function requestOf(call: PlaceCall): Promise<ApprovalRequest> {
  const request = await findRequest(call.gateway.db, call.place.account.id, requestIdOf(call))
  if (!request) throw requestNotFound()
  return request
}

function requestIdOf(call: PlaceCall): ApprovalRequestId {
  const id = readId('apr', call.params.id ?? '')
  if (!id) throw requestNotFound()
  return id
}

async function requestPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place } = call
  const request = await requestOf(call)
  const [[progress], inForce, found] = await Promise.all([
    progressOf(gateway.db, place.account.id, [request]),
    findPolicy(gateway.db, place.account.id),
    tryStatementOf(gateway.db, gateway.secrets, request),
  ])
  if (!progress) throw requestNotFound()
  if (!found.statement) return unreadablePage(call, progress, found.problem)
  const { statement } = found
  const zone = place.membership.timeZone
  const isEnough = progress.given.length >= progress.needed
  return {
    title: 'Approval',
    nav: 'approvals',
    width: statement.act === 'batch' || statement.act === 'policy' ? 'wide' : 'narrow',
    trail: [['Approvals', `${call.here}/approvals`]],
    isLive: request.status === 'open' && isEnough,
    content: html`<h1 class="big">${headlineOf(statement)} ${badge(request.status)}</h1>${formProblem(call)}
${outcome(request, progress, isEnough)}
${card(
  'What is asked for',
  html`${statementBody(statement, inForce?.policy ?? null)}${requestFacts(call, progress)}`,
)}
${card(progressWords(progress.given.length, progress.needed), approvalsList(progress, zone))}
${request.status === 'open' && (await decision(call, request, statement))}
${exactText(statement, challengeOf(statement).toString('hex'))}`,
  }
}

const requestFacts = (call: PlaceCall, { request, requestedBy }: ApprovalProgress): Part => {
  const zone = call.place.membership.timeZone
  return facts([
    ['Asked for by', askerWords(request.askedBy, requestedBy)],
    ['Asked for', time(request.createdAt, zone)],
    ['Can be approved until', time(request.validUntil, zone)],
    ['Decided', time(request.decidedAt, zone)],
    [request.asked.act === 'batch' ? 'Bulk payout' : 'Withdrawal', subjectLink(call, request)],
  ])
}

/** What it asks for is not there, or its chain is not known now: nobody can approve it, and everybody is told why. */
const unreadablePage = (call: PlaceCall, progress: ApprovalProgress, problem: string): Sheet => ({
  title: 'Approval',
  nav: 'approvals',
  width: 'narrow',
  trail: [['Approvals', `${call.here}/approvals`]],
  content: html`<h1 class="big">${UNREADABLE} ${badge(progress.request.status)}</h1>${formProblem(call)}
${notice('bad', html`<p>${sentence(problem)}</p>`)}
${card('What is known of it', requestFacts(call, progress))}
${progress.request.status === 'open' && call.may('approvals:write') && html`<section class="card decide"><header><h2>Your decision</h2></header><div class="actions">${declineButton(call, progress.request)}</div></section>`}`,
})

const declineButton = (call: PlaceCall, request: ApprovalRequest): Part =>
  button(`${pathOf(call, request)}/decline`, 'Decline', { tone: 'danger' })

const subjectLink = (call: PlaceCall, { asked }: ApprovalRequest): Part =>
  asked.act === 'withdrawal'
    ? html`<a href="${call.here}/withdrawals/${showId('wd', asked.withdrawalId)}">${showId('wd', asked.withdrawalId)}</a>`
    : asked.act === 'batch'
      ? html`<a href="${call.here}/withdrawals/batches/${showId('bat', asked.batchId)}">${showId('bat', asked.batchId)}</a>`
      : null

const REFUSED: Readonly<Record<string, string>> = {
  cancelled: 'It was called back before it was approved.',
  no_policy:
    'The signer refused it: no policy is in force that it could be approved under. Ask for a policy first.',
  too_few_approvers:
    'The signer refused it: it wants more people than are pinned at the signer. Have approvers added, and ask again.',
}

function outcome(request: ApprovalRequest, progress: ApprovalProgress, isEnough: boolean): Part {
  if (request.status === 'open')
    return (
      isEnough &&
      notice(
        'info',
        html`<p>There are approvals enough. The signer checks them now, which takes some seconds.</p>`,
      )
    )
  const words: Readonly<Record<string, Part>> = {
    approved: html`<p>The signer has checked the approvals and taken it.</p>`,
    declined: html`<p>Declined${progress.request.declinedBy && ' by a member of the team'}. Nothing is done, and what was held is available again.</p>`,
    expired: html`<p>Nobody approved it in time. Nothing is done, and what was held is available again.</p>`,
    refused: html`<p>${REFUSED[request.refusedReason ?? ''] ?? 'The signer refused it.'}</p>`,
  }
  return notice(request.status === 'approved' ? 'good' : 'wait', words[request.status])
}

function approvalsList(progress: ApprovalProgress, zone: string): Part {
  const { needed, given, discounted, awaiting, request } = progress
  return html`${
    given.length > 0 &&
    html`<ul class="rows">${given.map(
      (each) =>
        html`<li><div><strong>${each.name}</strong><span>${time(each.at, zone)}</span></div>${each.verdict === 'counts' ? html`<span class="badge good">counts</span>` : html`<span class="badge busy">the signer looks at it</span>`}</li>`,
    )}</ul>`
  }${
    discounted.length > 0 &&
    html`<ul class="rows">${discounted.map(
      (each) =>
        html`<li><div><strong>${each.name}</strong><span>${discountWords(each.verdict)}</span></div><span class="badge bad">does not count</span></li>`,
    )}</ul>`
  }${
    request.status === 'open' &&
    given.length < needed &&
    html`<p>${awaiting.length > 0 ? html`Awaited from ${awaiting.map(({ name }) => name).join(' or ')}.` : 'Nobody is left who could approve it: no other passkey is pinned that counts.'}</p>`
  }${given.length === 0 && request.status !== 'open' && html`<p class="hint">Nobody approved it.</p>`}`
}

const HINDRANCE_WORDS: Readonly<Record<Hindrance, (here: string) => Part>> = {
  over: () => 'Its time is over: nobody can approve it any more.',
  asked_himself: () => 'You asked for it, so others approve it.',
  made_the_key: () => 'You made the API key that asked for it, so others approve it.',
  approved_already: () => 'You have approved it.',
  not_pinned: (here) =>
    html`None of your passkeys is pinned at the signer yet. <a href="${here}/approvers">Approvers</a> says how that is done.`,
  waiting: (here) =>
    html`Your passkey was pinned a short time ago and does not count yet. <a href="${here}/approvers">Approvers</a> says from when on.`,
}

async function decision(call: PlaceCall, request: ApprovalRequest, statement: Statement): Promise<Part> {
  if (!call.may('approvals:write'))
    return notice('info', html`<p>Owners, admins and finance decide about it.</p>`)
  const path = pathOf(call, request)
  const { hindrance, passkeys } = await hindranceOf(call.gateway.db, request, call.person.userId)
  const approve = hindrance
    ? html`<p class="hint">${HINDRANCE_WORDS[hindrance](call.here)}</p>`
    : html`<form method="post" action="${path}/approve" class="passkey inline" data-passkey="${JSON.stringify(approvalOptions(call.gateway, statement, passkeys))}" data-field="assertion">${hidden('assertion', '')}<button type="submit" class="primary">Approve with passkey</button><noscript><p class="hint">Passkeys need JavaScript in this browser.</p></noscript><p class="problem" role="alert" hidden></p></form>`
  return html`<section class="card decide"><header><h2>Your decision</h2></header>${!hindrance && html`<p>Compare the ${statement.act === 'withdrawal' ? 'address and the amount' : 'lines above'} with what you know from elsewhere. Your passkey signs exactly this, and nothing else.</p>`}<div class="actions">${approve}${declineButton(call, request)}</div></section>`
}

export const approvalRows: readonly DashboardRow[] = [
  placeRow('withdrawals:read', 'GET /:account/approvals', { handle: inboxPage }),
  placeRow('withdrawals:read', 'GET /:account/approvals/:id', { handle: requestPage }),
  placeRow('approvals:write', 'POST /:account/approvals/:id/approve', {
    async handle(call) {
      const { gateway, place } = call
      const id = requestIdOf(call)
      await change(call, async (tx, record) => {
        const response = call.form.get('assertion')
        const given = { id, userId: call.person.userId, response }
        const request = await giveApproval(gateway, tx, place.account, given)
        record({ action: 'approval.give', subject: showId('apr', id), after: { act: request.asked.act } })
      })
      return { to: `${call.here}/approvals/${showId('apr', id)}`, done: 'approved' }
    },
    redraw: requestPage,
  }),
  placeRow('approvals:write', 'POST /:account/approvals/:id/decline', {
    async handle(call) {
      const id = requestIdOf(call)
      await change(call, async (tx, record) => {
        const request = await declineRequest(tx, call.place.account, id, call.person.userId)
        record({ action: 'approval.decline', subject: showId('apr', id), after: { act: request.asked.act } })
      })
      return { to: `${call.here}/approvals/${showId('apr', id)}`, done: 'declined' }
    },
    redraw: requestPage,
  }),
]
