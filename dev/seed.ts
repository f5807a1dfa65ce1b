/**
 * `npm run seed`: a month in the life of a shop, in every state a payment can have, beside a running `npm run dev`. All of
 * it happens through the API and the sandbox, as in life; then each day's rows are moved to their day.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openApi } from '../cli/src/api-client.ts'
import { OutsideFailure, Refusal } from '../src/core/errors.ts'
import { readId } from '../src/core/ids.ts'
import { type Database, openDatabase } from '../src/db/database.ts'
import { moveBack, reopenDays } from './move-back.ts'
import { requirePlace } from './place.ts'

const DAYS = 30
const WAIT_MS = 60_000

interface Payment {
  readonly id: string
  readonly status: string
  readonly asset: string
  readonly deposit: { readonly expected_amount: string }
}

const BUYERS = ['ada', 'ben', 'chloe', 'dmitri', 'emeka', 'fatima', 'goro', 'hanna'].map(
  (name) => `${name}@example.com`,
)
const COINS = ['BTC', 'LTC', 'ETH', 'USDC', 'USDT'] as const
/** Enough for every coin. */
const CONFIRMATIONS = 12

const place = await requirePlace()
const api = openApi({ api: place.api, key: place.key })
const db = openDatabase({ url: place.databaseUrl, connectionsMax: 2 })
const accountId = readId('acct', place.accountId)
if (!accountId) throw new TypeError(`${place.accountId} is no account`)

await ask('POST', '/payment-links', { label: 'Gift card', amount: 25, currency: 'EUR' })
await ask('POST', '/payment-links', { label: 'Workshop, one seat', amount: 120, currency: 'EUR' })
for (let daysAgo = DAYS; daysAgo >= 0; daysAgo--) {
  const began = await databaseTime(db)
  await liveOneDay(DAYS - daysAgo)
  if (daysAgo > 0) await moveBack(db, accountId, began, daysAgo)
  process.stdout.write(`seed: ${DAYS - daysAgo + 1} of ${DAYS + 1} days\n`)
}
await reopenDays(db, accountId, DAYS)
await db.close()
process.stdout.write('seed: done\n')

/** More on some days than on others; each seventh day one withdrawal, and now and then what goes wrong. */
async function liveOneDay(day: number): Promise<void> {
  const sales = 2 + ((day * 7) % 5)
  await Promise.all(Array.from({ length: sales }, (_, index) => sell(day, index)))
  const stories = [underpay, overpay, expire, cancel, replace, payLate, leaveOpen]
  await stories[day % stories.length]?.(day)
  if (day % 7 === 6) await withdraw()
}

async function sell(day: number, index: number): Promise<void> {
  const payment = await create(day, index)
  await pay(payment, { confirmations: CONFIRMATIONS })
  await becomes(payment, 'completed')
}

async function underpay(day: number): Promise<void> {
  const payment = await create(day, 91)
  await pay(payment, { amount: share(payment, 0.6), confirmations: CONFIRMATIONS })
  await becomes(payment, 'underpaid')
}

async function overpay(day: number): Promise<void> {
  const payment = await create(day, 92)
  await pay(payment, { amount: share(payment, 1.5), confirmations: CONFIRMATIONS })
  await becomes(payment, 'overpaid')
}

async function expire(day: number): Promise<Payment> {
  const payment = await create(day, 93)
  await ask('POST', `/sandbox/payments/${payment.id}/expire`)
  await becomes(payment, 'expired')
  return payment
}

async function payLate(day: number): Promise<void> {
  const payment = await expire(day)
  await pay(payment, { confirmations: CONFIRMATIONS })
}

async function cancel(day: number): Promise<void> {
  const payment = await create(day, 94)
  await ask('POST', `/payments/${payment.id}/cancel`)
}

async function replace(day: number): Promise<void> {
  const payment = await create(day, 95)
  await pay(payment, {})
  // Unless a block took it first.
  await ask('POST', `/sandbox/payments/${payment.id}/replace`).catch((error) => {
    if (!(error instanceof Refusal)) throw error
  })
}

/** Of the last days: one that waits for its buyer, one whose coins were seen. */
async function leaveOpen(day: number): Promise<void> {
  await create(day, 96)
  await pay(await create(day, 97), {})
}

async function withdraw(): Promise<void> {
  await ask('POST', '/withdrawals', {
    asset: 'ETH',
    amount: '0.01',
    destination_address: '0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a',
  })
  await until('the withdrawal is completed', async () => {
    await ask('POST', '/sandbox/blocks', { network: 'ethereum', count: CONFIRMATIONS })
    const all = await ask<{ status: string }[]>('GET', '/withdrawals')
    return all.every(({ status }) => status === 'completed' || status === 'failed')
  })
}

function create(day: number, index: number): Promise<Payment> {
  const seller = day * 31 + index
  return ask<Payment>('POST', '/payments', {
    asset: COINS[seller % COINS.length],
    fiat_amount: 12 + ((seller * 37) % 180) + 0.5,
    fiat_currency: seller % 4 === 0 ? 'USD' : 'EUR',
    reference: `order-${1_000 + seller}`,
    ...(seller % 3 === 0 ? {} : { customer_email: BUYERS[seller % BUYERS.length] }),
  })
}

function pay(payment: Payment, how: { amount?: string; confirmations?: number }): Promise<unknown> {
  return ask('POST', `/sandbox/payments/${payment.id}/pay`, how)
}

/** A part of what is due, with no more digits than every coin has. */
function share(payment: Payment, part: number): string {
  return (Number(payment.deposit.expected_amount) * part).toFixed(6)
}

function becomes(payment: Payment, status: string): Promise<void> {
  return until(`${payment.id} (${payment.asset}) is ${status}`, async () => {
    const now = await ask<Payment>('GET', `/payments/${payment.id}`)
    return now.status === status
  })
}

async function until(what: string, is: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS
  while (!(await is())) {
    if (performance.now() > deadline) throw new Error(`after ${WAIT_MS / 1_000} s it is not so that ${what}`)
    await pause(200)
  }
}

/** Beck may be starting, or starting again because a source changed: then it is asked once more. */
async function ask<Data>(method: 'GET' | 'POST', path: string, body?: object): Promise<Data> {
  const answers: Data[] = []
  await until(`${method} ${path} is answered`, async () => {
    try {
      answers.push(await api.call<Data>(method, path, body))
      return true
    } catch (error) {
      if (error instanceof OutsideFailure) return false
      throw error
    }
  })
  const [answer] = answers
  if (answer === undefined) throw new TypeError(`${path} was answered`)
  return answer
}

async function databaseTime({ query }: Database): Promise<Date> {
  const { rows } = await query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]?.now ?? new Date()
}
