/**
 * A hundred merchants at a modest rate: each asks for something every two seconds, at its own moment, whether or not the last
 * answer has come, so that a server that stands still is seen to.
 */
import { createServer } from 'node:http'
import { type Given, steadyMachine } from '../steady-machine.ts'
import type { Figures, TenantsTarget } from './protocol.ts'

const target: TenantsTarget = JSON.parse(process.argv[2] ?? '')
const EVERY_MS = 2_000
/** An answer that takes longer is none. */
const GIVE_UP_MS = 20_000
/** Webhooks of the last payments of a stretch may still be on their way. */
const GRACE_MS = 3_000

const base = `http://127.0.0.1:${target.port}/v1`
/** From what was asked to what came of it. */
interface Wait {
  readonly from: number
  readonly to: number
}
let api: Wait[] = []
let webhooks: Wait[] = []
let problems: string[] = []
let made = 0
const sentAt = new Map<string, number>()

const receiver = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => {
    body += text
  })
  request.on('end', () => {
    response.writeHead(204).end()
    const { id } = JSON.parse(body).data
    const at = sentAt.get(id)
    if (at === undefined) early.set(id, performance.now())
    else webhooks.push({ from: at, to: performance.now() })
    sentAt.delete(id)
  })
})
/** Webhooks that overtook their answer. */
const early = new Map<string, number>()

async function call(key: string, method: string, path: string, body?: object) {
  const answer = await fetch(`${base}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(GIVE_UP_MS),
  })
  const { data, error } = (await answer.json()) as { data: { id: string }; error: { message: string } | null }
  if (error) throw new Error(`${answer.status} ${error.message}`)
  return data
}

async function step(key: string, turn: number, last: { id: string | null }): Promise<void> {
  const began = performance.now()
  const kinds = ['create', 'list', 'retrieve', 'balance'] as const
  const kind = kinds[turn % kinds.length]
  try {
    if (kind === 'list') await call(key, 'GET', '/payments?limit=20')
    else if (kind === 'balance') await call(key, 'GET', '/balance')
    else if (kind === 'retrieve' && last.id) await call(key, 'GET', `/payments/${last.id}`)
    else {
      const { id } = await call(key, 'POST', '/payments', {
        asset: 'LTC',
        fiat_amount: 20,
        reference: 'tenant',
      })
      last.id = id
      made += 1
      const arrived = early.get(id)
      if (arrived === undefined) sentAt.set(id, began)
      else webhooks.push({ from: began, to: arrived })
      early.delete(id)
    }
  } catch (error) {
    if (problems.length < 5) problems.push(`${kind}: ${String(error)}`)
  }
  api.push({ from: began, to: performance.now() })
}

const machine = steadyMachine()
const lasts = target.tenants.map(() => ({ id: null as string | null }))
const running = new Set<Promise<void>>()

async function work(seconds: number): Promise<Figures> {
  ;[api, webhooks, problems] = [[], [], []]
  const timers: NodeJS.Timeout[] = []
  for (const [number, key] of target.tenants.entries()) {
    let turn = number
    const begin = () => {
      const one = step(key, turn++, lasts[number] ?? { id: null })
      running.add(one)
      one.finally(() => running.delete(one))
    }
    const offset = (number * EVERY_MS) / target.tenants.length
    timers.push(
      setTimeout(() => {
        begin()
        timers.push(setInterval(begin, EVERY_MS))
      }, offset),
    )
  }
  const given = await machine.untilGiven(seconds * 1_000)
  for (const timer of timers) clearInterval(timer)
  await Promise.all(running)
  const deadline = performance.now() + GRACE_MS
  while (sentAt.size > 0 && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 10))
  // What did not come by now took at least so long.
  for (const from of sentAt.values()) webhooks.push({ from, to: performance.now() })
  sentAt.clear()
  const [answered, told] = [tookOf(api, given), tookOf(webhooks, given)]
  return {
    givenSeconds: given.givenMs / 1_000,
    allSeconds: given.allMs / 1_000,
    requests: answered.length,
    apiP50Ms: share(answered, 0.5),
    apiP99Ms: share(answered, 0.99),
    webhookP99Ms: share(told, 0.99),
    problems,
  }
}

/** Milliseconds, ascending, of those that the machine had its processors for. */
const tookOf = (waits: readonly Wait[], given: Given): number[] =>
  waits
    .filter(({ from, to }) => given.wasGiven(from, to))
    .map(({ from, to }) => to - from)
    .sort((a, b) => a - b)

const share = (ascending: readonly number[], part: number): number =>
  ascending[Math.floor(ascending.length * part)] ?? Number.POSITIVE_INFINITY

receiver.listen(target.receiver, '127.0.0.1', async () => {
  for (const key of target.tenants)
    await call(key, 'POST', '/webhooks', {
      url: `http://127.0.0.1:${target.receiver}/hook`,
      events: ['payment.created'],
    })
  process.send?.({ ready: true })
})
process.on('message', async (asked: { seconds?: number; count?: true }) => {
  if (asked.seconds !== undefined) process.send?.({ figures: await work(asked.seconds) })
  if (asked.count) process.send?.({ count: made })
})
process.on('exit', () => machine.stop())
process.on('SIGTERM', () => process.exit(0))
