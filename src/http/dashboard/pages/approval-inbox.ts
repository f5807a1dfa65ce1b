/** What waits for other people, and what they decided before. */
import type { ApprovalRequest } from '../../../approvals/approval-request.ts'
import {
  DECIDED_STATUSES,
  listDecided,
  listRequests,
  OPEN_MAX,
} from '../../../approvals/approval-requests.sql.ts'
import { findPolicy } from '../../../approvals/published.sql.ts'
import type { Statement } from '../../../approvals/statement.ts'
import { showId } from '../../../core/ids.ts'
import { type ApprovalProgress, progressOf } from '../../../flows/approvals/approval-view.ts'
import { tryStatementOf } from '../../../flows/approvals/statement-of-request.ts'
import { type Html, html, type Part } from '../../hosted/html.ts'
import { drawList, type ListPage, readList } from '../list.ts'
import { choiceOf, type Filter, filterQuery } from '../list-query.ts'
import { card, copyable, empty, tabs } from '../parts.ts'
import type { PlaceCall, Sheet } from '../row.ts'
import { badge, plural, time } from '../words.ts'
import { askerWords, headlineOf, KIND_WORDS, progressWords } from './approval-words.ts'

/** Pages that belong together, above each of them. */
export const approvalTabs = (
  call: PlaceCall,
  current: 'approvals' | 'policy' | 'approvers' | 'allowlist',
): Html =>
  tabs('Approvals', call.here, current, [
    ['approvals', 'Requests'],
    ['policy', 'Policy'],
    ['approvers', 'Approvers'],
    ['allowlist', 'Allowlist'],
  ])

const FILTERS: readonly Filter[] = [
  choiceOf('filter_status', 'Status', DECIDED_STATUSES),
  {
    name: 'filter_kind',
    label: 'Kind',
    kind: 'choice',
    choices: [
      ['withdrawal', KIND_WORDS.withdrawal],
      ['batch', KIND_WORDS.batch],
      ['policy', KIND_WORDS.policy],
      ['allow,disallow', KIND_WORDS.allow],
    ],
  },
]

interface Shown extends ApprovalProgress {
  /** Null where it cannot be made now: that one stays without words, and the others are shown. */
  readonly statement: Statement | null
}

/** With what each says. */
async function readShown(call: PlaceCall, requests: readonly ApprovalRequest[]): Promise<Shown[]> {
  const { gateway, place } = call
  const shown: Shown[] = []
  for (const progress of await progressOf(gateway.db, place.account.id, requests))
    shown.push({
      ...progress,
      ...(await tryStatementOf(gateway.db, gateway.secrets, progress.request)),
    })
  return shown
}

/** A page of what was decided, with what each says. */
async function readDecided(call: PlaceCall): Promise<ListPage<Shown>> {
  const { gateway, place } = call
  const list = await readList(call, FILTERS, (query) => listDecided(gateway.db, place.account.id, query))
  return { ...list, page: { ...list.page, items: await readShown(call, list.page.items) } }
}

export const pathOf = (call: PlaceCall, request: Pick<ApprovalRequest, 'id'>): string =>
  `${call.here}/approvals/${showId('apr', request.id)}`

export const UNREADABLE = 'A request that cannot be shown now'

const titleOf = ({ statement }: Shown): Part => (statement ? headlineOf(statement) : UNREADABLE)

const waitsFor = (call: PlaceCall, { awaiting }: ApprovalProgress): boolean =>
  awaiting.some(({ userId }) => userId === call.person.userId)

export async function inboxPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const { id } = place.account
  const [open, decided, inForce] = await Promise.all([
    listRequests(gateway.db, id, 0).then((requests) => readShown(call, requests)),
    readDecided(call),
    findPolicy(gateway.db, id),
  ])
  const mine = open.filter((each) => waitsFor(call, each))
  const others = open.filter((each) => !waitsFor(call, each))
  const hasDecided = decided.page.items.length > 0 || filterQuery(call) !== '' || decided.page.page > 1
  return {
    title: 'Approvals',
    nav: 'approvals',
    isLive: open.length > 0,
    content: html`<header class="head"><h1>Approvals</h1></header>${approvalTabs(call, 'approvals')}
${!inForce && open.length === 0 && firstSteps(here)}
${mine.length > 0 && card(`${plural(mine.length, 'request')} for you`, requestRows(call, mine))}
${others.length > 0 && card('Waiting for others', requestRows(call, others))}
${open.length >= OPEN_MAX && html`<p class="hint">These are the ${OPEN_MAX} that end first; the others follow when they are decided.</p>`}
${inForce && open.length === 0 && empty('Nothing waits', 'What needs an approval shows here, and those who may give it get a mail.')}
${hasDecided && drawDecided(call, decided)}`,
  }
}

const drawDecided = (call: PlaceCall, list: ListPage<Shown>): Html =>
  drawList(call, {
    title: 'Decided',
    isPart: true,
    list,
    filters: FILTERS,
    columns: [
      {
        label: 'Request',
        cell: (row) => html`<a href="${pathOf(call, row.request)}">${titleOf(row)}</a>`,
      },
      { label: 'Status', name: 'status', cell: (row) => badge(row.request.status) },
      { label: 'Kind', name: 'kind', isMinor: true, cell: (row) => KIND_WORDS[row.request.asked.act] },
      {
        label: 'Approved by',
        name: 'by',
        isMinor: true,
        cell: (row) => row.given.map(({ name }) => name).join(', '),
      },
      {
        label: 'Asked for',
        name: 'created',
        sort: 'created_at',
        cell: (row) => time(row.request.createdAt, call.place.membership.timeZone),
      },
      {
        label: 'Decided',
        name: 'decided',
        cell: (row) => time(row.request.decidedAt, call.place.membership.timeZone),
      },
    ],
    emptyPart: empty('Nothing was decided yet', 'What was approved, declined or ran out shows here.'),
  })

function requestRows(call: PlaceCall, rows: readonly Shown[]): Part {
  const zone = call.place.membership.timeZone
  return html`<ul class="rows">${rows.map((row) => {
    const { request, needed, given, requestedBy, statement } = row
    const isMine = waitsFor(call, row)
    return html`<li><div><strong><a href="${pathOf(call, request)}">${titleOf(row)}</a></strong>${statement && destinationOf(statement)}<span>${KIND_WORDS[request.asked.act]}, asked for by ${askerWords(request.askedBy, requestedBy)}; until ${time(request.validUntil, zone)}</span><span>${progressWords(given.length, needed)}${given.length >= needed ? ': the signer has it' : awaitedWords(call, row)}</span></div><a class="button ${isMine ? 'primary' : 'plain'}" href="${pathOf(call, request)}">${isMine ? 'Look and decide' : 'Look'}</a></li>`
  })}</ul>`
}

const destinationOf = (statement: Statement): Part =>
  statement.act === 'withdrawal'
    ? html`<span>to ${copyable(statement.terms.destination, 'Copy the address')}</span>`
    : statement.act === 'allow' || statement.act === 'disallow'
      ? html`<span>${copyable(statement.address, 'Copy the address')}</span>`
      : null

const awaitedWords = (call: PlaceCall, { awaiting }: ApprovalProgress): string => {
  const names = awaiting.map(({ userId, name }) => (userId === call.person.userId ? 'you' : name))
  return names.length > 0 ? `, awaited from ${names.join(' or ')}` : ', and nobody is left who could'
}

/** Before there is a policy: what to do, in order. */
const firstSteps = (here: string): Html =>
  card(
    'Nobody has to move the money alone',
    html`<p class="lead">Today whoever may withdraw does so alone. With a policy, larger payouts wait for the passkeys of other people, and the signer checks them itself: not even somebody who takes over this server can pay out without them.</p><ol class="first-steps"><li><h3>Choose who approves</h3><p>Two people at least, each with a passkey of his own. The operator pins them at the signer’s machine.</p><a class="button plain" href="${here}/approvers">Approvers</a></li><li><h3>Ask for a policy</h3><p>From which amount of each coin, and how many approvals.</p><a class="button plain" href="${here}/policy">Policy</a></li></ol>`,
  )
