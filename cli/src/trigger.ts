/** `beck trigger payment.completed`: makes an event happen on a test account, the way it happens in life. */
import { randomBytes } from 'node:crypto'
import { bech32 } from '@scure/base'
import type { Terminal } from '../../src/cli/terminal.ts'
import { forbidden, invalid, OutsideFailure } from '../../src/core/errors.ts'
import { divideDown } from '../../src/core/money.ts'
import { pause } from '../../src/core/pause.ts'
import { EVENT_TYPES, type EventType } from '../../src/events/event.ts'
import { type ApiClient, type ApiOptions, openApi } from './api-client.ts'
import { type Event, eventsAfter } from './events.ts'

interface Payment {
  readonly id: string
  readonly status: string
  readonly deposit: { readonly expected_amount: string }
}

/** What is about to happen: the id that the event will carry. */
type Story = (api: ApiClient) => Promise<string>

const PRICE = { asset: 'LTC', fiat_amount: 50, reference: 'beck trigger' }
/** Litecoin's own; one block more than needed does no harm. */
const CONFIRMATIONS = 6
const WAIT_MS = 60_000

const create = (api: ApiClient) => api.call<Payment>('POST', '/payments', PRICE)

const pay = (api: ApiClient, { id }: Payment, how: { amount?: string; confirmations?: number }) =>
  api.call('POST', `/sandbox/payments/${id}/pay`, how)

const mine = (api: ApiClient) =>
  api.call('POST', '/sandbox/blocks', { network: 'litecoin', count: CONFIRMATIONS })

async function complete(api: ApiClient): Promise<Payment> {
  const payment = await create(api)
  await pay(api, payment, { confirmations: CONFIRMATIONS })
  return payment
}

/** @returns The id of a withdrawal of what a payment just brought. */
async function payOut(api: ApiClient, destination_address: string): Promise<string> {
  const payment = await complete(api)
  await becomes(api, payment, 'completed')
  const amount = half(payment.deposit.expected_amount)
  const { id } = await api.call<{ id: string }>('POST', '/withdrawals', {
    asset: 'LTC',
    amount,
    destination_address,
  })
  return id
}

const STORIES: Readonly<Record<EventType, Story>> = {
  'payment.created': async (api) => (await create(api)).id,
  'payment.confirming': async (api) => {
    const payment = await create(api)
    await pay(api, payment, {})
    return payment.id
  },
  'payment.completed': async (api) => (await complete(api)).id,
  'payment.expired': async (api) => {
    const payment = await create(api)
    await api.call('POST', `/sandbox/payments/${payment.id}/expire`)
    return payment.id
  },
  'payment.refunded': async (api) => {
    const payment = await create(api)
    await pay(api, payment, { amount: half(payment.deposit.expected_amount), confirmations: CONFIRMATIONS })
    await becomes(api, payment, 'underpaid')
    await api.call('POST', `/payments/${payment.id}/refund`, { destination_address: newAddress() })
    return payment.id
  },
  'payout.completed': (api) => payOut(api, newAddress()),
  'payout.failed': (api) => payOut(api, FAILING_ADDRESS),
}

/** @throws {Refusal} for an unknown event, or when the key is none of a test account. */
export async function trigger(terminal: Terminal, type: string, options: ApiOptions): Promise<void> {
  const known = EVENT_TYPES.find((each) => each === type)
  if (!known) {
    throw invalid('unknown_event_type', `there is no event ${type}; give one of ${EVENT_TYPES.join(', ')}`)
  }
  const api = openApi(options)
  // Said before anything is asked for: with this key it would be asked for in earnest.
  if (!api.key.startsWith('bk_test_')) {
    throw forbidden(
      'test_accounts_only',
      'events are made to happen on test accounts only; give a key that starts with bk_test_',
    )
  }
  const { cursor } = await eventsAfter(api, 'latest')
  const subject = await STORIES[known](api)
  const event = await happened(api, known, subject, cursor)
  terminal.answer({ event: event.id, type: known, id: subject }, [`${known}  ${event.id}  ${subject}`])
}

/** Waits for the event; what a payout still needs is blocks. */
async function happened(
  api: ApiClient,
  type: EventType,
  subject: string,
  cursor: string | null,
): Promise<Event> {
  const needsBlocks = type === 'payment.refunded' || type === 'payout.completed'
  let after = cursor
  return until(`${type} of ${subject}`, async () => {
    if (needsBlocks) await mine(api)
    const page = await eventsAfter(api, after)
    after = page.cursor
    return page.items.find((event) => event.type === type && event.data.id === subject)
  })
}

const becomes = (api: ApiClient, { id }: Payment, status: string) =>
  until(`${status} of ${id}`, async () => {
    const payment = await api.call<Payment>('GET', `/payments/${id}`)
    return payment.status === status ? payment : undefined
  })

async function until<Found>(what: string, find: () => Promise<Found | undefined>): Promise<Found> {
  for (const end = performance.now() + WAIT_MS; performance.now() < end; ) {
    const found = await find()
    if (found !== undefined) return found
    await pause(250)
  }
  throw new OutsideFailure(`${what} did not come within ${WAIT_MS / 1_000} s; is a worker running?`, {
    retryable: true,
  })
}

/** Half of a decimal, rounded down. */
function half(amount: string): string {
  const atoms = BigInt(amount.replace('.', ''))
  const digits = amount.split('.')[1]?.length ?? 0
  const text = divideDown(atoms, 2n)
    .toString()
    .padStart(digits + 1, '0')
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** Nobody's address on the simulated Litecoin: a witness program of random bytes (BIP-173). */
const newAddress = (): string => addressOf(randomBytes(20))

const addressOf = (program: Uint8Array): string => bech32.encode('tltc', [0, ...bech32.toWords(program)])

/** What the sandbox refuses to pay (docs/sandbox.md). */
const FAILING_ADDRESS = addressOf(new Uint8Array(20).fill(0xff))
