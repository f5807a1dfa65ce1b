/**
 * A merchant whose server never rests: it makes payments, has them paid, pays out and hears webhooks, and keeps what it was
 * promised. What is not answered it asks again with the same idempotency key, as a merchant should.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { Beck, BeckError, ConflictError, webhooks } from '../sdk/src/index.ts'
import { type PaymentId, showId, type WithdrawalId } from '../src/core/ids.ts'
import { pause } from '../src/core/pause.ts'
import { MINUTE_MS } from '../src/core/time.ts'
import type { Queryable } from '../src/db/database.ts'
import { waitFor } from './wait-for.ts'

const LANES = 4
/** Every so many payments of a lane, one withdrawal. */
const PAYMENTS_PER_WITHDRAWAL = 8
const DESTINATION = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'
const DESTINATION_SCRIPT = '0014751e76e8199196d454941c45d1b3a323f1433bd6'
const EVENTS = ['payment.created', 'payment.completed', 'payout.completed'] as const
const ANSWER_MS_MAX = 10_000
const AGAIN_MS = 200
/** A delivery that was cut off is tried again when its lease is over, after a minute. */
const COLLECT_MS_MAX = 5 * MINUTE_MS

export interface Failure {
  readonly at: Date
  readonly what: string
  readonly baseUrl: string | undefined
  /** Null when there was no answer. */
  readonly status: number | null
  readonly message: string
}

export interface BusyMerchant {
  /** What was answered with anything but success, or not at all. */
  readonly failures: readonly Failure[]
  /** Resolves when so many more payments are acknowledged and paid. */
  more(payments: number): Promise<void>
  /** The longest time without an acknowledgement since this was asked last, in milliseconds. */
  longestGapMs(): number
  /** Finishes what is under way, and begins nothing more. */
  rest(): Promise<void>
  /**
   * After the rest: every payment is there once and completed, every withdrawal was paid once, every event was heard.
   *
   * @returns How many there were of each.
   */
  collect(db: Queryable): Promise<{ payments: number; withdrawals: number; events: number }>
}

interface Options {
  readonly apiKey: string
  /** Where Beck can be asked now; the next call goes to the next one. */
  readonly urls: () => readonly string[]
  /** Between two payments of one lane. */
  readonly pauseMs: number
}

/** What Beck acknowledged. */
interface Promised {
  /** Ids by reference. */
  readonly payments: Map<string, string>
  readonly paid: Set<string>
  readonly withdrawals: Set<string>
}

export async function startBusyMerchant(options: Options): Promise<BusyMerchant> {
  const asking = openAsking(options)
  const { ask } = asking
  const hearing = await startHearing()
  const { secret } = await ask('webhook', (beck) =>
    beck.webhooks.create({ url: hearing.url, events: [...EVENTS] }),
  )
  hearing.believe(secret)
  const promised: Promised = { payments: new Map(), paid: new Set(), withdrawals: new Set() }
  await fillPurse(ask, promised)

  let isResting = false
  const serve = async (lane: number): Promise<void> => {
    for (let nth = 1; !isResting; nth++) {
      await sell(ask, promised, `order-${lane}-${nth}`)
      if (nth % PAYMENTS_PER_WITHDRAWAL === 0) await withdraw(ask, promised, `payout-${lane}-${nth}`)
      await pause(options.pauseMs)
    }
  }
  let problem: unknown
  const lanes = Promise.all(Array.from({ length: LANES }, (_, lane) => serve(lane))).catch((error) => {
    isResting = true
    problem = error
  })
  const rest = async () => {
    isResting = true
    await lanes
    if (problem) throw problem
  }
  return {
    failures: asking.failures,
    longestGapMs: asking.longestGapMs,
    rest,
    async more(payments) {
      const enough = promised.paid.size + payments
      await waitFor(`${payments} more payments`, async () => {
        if (isResting) await rest()
        return promised.paid.size >= enough || null
      })
    },
    collect: (db) => collect(db, promised, hearing.events),
  }
}

type Ask = <Found>(what: string, call: (beck: Beck) => Promise<Found>) => Promise<Found>

/** Asks until there is an answer. */
function openAsking({ apiKey, urls }: Options) {
  const failures: Failure[] = []
  let lastMs = performance.now()
  let gapMs = 0
  let calls = 0
  const ask: Ask = async (what, call) => {
    for (;;) {
      const all = urls()
      const baseUrl = all[calls++ % all.length]
      try {
        const found = await call(new Beck({ apiKey, baseUrl, retries: 0, timeoutMs: ANSWER_MS_MAX }))
        gapMs = Math.max(gapMs, performance.now() - lastMs)
        lastMs = performance.now()
        return found
      } catch (error) {
        const status = error instanceof BeckError ? error.status : null
        failures.push({ at: new Date(), what, baseUrl, status, message: String(error) })
        // The first try of the same call may still be under way: a conflict, and asked again.
        if (status !== null && status < 500 && !(error instanceof ConflictError)) throw error
        await pause(AGAIN_MS)
      }
    }
  }
  const longestGapMs = () => {
    const longest = Math.max(gapMs, performance.now() - lastMs)
    gapMs = 0
    return Math.round(longest)
  }
  return { ask, failures, longestGapMs }
}

/** So that there is something to withdraw from the first moment on. */
async function fillPurse(ask: Ask, promised: Promised): Promise<void> {
  await sell(ask, promised, 'purse', 1_000)
  const id = promised.payments.get('purse') ?? assert.fail()
  await waitFor('there is something to withdraw', async () => {
    const { status } = await ask('read', (beck) => beck.payments.retrieve(id))
    return status === 'completed' || null
  })
}

async function sell(ask: Ask, promised: Promised, reference: string, fiat = 20): Promise<void> {
  const { id } = await ask('payment', (beck) =>
    beck.payments.create(
      { asset: 'LTC', fiat_amount: fiat, reference },
      { idempotencyKey: `${reference}-make` },
    ),
  )
  promised.payments.set(reference, id)
  await ask('pay', (beck) => beck.sandbox.pay(id, {}, { idempotencyKey: `${reference}-pay` }))
  promised.paid.add(id)
  const read = await ask('read', (beck) => beck.payments.retrieve(id))
  assert.equal(read.reference, reference)
}

async function withdraw(ask: Ask, promised: Promised, idempotencyKey: string): Promise<void> {
  const draft = { asset: 'LTC', amount: '0.05', destination_address: DESTINATION } as const
  const { id } = await ask('withdrawal', (beck) => beck.withdrawals.create(draft, { idempotencyKey }))
  promised.withdrawals.add(id)
}

/** A receiver that believes only what is signed. It has no secret until it is told one, and is asked again until then. */
async function startHearing() {
  const events = new Set<string>()
  let secret: string | undefined
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    try {
      const event = await webhooks.verify(body, request.headers, secret)
      events.add(`${event.type} ${event.data.id}`)
      response.end()
    } catch (error) {
      response.writeHead(400).end(String(error))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    events,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    believe(told: string) {
      secret = told
    },
  }
}

async function collect(db: Queryable, promised: Promised, heard: ReadonlySet<string>) {
  const { rows: payments } = await db.query<{ id: PaymentId; reference: string }>(
    'select id, reference from payments order by reference',
  )
  assert.deepEqual(
    payments.map(({ id, reference }) => [reference, showId('pay', id)]),
    [...promised.payments].sort(([one], [other]) => (one < other ? -1 : 1)),
    'every acknowledged payment is there, and none twice',
  )
  await waitFor(
    'every payment and every withdrawal is completed',
    async () => {
      const { rows } = await db.query<{ left: bigint }>(
        `select (select count(*) from payments where status <> 'completed')
           + (select count(*) from withdrawals where status <> 'completed') as left`,
      )
      return rows[0]?.left === 0n || null
    },
    COLLECT_MS_MAX,
  )
  const { rows: withdrawals } = await db.query<{ id: WithdrawalId }>('select id from withdrawals')
  assert.deepEqual(
    withdrawals.map(({ id }) => showId('wd', id)).toSorted(),
    [...promised.withdrawals].toSorted(),
    'every acknowledged withdrawal is there, and none twice',
  )
  const { rows: paid } = await db.query<{ owed: bigint; arrived: bigint }>(
    `select (select sum(net_atoms) from withdrawals) as owed, sum((output ->> 'atoms')::numeric(78, 0)) as arrived
     from sim_transactions t, jsonb_array_elements(t.body -> 'outputs') as output
     where t.height is not null and output ->> 'lookup' = $1`,
    [DESTINATION_SCRIPT],
  )
  assert.equal(paid[0]?.arrived, paid[0]?.owed, 'what the chain shows is what was asked for, once')

  const expected = [
    ...payments.flatMap(({ id }) =>
      ['created', 'completed'].map((what) => `payment.${what} ${showId('pay', id)}`),
    ),
    ...withdrawals.map(({ id }) => `payout.completed ${showId('wd', id)}`),
  ]
  await waitFor(
    'every event was heard',
    async () => expected.every((event) => heard.has(event)) || null,
    COLLECT_MS_MAX,
  )
  return { payments: payments.length, withdrawals: withdrawals.length, events: expected.length }
}
