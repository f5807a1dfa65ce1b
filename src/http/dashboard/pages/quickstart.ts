/** The first request, filled in. */
import { type Html, html } from '../../hosted/html.ts'
import { card, copyable } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { troubleCard } from './sandbox.ts'

const curl = (call: PlaceCall, key: string): string =>
  `curl ${call.gateway.settings.publicUrl}/v1/payments \\
  -H 'X-API-Key: ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"asset": "LTC", "fiat_amount": 49.99, "reference": "order-1001"}'`

export const curlExample = (call: PlaceCall, key: string): Html =>
  html`<pre tabindex="0" aria-label="Request"><code>${curl(call, key)}</code></pre><p>${html`<button type="button" class="copy" data-copy="${curl(call, key)}" hidden>Copy the command</button>`}</p>`

const EVENT = `{
  "type": "payment.completed",
  "created": "2026-02-03T10:31:00.000Z",
  "data": { "id": "pay_…", "status": "completed", "net_fiat": 49.49, "reference": "order-1001" }
}`

const quickstartPage = async (call: PlaceCall): Promise<Sheet> => ({
  title: 'Quickstart',
  nav: 'quickstart',
  width: 'narrow',
  content: html`<h1>Quickstart</h1>
${card('1. Make a payment', html`<p>Put a key of <a href="${call.here}/keys">API keys</a> in the place of <code>YOUR_KEY</code>. The answer holds the address and the exact amount for your buyer.</p>${curlExample(call, 'YOUR_KEY')}`)}
${card('2. Hear of it', html`<p>Register an address of your server under <a href="${call.here}/webhooks">Webhooks</a>. When the payment is confirmed it gets:</p><pre tabindex="0" aria-label="Event"><code>${EVENT}</code></pre><p>Check its signature before you trust it (<a href="${call.gateway.settings.publicUrl}/docs">reference</a>).</p>`)}
${card('3. Or send the buyer to a page of ours', html`<p>A checkout lets the buyer pick the coin: <code>POST /v1/checkout/sessions</code> answers with its address. Without any code, make a <a href="${call.here}/links">payment link</a>.</p>`)}
${call.place.account.mode === 'test' && call.may('sandbox:write') && troubleCard(call)}
${card('This account', html`<p>${copyable(String(call.params.account), 'Copy the account id')}</p><p class="hint">API at ${call.gateway.settings.publicUrl}/v1</p>`)}`,
})

export const quickstartRows: readonly DashboardRow[] = [
  placeRow('api_keys:read', { method: 'GET', path: '/:account/quickstart', handle: quickstartPage }),
]
