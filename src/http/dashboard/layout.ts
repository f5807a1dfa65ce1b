/** The page around every content of the dashboard: the menu, the switch between test and live, the search. */
import { showId } from '../../core/ids.ts'
import type { Permission } from '../../users/permissions.ts'
import { type Html, html, type Part } from '../hosted/html.ts'
import { loadWebFiles } from '../hosted/web-files.ts'
import { sentenceOf } from './done.ts'
import { notice } from './parts.ts'
import { rootOf } from './root.ts'
import type { Call, PersonCall, PlaceCall, Sheet } from './row.ts'
import { time } from './words.ts'

interface Entry {
  readonly key: string
  readonly label: string
  readonly path: string
  readonly needs: Permission | null
}

const SECTIONS: readonly (readonly [string | null, readonly Entry[]])[] = [
  [
    null,
    [
      { key: 'overview', label: 'Overview', path: '', needs: null },
      { key: 'payments', label: 'Payments', path: '/payments', needs: 'payments:read' },
      { key: 'customers', label: 'Customers', path: '/customers', needs: 'customers:read' },
      { key: 'links', label: 'Links & checkout', path: '/links', needs: 'payment_links:read' },
      { key: 'balance', label: 'Balance', path: '/balance', needs: 'balance:read' },
      { key: 'withdrawals', label: 'Withdrawals', path: '/withdrawals', needs: 'withdrawals:read' },
      { key: 'approvals', label: 'Approvals', path: '/approvals', needs: 'withdrawals:read' },
    ],
  ],
  [
    'Developers',
    [
      { key: 'keys', label: 'API keys', path: '/keys', needs: 'api_keys:read' },
      { key: 'webhooks', label: 'Webhooks', path: '/webhooks', needs: 'webhooks:read' },
      { key: 'requests', label: 'Requests', path: '/requests', needs: 'logs:read' },
      { key: 'events', label: 'Events', path: '/events', needs: 'webhooks:read' },
      { key: 'quickstart', label: 'Quickstart', path: '/quickstart', needs: 'api_keys:read' },
    ],
  ],
  [
    'Settings',
    [
      { key: 'settings', label: 'Business', path: '/settings', needs: 'settings:read' },
      { key: 'team', label: 'Team', path: '/team', needs: 'team:read' },
      { key: 'audit', label: 'Audit log', path: '/audit', needs: 'audit:read' },
    ],
  ],
]

/** Pages of a merchant whose names have these letters, among those that he may open. */
export const findPages = (
  place: PlaceCall,
  text: string,
): readonly { readonly label: string; readonly path: string }[] =>
  SECTIONS.flatMap(([, entries]) => entries).filter(
    ({ label, needs }) =>
      text.length >= 3 &&
      label.toLowerCase().includes(text.toLowerCase()) &&
      (needs === null || place.may(needs)),
  )

const OPERATOR: readonly (readonly [string, string, string])[] = [
  ['op-merchants', 'Merchants', '/operator/merchants'],
  ['op-health', 'Chains & health', '/operator/health'],
  ['op-money', 'Wallets & fees', '/operator/money'],
  ['op-deliveries', 'Webhook deliveries', '/operator/deliveries'],
  ['op-alerts', 'Alerts & freezes', '/operator/alerts'],
]

export interface Frame {
  readonly call: Call
  readonly person: PersonCall | null
  readonly place: PlaceCall | null
}

/** @param version - Of what a page shows that looks again by itself; null for others. */
export function layout(frame: Frame, sheet: Sheet, version: string | null): Html {
  const { call, person, place } = frame
  const files = loadWebFiles().paths
  const root = rootOf(call.gateway)
  const mode = place?.place.account.mode
  const done = sentenceOf(call.query.done ?? '')
  const isWhole = person !== null && person.session.factor !== 'half'
  return html`<!doctype html>
<html lang="en"${mode && html` data-mode="${mode}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${sheet.title} · Beck</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}${files['dashboard.css']}" nonce="${call.nonce}">
<script type="module" src="${root}${files['dashboard.js']}" nonce="${call.nonce}"></script>
</head>
<body class="${isWhole ? 'app' : 'door'}"${version && html` data-live="${version}"`}>
<a class="skip" href="#content">Skip to content</a>
${isWhole && person && menu(frame, person, sheet)}
<main id="content" class="${sheet.width ?? 'wide'}" tabindex="-1">
${sheet.trail && html`<nav class="trail" aria-label="Breadcrumb">${sheet.trail.map(([label, path], place) => html`${place > 0 && html` <span aria-hidden="true">/</span> `}<a href="${path}">${label}</a>`)}</nav>`}
${place && closedNotice(place)}
${done && html`<p class="notice good" role="status">${done}</p>`}
${sheet.isLive && call.request.method === 'GET' && html`<noscript><p class="hint">Something is under way here. <a href="${call.request.url}">Look again</a></p></noscript>`}
${sheet.content}
</main>
<p class="hidden" id="announcement" role="status" aria-live="polite"></p>
</body>
</html>
`
}

/** Above every page of a closed account, from the sign-in on. */
const closedNotice = ({ place: { account, membership } }: PlaceCall): Html | null =>
  account.closedAt &&
  notice(
    'wait',
    html`<p><strong>This account was closed on ${time(account.closedAt, membership.timeZone)}.</strong> It takes no new payments, and makes no keys, links or checkouts. Payments and withdrawals under way go on, and its balance can be withdrawn. Whoever runs this Beck can open it again.</p>`,
  )

function menu({ call, place }: Frame, person: PersonCall, sheet: Sheet): Html {
  const { session } = person
  const link = (key: string, label: string, path: string) =>
    html`<li><a href="${path}"${sheet.nav === key && html` aria-current="page"`}>${label}</a></li>`
  const list = (title: string | null, items: readonly Part[]) =>
    items.length > 0 && html`${title && html`<p class="section">${title}</p>`}<ul>${items}</ul>`
  return html`<header class="bar">
<a class="brand" href="${place?.here ?? call.base}">Beck</a>
${place && modeSwitch(place)}
<details class="menu-toggle"><summary><span>Menu</span></summary></details>
${place && search(place)}
<nav class="side" aria-label="Main">
${merchants(call, person, place)}
${
  place &&
  SECTIONS.map(([title, entries]) =>
    list(
      title,
      entries
        .filter(({ needs }) => needs === null || place.may(needs))
        .map(({ key, label, path }) => link(key, label, place.here + path)),
    ),
  )
}
${
  session.isOperator &&
  list(
    'Operator',
    OPERATOR.map(([key, label, path]) => link(key, label, call.base + path)),
  )
}
<div class="who"><p><a href="${call.base}/me"${sheet.nav === 'me' && html` aria-current="page"`}>${session.name}</a><span>${session.email}</span></p><form method="post" action="${call.base}/sign-out"><button type="submit" class="link">Sign out</button></form></div>
</nav>
</header>`
}

/** Test and live are two worlds: the same page of the other one is a click away. */
function modeSwitch(place: PlaceCall): Html {
  const { mode } = place.place.account
  const other = place.place.sibling
  // The same list or page, but nothing that has an id of this world.
  const page = /^\/[a-z-]*/.exec(place.request.url.slice(place.here.length))?.[0] ?? ''
  const side = (name: 'test' | 'live', label: string) =>
    name === mode
      ? html`<strong aria-current="true">${label}</strong>`
      : other
        ? html`<a href="${place.base}/${showId('acct', other)}${page}">${label}</a>`
        : name === 'live'
          ? place.may('ownership:write') && html`<a href="${place.here}/go-live">${label}</a>`
          : null
  return html`<nav class="mode" aria-label="Mode">${side('test', 'Test')}${side('live', 'Live')}</nav>`
}

/** Which merchant this is, and the others he belongs to. */
function merchants(call: Call, { session }: PersonCall, place: PlaceCall | null): Html | false {
  const { memberships } = session
  const current = place?.place.membership
  if (memberships.length === 0) return false
  const others = memberships.filter(({ merchantId }) => merchantId !== current?.merchantId)
  const link = (membership: (typeof memberships)[number]) => {
    const account =
      place?.place.account.mode === 'live'
        ? (membership.liveAccountId ?? membership.testAccountId)
        : (membership.testAccountId ?? membership.liveAccountId)
    return (
      account &&
      html`<li><a href="${call.base}/${showId('acct', account)}">${membership.merchantName}</a></li>`
    )
  }
  if (others.length === 0) return html`<p class="merchant">${current?.merchantName}</p>`
  return html`<details class="merchant"><summary>${current?.merchantName ?? 'Choose a merchant'}</summary><ul>${others.map(link)}</ul></details>`
}

function search(place: PlaceCall): Html | false {
  return (
    place.may('payments:read') &&
    html`<form class="search" role="search" method="get" action="${place.here}/search"><label class="hidden" for="q">Search</label><input id="q" name="q" type="search" placeholder="Search payments, customers…" value="${place.query.q ?? ''}" autocomplete="off" data-palette><kbd aria-hidden="true">Ctrl K</kbd></form>`
  )
}
