/**
 * Every bench in turn, and a table of the bars: `npm run bench`, or `npm run bench -- create-payment balance` for some. Takes
 * two hours, 60 GB of disk for the largest, and a machine that does nothing else. Each bench checks its results, prints its
 * figures beside its limit, and says by its exit code whether the bar is met.
 */
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ensurePrerequisites } from '../test/prerequisites.ts'
import { KEPT_VARIABLE } from './filled-shop.ts'
import { benchFolder } from './folder.ts'

/** What is promised, and the bench that measures it with its arguments. */
const BARS: readonly (readonly [work: string, bench: string, ...args: string[]])[] = [
  ['POST /payments, 16 at once', 'create-payment'],
  ['POST /payments, one at a time', 'create-payment', '--connections=1'],
  ['POST /payments with Idempotency-Key', 'create-payment', '--keyed'],
  ['POST /payments with a customer and metadata', 'create-payment', '--whole'],
  [
    'POST /payments for five minutes, each sent to a webhook endpoint',
    'create-payment',
    '300',
    '--rounds=1',
    '--listening=payment.created',
  ],
  ...['BTC', 'ETH', 'USDC', 'USDT'].map(
    (asset) => [`POST /payments in ${asset}`, 'create-payment', `--asset=${asset}`] as const,
  ),
  ['one, two, four and eight api processes', 'api-processes'],
  ['a block of 2,000 and of 10,000 payments, until all is told', 'whole-life'],
  ['a 4 MB block with 10,000,000 addresses', 'block-scan'],
  ['POST /payments beside a 4 MB block', 'block-beside-payments'],
  ['POST /payments beside a backlog that is removed', 'cleaning-beside-payments'],
  ['webhooks to receivers that take 200 ms', 'webhook-delivery'],
  ['GET /balance at 10,000,000 transfers', 'balance'],
  ['from an empty folder to the first paid payment', 'first-payment'],
  ['10,000 open checkout pages', 'live-pages'],
  ['the proof after a block', 'prove-block'],
  ['the proof of Ethereum', 'prove-ethereum'],
  ["a payer's poll", 'poll-payouts'],
  ["the signer's journal", 'signer-journal'],
  ['gas of sweeps', 'sweep-gas'],
  ['weight and first paint of the checkout page', 'checkout-page'],
  ['memory of an idle role', 'idle-memory'],
  ['a hundred tenants while somebody attacks', 'denial-of-service'],
  ['installation and start', 'installation'],
  ['POST /payments and pages, 10,000,000 payments beside 1,000', 'growth'],
  ['lists of 10,000,000 payments', 'list-payments'],
  ['exports of 10,000,000 rows in constant memory', 'export'],
  ['pages of the dashboard at 10,000,000 payments', 'dashboard-pages'],
]

/** Debian's packages that a bench needs, of those that the tests install. */
const NEEDED: Readonly<Record<string, string>> = {
  'api-processes': 'pgbouncer',
  'checkout-page': 'chromium-headless-shell',
}

const asked = process.argv.slice(2)
const bars = BARS.filter(([, bench]) => asked.length === 0 || asked.includes(bench))
await ensurePrerequisites(bars.flatMap(([, bench]) => NEEDED[bench] ?? []))
const results: { work: string; isMet: boolean; last: string; minutes: number }[] = []
const kept = await benchFolder()
try {
  for (const [work, bench, ...args] of bars) {
    process.stdout.write(`\n${work}: node bench/${bench}.ts ${args.join(' ')}\n`)
    const begun = performance.now()
    results.push({ work, ...(await run(bench, args)), minutes: (performance.now() - begun) / 60_000 })
  }
} finally {
  await rm(kept, { recursive: true, force: true })
}
const width = Math.max(...bars.map(([work]) => work.length))
process.stdout.write('\n')
for (const { work, isMet, last, minutes } of results)
  process.stdout.write(
    `${isMet ? 'met   ' : 'MISSED'} ${work.padEnd(width)} ${minutes.toFixed(1).padStart(5)} min  ${last}\n`,
  )
process.exitCode = results.length > 0 && results.every(({ isMet }) => isMet) ? 0 : 1

async function run(bench: string, args: readonly string[]): Promise<{ isMet: boolean; last: string }> {
  const script = fileURLToPath(new URL(`${bench}.ts`, import.meta.url))
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, [KEPT_VARIABLE]: kept },
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let last = ''
  for await (const line of createInterface(child.stdout)) {
    process.stdout.write(`  ${line}\n`)
    if (line !== '') last = line
  }
  return { isMet: (await ended) === 0, last }
}
