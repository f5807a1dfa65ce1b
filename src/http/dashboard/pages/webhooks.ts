/** Webhook endpoints, what each was sent with what it answered, and sending again. */
import { invalid } from '../../../core/errors.ts'
import { readId, showId, type WebhookEndpointId } from '../../../core/ids.ts'
import { FAILING_MAX } from '../../../events/delivery.ts'
import { EVENT_TYPES } from '../../../events/event.ts'
import {
  DELIVERY_STATUSES,
  type Delivery,
  listDeliveries,
  redeliver,
} from '../../../events/list-deliveries.sql.ts'
import { listWebhookEndpoints } from '../../../events/list-webhook-endpoints.sql.ts'
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  enableWebhookEndpoint,
  findWebhookEndpoint,
  ROTATION_HOURS,
  rotateWebhookSecret,
  type WebhookEndpoint,
  webhookEndpointNotFound,
} from '../../../events/webhook-endpoints.sql.ts'
import { parseWebhookUrl } from '../../../events/webhook-url.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { drawList, listPage, readList } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import { choiceOf } from '../list-query.ts'
import {
  button,
  type Column,
  card,
  checks,
  copyable,
  empty,
  facts,
  field,
  formProblem,
  notice,
  submit,
} from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { badge, plural, time } from '../words.ts'
import { catchUpCards, catchUpRows, type EndpointRow } from './catch-up.ts'

const statusOf = (endpoint: WebhookEndpoint): Part =>
  endpoint.isActive
    ? endpoint.failingSince
      ? html`<span class="badge bad">failing</span>`
      : badge('active')
    : html`<span class="badge bad">${endpoint.disabledReason ?? 'inactive'}</span>`

function webhooksPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const create =
    call.may('webhooks:write') &&
    html`<a class="button primary" href="${here}/webhooks/new">Add an endpoint</a>`
  return listPage<WebhookEndpoint>(call, {
    nav: 'webhooks',
    title: 'Webhooks',
    read: (query) => listWebhookEndpoints(gateway.db, place.account.id, query),
    filters: [],
    hasNoDates: true,
    actions: create,
    columns: [
      {
        label: 'URL',
        sort: 'url',
        cell: (row) => html`<a href="${here}/webhooks/${showId('whk', row.id)}">${row.url}</a>`,
      },
      { label: 'Status', name: 'status', cell: statusOf },
      {
        label: 'Events',
        name: 'events',
        isMinor: true,
        cell: (row) => (row.events.length === EVENT_TYPES.length ? 'all' : row.events.join(', ')),
      },
      createdColumn(call),
      copyColumn('Id', 'id', 'the id', (row) => showId('whk', row.id)),
    ],
    emptyPart: empty(
      'No endpoint yet',
      'Your server hears of payments by webhooks: an https address that Beck posts events to.',
      create,
    ),
  })
}

const newPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'Add an endpoint',
  nav: 'webhooks',
  width: 'narrow',
  trail: [['Webhooks', `${call.here}/webhooks`]],
  content: html`<h1>Add an endpoint</h1>${formProblem(call)}<form method="post" action="${call.here}/webhooks">${field(call, { name: 'url', label: 'URL', type: 'url', required: true, maxlength: 2_048, isFocused: true, placeholder: 'https://shop.example/hooks/beck', hint: 'https, on the public internet.' })}${checks(call, { name: 'events', legend: 'Events', choices: EVENT_TYPES.map((type) => [type, html`<code>${type}</code>`] as const), checked: EVENT_TYPES })}${submit('Add the endpoint', 'primary', `${call.here}/webhooks`)}</form>`,
})

/** @throws {Refusal} `not_found`. */
async function endpointOf(call: PlaceCall): Promise<WebhookEndpoint> {
  const id = readId('whk', call.params.id ?? '')
  const endpoint = id && (await findWebhookEndpoint(call.gateway.db, call.place.account.id, id))
  if (!endpoint) throw webhookEndpointNotFound()
  return endpoint
}

const DELIVERY_FILTERS = [choiceOf('filter_status', 'Status', DELIVERY_STATUSES)]

async function endpointPage(call: PlaceCall): Promise<Sheet> {
  const endpoint = await endpointOf(call)
  const { gateway, place, here } = call
  const path = `${here}/webhooks/${showId('whk', endpoint.id)}`
  const zone = place.membership.timeZone
  const list = await readList<Delivery>(call, DELIVERY_FILTERS, async (query) => {
    const page = await listDeliveries(gateway.db, place.account.id, endpoint.id, query)
    if (!page) throw webhookEndpointNotFound()
    return page
  })
  const mayWrite = call.may('webhooks:write')
  return {
    title: 'Webhook endpoint',
    nav: 'webhooks',
    trail: [['Webhooks', `${here}/webhooks`]],
    isLive: list.page.items.some((delivery) => delivery.status === 'pending'),
    content: html`${formProblem(call)}
${!endpoint.isActive && notice('bad', html`<p><strong>Nothing is sent here.</strong> ${endpoint.disabledReason === 'gone' ? 'It answered 410 Gone.' : `It did not succeed once in ${FAILING_MAX.words}.`}</p>${mayWrite && button(`${path}/enable`, 'Send again from now on', { tone: 'primary' })}`)}
${card(
  'Endpoint',
  html`${facts([
    ['URL', copyable(endpoint.url, 'Copy the URL')],
    ['Id', copyable(showId('whk', endpoint.id), 'Copy the id')],
    ['Status', statusOf(endpoint)],
    ['Failing since', time(endpoint.failingSince, zone)],
    ['Events', endpoint.events.map((type) => html`<code>${type}</code> `)],
    ['Created', time(endpoint.createdAt, zone)],
  ])}${mayWrite && html`<div class="actions">${button(`${path}/rotate`, 'Rotate the secret')}${button(`${path}/delete`, 'Delete', { tone: 'danger' })}</div><p class="hint">After a rotation both secrets sign for ${ROTATION_HOURS} hours.</p>`}`,
)}
${mayWrite && endpoint.isActive && catchUpCards(call, path, endpoint)}
${drawList(call, {
  title: 'Deliveries',
  list,
  filters: DELIVERY_FILTERS,
  columns: deliveryColumns(call, path, mayWrite && endpoint.isActive),
  emptyPart: empty(
    'Nothing was sent yet',
    'Each event of the next payment shows here, with what your server answered.',
  ),
})}`,
  }
}

const deliveryColumns = (call: PlaceCall, path: string, mayResend: boolean): readonly Column<Delivery>[] => {
  const { here } = call
  const zone = call.place.membership.timeZone
  return [
    {
      label: 'Event',
      // What was sent: its body is on the page of events, what came back beside the attempts.
      cell: (row) =>
        html`<a href="${here}/events?filter_id=${showId('evt', row.eventId)}"><code>${row.eventType}</code></a>${row.isSample && html` ${badge('test')}`}`,
    },
    { label: 'Status', name: 'status', cell: (row) => badge(row.status) },
    { label: 'Attempts', name: 'attempts', cell: (row) => attempts(row, zone) },
    createdColumn(call),
    copyColumn('Event id', 'event_id', 'the event’s id', (row) => showId('evt', row.eventId)),
    copyColumn('Delivery id', 'id', 'the delivery’s id', (row) => showId('dlv', row.id)),
    {
      label: '',
      cell: (row) =>
        mayResend &&
        button(`${path}/deliveries/${showId('dlv', row.id)}/send`, 'Send again', {
          name: `Send again: ${showId('dlv', row.id)}`,
        }),
    },
  ]
}

function attempts(row: Delivery, zone: string): Part {
  const last = row.attempts.at(-1)
  if (!last) return html`<span class="hint">none yet</span>`
  return html`<details><summary>${plural(row.attempts.length, 'attempt')}, last ${last.responseStatus ?? 'no answer'}</summary>${row.attempts.map((attempt) => html`<p class="hint">${time(attempt.startedAt, zone)} · ${attempt.responseStatus ?? 'no answer'} · ${attempt.durationMs} ms</p>${(attempt.error ?? attempt.responseStart) && html`<pre tabindex="0"><code>${attempt.error ?? attempt.responseStart}</code></pre>`}`)}${row.nextAttemptAt && html`<p class="hint">Next ${time(row.nextAttemptAt, zone)}</p>`}</details>`
}

const secretPage = (call: PlaceCall, id: WebhookEndpointId, secret: string, until: Date | null): Sheet => ({
  title: 'Signing secret',
  nav: 'webhooks',
  width: 'narrow',
  content: html`<h1>The signing secret</h1><div class="secret"><p>Shown only now</p>${copyable(secret, 'Copy the secret')}</div><p class="lead">Your server checks with it that an event comes from here.${until && html` The old one signs too until ${time(until, call.place.membership.timeZone)}.`}</p><div class="actions"><a class="button primary" href="${call.here}/webhooks/${showId('whk', id)}">I have kept it</a></div>`,
})

const endpointRow: EndpointRow = (name, act) =>
  placeRow('webhooks:write', `POST /:account/webhooks/:id/${name}`, {
    confirm: 'recent',
    handle: async (call) => act(call, await endpointOf(call)),
    redraw: endpointPage,
  })

export const webhookRows: readonly DashboardRow[] = [
  placeRow('webhooks:read', 'GET /:account/webhooks', { handle: webhooksPage }),
  placeRow('webhooks:write', 'GET /:account/webhooks/new', { handle: newPage }),
  placeRow('webhooks:write', 'POST /:account/webhooks', {
    confirm: 'recent',
    async handle(call) {
      const { gateway, place, form } = call
      const url = parseWebhookUrl(form.get('url'), { allowPrivate: gateway.settings.webhookAllowPrivate })
      const events = EVENT_TYPES.filter((type) => form.all('events').includes(type))
      if (events.length === 0)
        throw invalid('no_event', 'choose at least one event', [
          { field: 'events', message: 'choose at least one event' },
        ])
      const { endpoint, secret } = await change(call, async (tx, record) => {
        const made = await createWebhookEndpoint(tx, gateway.secrets, {
          accountId: place.account.id,
          url,
          events,
        })
        record({ action: 'webhook.create', subject: showId('whk', made.endpoint.id), after: { url, events } })
        return made
      })
      return secretPage(call, endpoint.id, secret, null)
    },
    redraw: newPage,
  }),
  placeRow('webhooks:read', 'GET /:account/webhooks/:id', { handle: endpointPage }),
  endpointRow('rotate', async (call, { id }) => {
    const rotated = await change(call, async (tx, record) => {
      const made = await rotateWebhookSecret(tx, call.gateway.secrets, call.place.account.id, id)
      if (!made) throw webhookEndpointNotFound()
      record({ action: 'webhook.rotate', subject: showId('whk', id) })
      return made
    })
    return secretPage(call, id, rotated.secret, rotated.previousSecretUntil)
  }),
  endpointRow('enable', async (call, { id }) => {
    await change(call, async (tx, record) => {
      await enableWebhookEndpoint(tx, call.place.account.id, id)
      record({ action: 'webhook.enable', subject: showId('whk', id) })
    })
    return { to: `${call.here}/webhooks/${showId('whk', id)}`, done: 'webhook-enabled' }
  }),
  endpointRow('delete', async (call, { id, url, events }) => {
    await change(call, async (tx, record) => {
      if (!(await deleteWebhookEndpoint(tx, call.place.account.id, id))) throw webhookEndpointNotFound()
      record({ action: 'webhook.delete', subject: showId('whk', id), before: { url, events } })
    })
    return { to: `${call.here}/webhooks`, done: 'webhook-deleted' }
  }),
  ...catchUpRows(endpointRow),
  placeRow('webhooks:write', 'POST /:account/webhooks/:id/deliveries/:delivery/send', {
    async handle(call) {
      const { id } = await endpointOf(call)
      const delivery = readId('dlv', call.params.delivery ?? '')
      const endpoint = showId('whk', id)
      await change(call, async (tx, record) => {
        await redeliver(tx, call.place.account.id, id, delivery)
        record({ action: 'delivery.redeliver', subject: call.params.delivery ?? null, after: { endpoint } })
      })
      call.gateway.wake('deliver')
      return { to: `${call.here}/webhooks/${endpoint}`, done: 'resent' }
    },
    redraw: endpointPage,
  }),
]
