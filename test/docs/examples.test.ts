/** The examples of the guides, run as they stand against a server: each shell command by a shell, each SDK line by Node. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { SIMULATED_CHAINS } from '../../src/chains/simulated/network.ts'
import { createSimulatedChain } from '../../src/chains/simulated/simulated-chain.ts'
import { storeFeeRates } from '../../src/treasury/fee-rates.sql.ts'
import type { Loop } from '../../src/workers/loop.ts'
import { startSettler } from '../../src/workers/settle.ts'
import { startWatcher } from '../../src/workers/watch.ts'
import { call, testApp, testMerchant } from '../api.ts'
import { testGateway } from '../gateway.ts'
import { until } from '../wait-for.ts'

const GUIDES = [
  'README.md',
  ...['quickstart', 'payments', 'checkout', 'errors', 'going-live', 'sandbox', 'webhooks'].map(
    (name) => `docs/${name}.md`,
  ),
]

/** The requests among a guide's shell commands, with the lines that each goes on over. */
const requestsOf = (guide: string): string[] =>
  [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block = '']) => [
    ...(block.match(/^curl (?:.*\\\n)*.*$/gm) ?? []),
  ])

const loops: Loop[] = []
// Before the hook that closes the database.
after(() => Promise.all(loops.map((loop) => loop.stop())))
const gateway = await testGateway({ freshPerChain: 60, chains: SIMULATED_CHAINS })
loops.push(startSettler(gateway, { idleMs: 50 }))
for (const chain of SIMULATED_CHAINS)
  loops.push(startWatcher(gateway, createSimulatedChain({ db: gateway.db, chain }), { idleMs: 50 }))
const app = await testApp(gateway)
const base = await app.listen({ port: 0, host: '127.0.0.1' })
const { key } = await testMerchant(gateway.db)
await storeFeeRates(gateway.db, 'sim-litecoin', { rate: 1_000n, priorityRate: 0n })

/** Runs a command with the guide's host replaced by this server. @returns What it printed. */
async function shell(command: string, variables: Record<string, string>): Promise<string> {
  const env = { ...process.env, KEY: key, API: `${base}/v1`, ...variables }
  const local = command.replace(/(http:\/\/)?localhost:8080/g, base)
  return (await promisify(execFile)('bash', ['-euc', local], { env })).stdout
}

const create = async (): Promise<string> =>
  (await call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 10 } })).data.id

const becomes = (id: string, status: string): Promise<void> =>
  until(`payment ${id} is ${status}`, async () => {
    const { data } = await call(app, key, 'GET', `/payments/${id}`)
    return data.status === status
  })

/** A payment of which half was paid. */
async function underpaid(): Promise<string> {
  const id = await create()
  const body = { amount: '0.05', confirmations: 6 }
  assert.equal((await call(app, key, 'POST', `/sandbox/payments/${id}/pay`, { body })).status, 200)
  await becomes(id, 'underpaid')
  return id
}

for (const guide of GUIDES) {
  test(`the commands of ${guide} do what they say`, async () => {
    const variables: Record<string, string> = {
      PAYMENT: await create(),
      PENDING: await create(),
      UNDERPAID: await underpaid(),
    }
    const text = await readFile(guide, 'utf8')
    const commands = requestsOf(text)
    assert.equal(commands.length, text.match(/^curl /gm)?.length ?? 0, 'every command is found')
    for (const command of commands) {
      const answer = JSON.parse(await shell(command, variables))
      assert.equal(answer.error, null, `${command}\n${JSON.stringify(answer)}`)
      // As the reader takes it over from the answer.
      if (/(\/v1|\$API)\/payments .*-d/s.test(command)) variables.PAYMENT = answer.data.id
    }
  })
}

test('the quickstart ends with a completed payment and a balance', async () => {
  const { data } = await call(app, key, 'GET', '/payments', { query: { filter_email: 'buyer@example.com' } })
  const [payment] = data.items
  assert.ok(payment, 'the quickstart made one')
  await becomes(payment.id, 'completed')
  const balance = (await call(app, key, 'GET', '/balance')).data
  assert.ok(balance.available.value > 0)
})

test("the SDK's quickstart runs as it stands", async () => {
  const readme = await readFile('sdk/README.md', 'utf8')
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block = '']) => block)
  const steps = blocks.filter((block) => !/webhooks|handle\(/.test(block))
  assert.ok(steps.length >= 3, 'a payment, its payment, a list')
  const program = steps
    .join('\n')
    .replaceAll("'beck-sdk'", `'${join(process.cwd(), 'sdk/src/index.ts')}'`)
    .replaceAll('http://127.0.0.1:8080', base)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module-typescript', '--eval', program],
    { env: { ...process.env, BECK_API_KEY: key } },
  )
  assert.match(stdout, /^send exactly \d\.\d+ LTC to tltc1q\w+\npay_/)
})
