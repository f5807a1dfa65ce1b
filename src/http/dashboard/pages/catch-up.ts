/** Trying a webhook endpoint, and sending it what it missed. */
import { conflict, invalidField } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { DAY_MS } from '../../../core/time.ts'
import { RECOVERED_MAX, recoverDeliveries, sendNewest } from '../../../events/recover-deliveries.sql.ts'
import { sendSample } from '../../../events/sample-event.sql.ts'
import type { WebhookEndpoint } from '../../../events/webhook-endpoints.sql.ts'
import { sampleData } from '../../../flows/operation/sample-event.ts'
import { type Html, html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { button, card, field, select } from '../parts.ts'
import type { DashboardRow, Move, PlaceCall, Sheet } from '../row.ts'
import { count, dayOf, startOfDay } from '../words.ts'

export function catchUpCards(call: PlaceCall, path: string, { events }: WebhookEndpoint): Html {
  const yesterday = dayOf(new Date(Date.now() - DAY_MS), call.place.membership.timeZone)
  const types = events.map((type) => [type, type] as const)
  return html`<div class="columns">${card('Send a test', html`<form method="post" action="${path}/test" class="row">${select(call, { name: 'type', label: 'Event', choices: types })}<button type="submit">Send a test</button></form><p class="hint">Made up, signed like any other, and marked with <code>"test": true</code>. Nothing happened: your server must not deliver anything for it.</p>`)}
${card('Catch up', html`<form method="post" action="${path}/recover" class="row">${field(call, { name: 'since', label: 'Send what it missed since', type: 'date', required: true, value: yesterday })}<button type="submit">Send</button></form><p class="hint">Events are kept for 30 days. Those that failed, and those from before it was added; ${count(RECOVERED_MAX)} at a time.</p><p>${button(`${path}/newest`, 'Send the newest event')}</p>`)}</div>`
}

/** Makes a row for a form of an endpoint's page. */
export type EndpointRow = (
  name: string,
  act: (call: PlaceCall, endpoint: WebhookEndpoint) => Promise<Sheet | Move>,
) => DashboardRow

export const catchUpRows = (endpointRow: EndpointRow): readonly DashboardRow[] => [
  endpointRow('test', async (call, { id, events }) => {
    const subject = showId('whk', id)
    const type = events.find((each) => each === call.form.get('type'))
    if (!type) throw invalidField('type', 'invalid_type', 'choose one of the events it is told of')
    const sample = { type, data: sampleData(type, new Date()) }
    await change(call, async (tx, record) => {
      const event = await sendSample(tx, call.place.account.id, id, sample)
      if (!event) throw conflict('webhook_endpoint_inactive', 'the endpoint is off; turn it on first')
      record({ action: 'webhook.test', subject, after: { type, event: showId('evt', event) } })
    })
    call.gateway.wake('deliver')
    return { to: `${call.here}/webhooks/${subject}`, done: 'test-sent' }
  }),
  endpointRow('newest', async (call, { id }) => {
    const subject = showId('whk', id)
    await change(call, async (tx, record) => {
      if (!(await sendNewest(tx, call.place.account.id, id)))
        throw conflict('no_event_yet', 'there is no event of its types yet; send a test')
      record({ action: 'webhook.try', subject })
    })
    call.gateway.wake('deliver')
    return { to: `${call.here}/webhooks/${subject}`, done: 'resent' }
  }),
  endpointRow('recover', async (call, { id }) => {
    const subject = showId('whk', id)
    const since = startOfDay(call.form.get('since'), call.place.membership.timeZone)
    if (!since) throw invalidField('since', 'invalid_date', 'expected a day such as 2026-01-31')
    const sent = await change(call, async (tx, record) => {
      const deliveries = await recoverDeliveries(tx, call.place.account.id, id, since)
      record({ action: 'webhook.recover', subject, after: { since: since.toISOString(), deliveries } })
      return deliveries
    })
    call.gateway.wake('deliver')
    return { to: `${call.here}/webhooks/${subject}`, done: sent > 0 ? 'recovered' : 'nothing-missed' }
  }),
]
