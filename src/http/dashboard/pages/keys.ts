/** API keys: made with a name, scopes and an end, shown once, revoked. */

import { type ApiKey, createApiKey, listApiKeys, revokeApiKey } from '../../../accounts/api-keys.sql.ts'
import { invalidField, Refusal } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { SCOPES, type Scope } from '../../../core/scopes.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { button, checks, copyable, empty, field, formProblem, submit, table } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, time } from '../words.ts'
import { curlExample } from './quickstart.ts'

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

async function keysPage(call: PlaceCall): Promise<Sheet> {
  const keys = await listApiKeys(call.gateway.db, call.place.account.id)
  const zone = call.place.membership.timeZone
  const newest = [...keys].reverse()
  const create =
    call.may('api_keys:write') &&
    html`<a class="button primary" href="${call.here}/keys/new">Create a key</a>`
  return {
    title: 'API keys',
    nav: 'keys',
    content: html`<header class="head"><h1>API keys</h1><div class="actions">${create}</div></header>${formProblem(call)}<p class="lead">Your server sends one with every request, as <code>X-API-Key</code>. Keep keys out of browsers and apps.</p>${
      newest.length > 0
        ? table<ApiKey>(
            'API keys',
            [
              { label: 'Name', cell: (key) => html`<strong>${key.name}</strong>` },
              { label: 'Ends in', cell: (key) => html`<code>…${key.tail}</code>` },
              { label: 'Status', cell: (key) => badge(key.revokedAt ? 'revoked' : 'active') },
              {
                label: 'Scopes',
                isMinor: true,
                cell: (key) => (key.scopes.length === SCOPES.length ? 'all' : key.scopes.join(', ')),
              },
              { label: 'Created', cell: (key) => time(key.createdAt, zone) },
              {
                label: '',
                cell: (key) =>
                  !key.revokedAt &&
                  call.may('api_keys:write') &&
                  button(`${call.here}/keys/${showId('key', key.id)}/revoke`, 'Revoke', {
                    tone: 'danger',
                    name: `Revoke ${key.name}`,
                  }),
              },
            ],
            newest,
          )
        : empty('No key yet', 'Your server needs one to make payments.', create)
    }`,
  }
}

const newKeyPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'Create an API key',
  nav: 'keys',
  width: 'narrow',
  trail: [['API keys', `${call.here}/keys`]],
  content: html`<h1>Create an API key</h1>${formProblem(call)}<form method="post" action="${call.here}/keys">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 255, isFocused: true, placeholder: 'Shop server', hint: 'Where it is used, so that you know which one to revoke.' })}${checks(call, { name: 'scopes', legend: 'What it may do', choices: SCOPES.map((scope) => [scope, html`<code>${scope}</code> <span class="hint">${SCOPE_WORDS[scope]}</span>`] as const), checked: USUAL })}${submit('Create the key', 'primary', `${call.here}/keys`)}</form>`,
})

function readDraft(call: PlaceCall) {
  const name = call.form.get('name').trim()
  if (name.length < 1 || name.length > 255)
    throw invalidField('name', 'invalid_name', `a name has 1 to 255 characters, got ${name.length}`)
  const scopes = SCOPES.filter((scope) => call.form.all('scopes').includes(scope))
  if (scopes.length === 0) throw invalidField('scopes', 'no_scope', 'a key may do at least one thing')
  // Nobody makes a key that may do what he may not, selling aside: a developer reaches no money through one.
  const beyond = scopes.find((scope) => !mayGive(call, scope))
  if (beyond)
    throw new Refusal(
      'forbidden',
      'scope_above_own',
      `as ${call.place.membership.role} you cannot make a key with ${beyond}; on a live account that takes an owner or admin`,
    )
  return { name, scopes }
}

/** What a shop's server needs to sell; none of it lets money out. */
const SELLING: readonly Scope[] = ['payments:write', 'payment_links:write']

/** On a test account nothing is worth anything, so a developer may try everything. */
const mayGive = (call: PlaceCall, scope: Scope): boolean =>
  call.place.account.mode === 'test' || call.may(scope) || SELLING.includes(scope)

export const keyRows: readonly DashboardRow[] = [
  placeRow('api_keys:read', { method: 'GET', path: '/:account/keys', handle: keysPage }),
  placeRow('api_keys:write', { method: 'GET', path: '/:account/keys/new', handle: newKeyPage }),
  placeRow('api_keys:write', {
    method: 'POST',
    path: '/:account/keys',
    confirm: 'recent',
    async handle(call) {
      const { place } = call
      const draft = readDraft(call)
      const made = await change(call, async (tx, record) => {
        const key = await createApiKey(tx, {
          accountId: place.account.id,
          mode: place.account.mode,
          ...draft,
        })
        record({
          action: 'key.create',
          subject: showId('key', key.id),
          after: { name: key.name, scopes: key.scopes },
        })
        return key
      })
      return {
        title: 'Your new key',
        nav: 'keys',
        width: 'narrow',
        content: html`<h1>Your new key</h1><div class="secret"><p><strong>${made.name}</strong>, shown only now</p>${copyable(made.key, 'Copy the key')}</div><p class="lead">Only its hash is kept here. Put it where your server keeps its secrets.</p><h2>Try it</h2>${curlExample(call, made.key)}<div class="actions"><a class="button primary" href="${call.here}/keys">I have kept it</a><a class="button" href="${call.here}/quickstart">Quickstart</a></div>`,
      }
    },
    redraw: newKeyPage,
  }),
  placeRow('api_keys:write', {
    method: 'POST',
    path: '/:account/keys/:id/revoke',
    confirm: 'recent',
    async handle(call) {
      const id = readId('key', call.params.id ?? '')
      await change(call, async (tx, record) => {
        const key = id && (await revokeApiKey(tx, call.place.account.id, id))
        if (!key) throw new Refusal('not_found', 'key_not_found', 'there is no such key in this account')
        record({ action: 'key.revoke', subject: showId('key', key.id), before: { name: key.name } })
      })
      return { to: `${call.here}/keys`, done: 'key-revoked' }
    },
    redraw: keysPage,
  }),
]
