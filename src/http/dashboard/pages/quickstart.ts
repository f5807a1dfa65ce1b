/** The first request, filled in. */
import type { Asset } from '../../../core/assets.ts'
import { fiatToNumber } from '../../../core/money.ts'
import type { Scope } from '../../../core/scopes.ts'
import { offerCoins } from '../../../flows/checkout/offer-coins.ts'
import { type Html, html } from '../../hosted/html.ts'
import { card, copyable } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { troubleCard } from './sandbox.ts'

/** What a key that only reads can be tried with, by what it may read. */
const READS: readonly (readonly [Scope, string])[] = [
  ['payments:read', '/payments'],
  ['balance:read', '/balance'],
  ['customers:read', '/customers'],
  ['payment_links:read', '/payment-links'],
  ['withdrawals:read', '/withdrawals'],
  ['webhooks:read', '/webhooks'],
]
const PRICE_MINOR = 49_99n

const paymentCommand = ({ gateway }: PlaceCall, key: string, asset: Asset): string =>
  `curl ${gateway.settings.publicUrl}/v1/payments \\
  -H 'X-API-Key: ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"asset": "${asset}", "fiat_amount": ${fiatToNumber(PRICE_MINOR)}, "reference": "order-1001"}'`

const commandBlock = (command: string): Html =>
  html`<pre tabindex="0" aria-label="Request"><code>${command}</code></pre><p><button type="button" class="copy" data-copy="${command}" hidden>Copy the command</button></p>`

/** A coin that is taken now. Litecoin where it is one of several: its payments confirm soon and cost little. */
async function exampleAsset({ gateway, place: { account } }: PlaceCall): Promise<Asset> {
  const price = { fiatMinor: PRICE_MINOR, currency: account.currency }
  const offers = await offerCoins(gateway, gateway.db, account, price)
  const taken = offers.filter(({ amount }) => amount !== null).map(({ asset }) => asset)
  return taken.find((asset) => asset === 'LTC') ?? taken[0] ?? offers[0]?.asset ?? 'LTC'
}

/**
 * What {@link keyExample} needs to know, asked for before the key is made: once it is, nothing may fail any more. Null when it
 * cannot be had.
 */
export async function keyExampleAsset(call: PlaceCall): Promise<Asset | null> {
  try {
    return await exampleAsset(call)
  } catch (error) {
    call.gateway.log.warn({ request_id: call.request.id, err: error }, 'a key is shown without an example')
    return null
  }
}

/** A request that a fresh key can make as it stands; null for one that neither makes payments nor reads anything. */
export function keyExample(
  call: PlaceCall,
  { key, scopes }: { readonly key: string; readonly scopes: readonly Scope[] },
  asset: Asset | null,
): Html | null {
  if (scopes.includes('payments:write')) return asset && commandBlock(paymentCommand(call, key, asset))
  const path = READS.find(([scope]) => scopes.includes(scope))?.[1]
  return path
    ? commandBlock(`curl ${call.gateway.settings.publicUrl}/v1${path} -H 'X-API-Key: ${key}'`)
    : null
}

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
${card('1. Make a payment', html`<p>${call.may('api_keys:write') ? html`<a href="${call.here}/keys/new">Create a key</a>: the page that shows it, once, has this command with the key filled in.` : html`An owner, admin or developer of your team creates a key under <a href="${call.here}/keys">API keys</a>.`} Here <code>YOUR_KEY</code> stands in its place. The answer holds the address and the exact amount for your buyer.</p>${commandBlock(paymentCommand(call, 'YOUR_KEY', await exampleAsset(call)))}`)}
${card('2. Hear of it', html`<p>Register an address of your server under <a href="${call.here}/webhooks">Webhooks</a>. When the payment is confirmed it gets:</p><pre tabindex="0" aria-label="Event"><code>${EVENT}</code></pre><p>Check its signature before you trust it (<a href="${call.gateway.settings.publicUrl}/docs">reference</a>).</p>`)}
${card('3. Or send the buyer to a page of ours', html`<p>A checkout lets the buyer pick the coin: <code>POST /v1/checkout/sessions</code> answers with its address. Without any code, make a <a href="${call.here}/links">payment link</a>.</p>`)}
${call.place.account.mode === 'test' && call.may('sandbox:write') && troubleCard(call)}
${card('This account', html`<p>${copyable(String(call.params.account), 'Copy the account id')}</p><p class="hint">API at ${call.gateway.settings.publicUrl}/v1</p>`)}`,
})

export const quickstartRows: readonly DashboardRow[] = [
  placeRow('api_keys:read', 'GET /:account/quickstart', { handle: quickstartPage }),
]
