/**
 * The shop's server and its buyer, on the machine of `npm run test:install`, by Beck's client and over TLS: sells something,
 * is paid on a real node, hears of it by a signed webhook, and has its balance paid out.
 *
 * Its settings are BECK_API_KEY, BECK_API_URL, and BUYER_URL of the buyer's node. It prints one JSON object.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Beck, type WebhookEvent, webhooks } from '../../sdk/src/index.ts'
import { waitFor } from '../wait-for.ts'

const HOOK_PORT = 3000
/** Coinbases are spendable after a hundred blocks. */
const FIRST_BLOCKS = 110
/** What Beck asks of Litecoin. */
const FINAL_BLOCKS = 6

const { BECK_API_KEY, BECK_API_URL, BUYER_URL = '' } = process.env
const beck = new Beck({ apiKey: BECK_API_KEY, baseUrl: BECK_API_URL })

let calls = 0
async function buyer<Answer>(method: string, ...params: unknown[]): Promise<Answer> {
  const { origin, username, password } = new URL(BUYER_URL)
  const answer = await fetch(origin, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${username}:${password}`)}` },
    body: JSON.stringify({ id: ++calls, method, params }),
  })
  const { result, error } = (await answer.json()) as { result: Answer; error: unknown }
  assert.equal(error, null, `${method}: ${JSON.stringify(error)}`)
  return result
}
/** The node tells coins as numbers of JSON. */
const atomsOf = (coins: number): string => String(Math.round(coins * 1e8))
const mine = async (count: number) => buyer('generatetoaddress', count, await buyer('getnewaddress'))

/** What the receiver was told, checked with the endpoint's secret. */
const told: WebhookEvent[] = []
let secret = ''
const receiver = createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request)).toString()
  told.push(await webhooks.verify(body, request.headers, secret))
  response.end()
}).listen(HOOK_PORT, '127.0.0.1')
await once(receiver, 'listening')
const hear = (type: WebhookEvent['type']) =>
  waitFor(`the webhook ${type}`, async () => told.find((event) => event.type === type) ?? null)

const endpoint = await beck.webhooks.create({
  url: `http://127.0.0.1:${HOOK_PORT}/hook`,
  events: ['payment.completed', 'payout.completed'],
})
secret = endpoint.secret

if (((await buyer('listwallets')) as string[]).length === 0) {
  await buyer('createwallet', 'buyer')
  await mine(FIRST_BLOCKS)
}

// Until the gateway has read those blocks, it refuses rather than guess.
const payment = await waitFor('a price in LTC', () =>
  beck.payments.create({ asset: 'LTC', fiat_amount: 49.99, reference: 'order-1001' }).catch((error) => {
    if (error.status === 503) return null
    throw error
  }),
)
const paidBy = await buyer<string>('sendtoaddress', payment.deposit.address, payment.deposit.expected_amount)
await waitFor('the coins are seen', async () =>
  (await beck.payments.retrieve(payment.id)).status === 'detected' ? true : null,
)
await mine(FINAL_BLOCKS)
await hear('payment.completed')
const completed = await beck.payments.retrieve(payment.id)
assert.equal(completed.status, 'completed')
assert.equal(completed.deposits[0]?.tx_hash, paidBy)

const destination = await buyer<string>('getnewaddress', payment.id)
const asked = await beck.withdrawals.create({ asset: 'LTC', amount: '0.4', destination_address: destination })
const arrived = await waitFor('the payout reaches the other node', async () => {
  const { amount } = (await buyer<{ amount: number }[]>('listtransactions', payment.id))[0] ?? { amount: 0 }
  return amount > 0 ? amount : null
})
await mine(FINAL_BLOCKS)
await hear('payout.completed')
const withdrawal = await beck.withdrawals.retrieve(asked.id)
assert.equal(atomsOf(arrived), withdrawal.net_atoms)
process.stdout.write(`${JSON.stringify({ payment: completed.status, withdrawal: withdrawal.status })}\n`)
await beck.webhooks.delete(endpoint.id)
receiver.closeAllConnections()
receiver.close()
