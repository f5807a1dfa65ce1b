/** API keys: made with a name, scopes and an end, shown once, revoked. */

import {
  type ApiKey,
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rollApiKey,
} from '../../../accounts/api-keys.sql.ts'
import { KEY_STATES, type KeyState, listKeysOf } from '../../../accounts/list-api-keys.sql.ts'
import type { AskedBy } from '../../../approvals/asker.ts'
import type { Asset } from '../../../core/assets.ts'
import { forbidden, invalidField, notFound } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { readNetworks } from '../../../core/networks.ts'
import { SCOPES, type Scope } from '../../../core/scopes.ts'
import { DAY_MS, HOUR_MS, isoOrNull } from '../../../core/time.ts'
import type { Page } from '../../../db/list.ts'
import type { ListQuery } from '../../../db/list-filters.ts'
import { namesOfAskers } from '../../../flows/approvals/askers.sql.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { listPage } from '../list.ts'
import { copyColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import { button, type Column, checks, copyable, empty, field, formProblem, select, submit } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, time } from '../words.ts'
import { keyExample, keyExampleAsset } from './quickstart.ts'

const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'payments:read': 'list and retrieve payments',
  'payments:write': 'create payments and checkouts',
  'customers:read': 'list and retrieve customers',
  'customers:write': 'reserved',
  'balance:read': 'read balances',
  'withdrawals:read': 'list and quote withdrawals',
  'withdrawals:write': 'send money out',
  'payment_links:read': 'list payment links',
  'payment_links:write': 'create and change links',
  'webhooks:read': 'list webhook endpoints',
  'webhooks:write': 'create and delete endpoints',
}

/** What a shop's server needs, and nothing that moves money out. */
const USUAL: readonly Scope[] = SCOPES.filter(
  (scope) => !['withdrawals:write', 'customers:write'].includes(scope),
)

interface ListedKey extends ApiKey {
  readonly maker: string | undefined
}

const makerOf = ({ madeBy }: ApiKey): AskedBy => (madeBy ? showId('usr', madeBy) : 'unknown')

const FILTERS: readonly Filter[] = [
  { name: 'filter_name', label: 'Name', kind: 'text' },
  choiceOf('filter_status', 'Status', KEY_STATES),
]

function keysPage(call: PlaceCall): Promise<Sheet> {
  const create =
    call.may('api_keys:write') &&
    html`<a class="button primary" href="${call.here}/keys/new">Create a key</a>`
  return listPage(call, {
    nav: 'keys',
    title: 'API keys',
    lead: html`${formProblem(call)}<p class="lead">Your server sends one with every request, as <code>X-API-Key</code>. Keep keys out of browsers and apps.</p>`,
    read: (query) => readKeys(call, query),
    filters: FILTERS,
    actions: create,
    columns: columnsOf(call),
    emptyPart: empty('No key yet', 'Your server needs one to make payments.', create),
  })
}

/** With the name of whoever made each. */
async function readKeys({ gateway: { db }, place }: PlaceCall, query: ListQuery): Promise<Page<ListedKey>> {
  const page = await listKeysOf(db, place.account.id, query)
  const makers = await namesOfAskers(db, place.account.id, page.items.map(makerOf))
  return { ...page, items: page.items.map((key) => ({ ...key, maker: makers.get(makerOf(key))?.name })) }
}

function columnsOf(call: PlaceCall): readonly Column<ListedKey>[] {
  const zone = call.place.membership.timeZone
  return [
    { label: 'Name', sort: 'name', cell: (key) => html`<strong>${key.name}</strong>` },
    { label: 'Ends in', name: 'tail', cell: (key) => html`<code>…${key.tail}</code>` },
    {
      label: 'Status',
      name: 'status',
      cell: (key) =>
        html`${badge(stateOf(key))}${key.expiresAt && stateOf(key) === 'active' && html`<br><span class="hint">until ${time(key.expiresAt, zone)}</span>`}`,
    },
    {
      label: 'Scopes',
      name: 'scopes',
      isMinor: true,
      cell: (key) => (key.scopes.length === SCOPES.length ? 'all' : key.scopes.join(', ')),
    },
    {
      label: 'From',
      name: 'from',
      isMinor: true,
      cell: (key) => key.allowedNetworks.join(', ') || html`<span class="hint">anywhere</span>`,
    },
    {
      label: 'Last used',
      name: 'used',
      cell: (key) => time(key.lastUsedAt, zone) ?? html`<span class="hint">never</span>`,
    },
    {
      label: 'Created',
      name: 'created',
      sort: 'created_at',
      isMinor: true,
      cell: (key) =>
        html`${time(key.createdAt, zone)}<br><span class="hint">${key.maker ?? 'at the command line'}</span>`,
    },
    copyColumn('Id', 'id', 'the id', (key) => showId('key', key.id)),
    {
      label: '',
      cell: (key) =>
        stateOf(key) === 'active' &&
        call.may('api_keys:write') &&
        html`${key.scopes.every((scope) => mayGive(call, scope)) && html`<a class="button" href="${call.here}/keys/${showId('key', key.id)}/roll" aria-label="Roll ${key.name}">Roll</a> `}${button(`${call.here}/keys/${showId('key', key.id)}/revoke`, 'Revoke', { tone: 'danger', name: `Revoke ${key.name}` })}`,
    },
  ]
}

const newKeyPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'Create an API key',
  nav: 'keys',
  width: 'narrow',
  trail: [['API keys', `${call.here}/keys`]],
  content: html`<h1>Create an API key</h1>${formProblem(call)}<form method="post" action="${call.here}/keys">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 255, isFocused: true, placeholder: 'Shop server', hint: 'Where it is used, so that you know which one to revoke.' })}${checks(call, { name: 'scopes', legend: 'What it may do', choices: SCOPES.filter((scope) => mayGive(call, scope)).map((scope) => [scope, html`<code>${scope}</code> <span class="hint">${SCOPE_WORDS[scope]}</span>`] as const), checked: USUAL.filter((scope) => mayGive(call, scope)) })}${select(call, EXPIRY)}${field(call, { name: 'allowed_networks', label: 'Addresses it may come from', maxlength: 1_000, placeholder: '203.0.113.7, 2001:db8::/32', hint: 'Of your servers, separated by commas; empty for anywhere.' })}${submit('Create the key', 'primary', `${call.here}/keys`)}</form>`,
})

/** Ends that a key may have, in days. */
const EXPIRY_DAYS = ['30', '90', '365'] as const
const EXPIRY = {
  name: 'expires',
  label: 'Expires',
  choices: [['', 'Never'], ...EXPIRY_DAYS.map((days) => [days, `In ${days} days`] as const)] as const,
  value: '',
} as const
/** How long the key that goes works beside the one that comes, in hours. */
const OVERLAP = {
  name: 'overlap',
  label: 'The old key goes on working for',
  choices: [
    ['24', 'A day'],
    ['1', 'An hour'],
    ['168', 'A week'],
    ['0', 'Not at all'],
  ] as const,
  value: '24',
} as const

const stateOf = ({ revokedAt, expiresAt }: ApiKey): KeyState =>
  revokedAt ? 'revoked' : expiresAt && expiresAt.getTime() <= Date.now() ? 'expired' : 'active'

/** @throws {Refusal} `invalid`. */
function readExpiry(call: PlaceCall): Date | null {
  const given = call.form.get('expires')
  if (given === '') return null
  const days = EXPIRY_DAYS.find((each) => each === given)
  if (!days) throw invalidField('expires', 'invalid_expiry', 'choose when the key ends')
  return new Date(Date.now() + Number(days) * DAY_MS)
}

/** @throws {Refusal} `invalid`. */
function readAllowed(call: PlaceCall): string[] {
  const networks = call.form
    .get('allowed_networks')
    .split(/[\s,]+/)
    .filter(Boolean)
  if (networks.length <= ALLOWED_MAX && readNetworks(networks)) return networks
  throw invalidField(
    'allowed_networks',
    'invalid_networks',
    `expected at most ${ALLOWED_MAX} addresses or networks such as 203.0.113.7, 2001:db8::/32`,
  )
}

const ALLOWED_MAX = 50

/** @throws {Refusal} `not_found`. */
async function keyOf(call: PlaceCall): Promise<ApiKey> {
  const id = readId('key', call.params.id ?? '')
  const keys = await listApiKeys(call.gateway.db, call.place.account.id)
  const key = keys.find((each) => each.id === id && stateOf(each) === 'active')
  if (!key) throw keyNotFound()
  return key
}

const keyNotFound = () =>
  notFound('key_not_found', 'there is no such key in this account that opens anything')

async function rollPage(call: PlaceCall): Promise<Sheet> {
  const key = await keyOf(call)
  requireMayGive(call, key.scopes)
  return {
    title: `Roll ${key.name}`,
    nav: 'keys',
    width: 'narrow',
    trail: [['API keys', `${call.here}/keys`]],
    content: html`<h1>Roll ${key.name}</h1>${formProblem(call)}<p class="lead">A new key that may do the same takes the place of the one that ends in <code>${key.tail}</code>.</p><form method="post" action="${call.here}/keys/${showId('key', key.id)}/roll">${select(call, OVERLAP)}${select(call, { ...EXPIRY, label: 'The new key expires' })}${submit('Make the new key', 'primary', `${call.here}/keys`)}</form>`,
  }
}

/** Asks for nothing: whatever failed here would take the key with it. */
function shownKey(call: PlaceCall, made: ApiKey & { readonly key: string }, asset: Asset | null): Sheet {
  const example = keyExample(call, made, asset)
  const isBound = made.allowedNetworks.length > 0
  return {
    title: 'Your new key',
    nav: 'keys',
    width: 'narrow',
    content: html`<h1>Your new key</h1><div class="secret"><p><strong>${made.name}</strong>, shown only now</p>${copyable(made.key, 'Copy the key')}</div><p class="lead">Only its hash is kept here. Put it where your server keeps its secrets.</p>${example && html`<h2>Try it${isBound && ' from one of its addresses'}</h2>${example}`}<div class="actions"><a class="button primary" href="${call.here}/keys">I have kept it</a><a class="button" href="${call.here}/quickstart">Quickstart</a></div>`,
  }
}

/** Nobody makes a key that may do what he may not. @throws {Refusal} `scope_above_own`. */
function requireMayGive(call: PlaceCall, scopes: readonly Scope[]): void {
  const beyond = scopes.find((scope) => !mayGive(call, scope))
  if (beyond)
    throw forbidden(
      'scope_above_own',
      `as ${call.place.membership.role} you cannot make a key with ${beyond}; on a live account that takes an owner or admin`,
    )
}

function readDraft(call: PlaceCall) {
  const name = call.form.get('name').trim()
  if (name.length < 1 || name.length > 255)
    throw invalidField('name', 'invalid_name', `a name has 1 to 255 characters, got ${name.length}`)
  const scopes = SCOPES.filter((scope) => call.form.all('scopes').includes(scope))
  if (scopes.length === 0) throw invalidField('scopes', 'no_scope', 'a key may do at least one thing')
  requireMayGive(call, scopes)
  return { name, scopes, expiresAt: readExpiry(call), allowedNetworks: readAllowed(call) }
}

/** What a shop's server needs to sell; none of it lets money out. */
const SELLING: readonly Scope[] = ['payments:write', 'payment_links:write']

/** On a test account nothing is worth anything, so a developer may try everything. */
const mayGive = (call: PlaceCall, scope: Scope): boolean =>
  call.place.account.mode === 'test' || call.may(scope) || SELLING.includes(scope)

export const keyRows: readonly DashboardRow[] = [
  placeRow('api_keys:read', 'GET /:account/keys', { handle: keysPage }),
  placeRow('api_keys:write', 'GET /:account/keys/new', { handle: newKeyPage }),
  placeRow('api_keys:write', 'POST /:account/keys', {
    confirm: 'recent',
    async handle(call) {
      const { place } = call
      const draft = readDraft(call)
      const asset = await keyExampleAsset(call)
      const made = await change(call, async (tx, record) => {
        const key = await createApiKey(tx, {
          accountId: place.account.id,
          mode: place.account.mode,
          madeBy: call.person.userId,
          ...draft,
        })
        record({
          action: 'key.create',
          subject: showId('key', key.id),
          after: {
            name: key.name,
            scopes: key.scopes,
            expires_at: isoOrNull(key.expiresAt),
            allowed_networks: key.allowedNetworks,
          },
        })
        return key
      })
      return shownKey(call, made, asset)
    },
    redraw: newKeyPage,
  }),
  placeRow('api_keys:write', 'GET /:account/keys/:id/roll', { handle: rollPage }),
  placeRow('api_keys:write', 'POST /:account/keys/:id/roll', {
    confirm: 'recent',
    async handle(call) {
      const { account } = call.place
      const old = await keyOf(call)
      requireMayGive(call, old.scopes)
      const [hours] = OVERLAP.choices.find(([each]) => each === call.form.get('overlap')) ?? []
      if (hours === undefined)
        throw invalidField('overlap', 'invalid_overlap', 'choose how long the old key works')
      const overlapUntil = new Date(Date.now() + Number(hours) * HOUR_MS)
      const expiresAt = readExpiry(call)
      const asset = await keyExampleAsset(call)
      const made = await change(call, async (tx, record) => {
        const key = await rollApiKey(tx, {
          accountId: account.id,
          mode: account.mode,
          keyId: old.id,
          madeBy: call.person.userId,
          overlapUntil,
          expiresAt,
        })
        if (!key) throw keyNotFound()
        const after = { replacedBy: showId('key', key.id), overlapUntil: overlapUntil.toISOString() }
        record({ action: 'key.roll', subject: showId('key', old.id), after })
        return key
      })
      return shownKey(call, made, asset)
    },
    redraw: rollPage,
  }),
  placeRow('api_keys:write', 'POST /:account/keys/:id/revoke', {
    confirm: 'recent',
    async handle(call) {
      const id = readId('key', call.params.id ?? '')
      await change(call, async (tx, record) => {
        const key = id && (await revokeApiKey(tx, call.place.account.id, id))
        if (!key) throw notFound('key_not_found', 'there is no such key in this account')
        record({ action: 'key.revoke', subject: showId('key', key.id), before: { name: key.name } })
      })
      return { to: `${call.here}/keys`, done: 'key-revoked' }
    },
    redraw: keysPage,
  }),
]
