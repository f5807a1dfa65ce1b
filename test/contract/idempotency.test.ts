/** One Idempotency-Key is one payment, one withdrawal: over real connections, to two servers, and when one is killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import test, { after, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startServer } from '../../src/http/server.ts'
import { post } from '../../src/ledger/post.sql.ts'
import { storeFeeRates } from '../../src/treasury/fee-rates.sql.ts'
import { type ApiAnswer, readAnswer, testMerchant, UNLIMITED } from '../api.ts'
import { testCause, testGateway } from '../gateway.ts'
import { gatewayOn } from '../gateway-on.ts'
import { until } from '../wait-for.ts'
import { ENOUGH } from './contract.ts'

const gateway = await testGateway({ freshPerChain: 40, chains: ['sim-litecoin'] })
const { account, key } = await testMerchant(gateway.db)
await storeFeeRates(gateway.db, 'sim-litecoin', { rate: 10_000n, priorityRate: 0n })
await gateway.db.transaction((tx) =>
  post(tx, {
    accountId: account.id,
    chain: 'sim-litecoin',
    cause: testCause('funds'),
    transfers: [{ asset: 'LTC', debit: 'wallet', credit: 'available', atoms: 10_00000000n }],
  }),
)

const serve = async () => {
  const shared = gatewayOn(gateway.db, gateway.secrets)
  // A withdrawal's answer waits a moment for its broadcast, as in life.
  const settings = { ...shared.settings, broadcastWaitMs: 3_000 }
  const server = await startServer(
    { ...shared, settings },
    { port: 0, host: '127.0.0.1', rateLimit: UNLIMITED },
  )
  after(() => server.close())
  return server.port
}
const ports = [await serve(), await serve()] as const
const agent = new Agent({ keepAlive: true })
after(() => agent.destroy())

/** Sends a POST on a connection of its own, with an idempotency key. Rejects when the connection breaks. */
function send(port: number, path: string, idempotencyKey: string, body: unknown): Promise<ApiAnswer> {
  const text = JSON.stringify(body)
  const headers = { 'x-api-key': key, 'content-type': 'application/json', 'idempotency-key': idempotencyKey }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { host: '127.0.0.1', port, path: `/v1${path}`, method: 'POST', agent, headers },
      (incoming) => {
        let answer = ''
        incoming.setEncoding('utf8').on('data', (chunk) => {
          answer += chunk
        })
        incoming.on('error', reject)
        incoming.on('end', () => resolve(readAnswer(incoming.statusCode ?? 0, incoming.headers, answer)))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(text)
  })
}

const count = async (table: 'payments' | 'withdrawals'): Promise<number> =>
  (await gateway.db.query(`select from ${table} where account_id = $1`, [account.id])).rowCount

/** What is held for withdrawals, in hundredths of a litecoin. */
async function held(): Promise<number> {
  const { rows } = await gateway.db.query<{ atoms: bigint }>(
    `select atoms from balances where account_id = $1 and asset = 'LTC' and kind = 'held'`,
    [account.id],
  )
  return Number(rows[0]?.atoms ?? 0n) / 1_000_000
}

const REQUESTS = [
  {
    path: '/payments',
    table: 'payments',
    body: { ...ENOUGH['POST /payments'], reference: 'order-1' },
    other: { ...ENOUGH['POST /payments'], reference: 'order-2' },
    holds: 0,
    crashes: ['create:announced', 'http:committed'],
  },
  {
    path: '/withdrawals',
    table: 'withdrawals',
    body: ENOUGH['POST /withdrawals'],
    other: { ...ENOUGH['POST /withdrawals'], amount: '0.51' },
    holds: 50,
    crashes: ['request:held', 'http:settling', 'http:committed'],
  },
] as const

for (const { path, table, body, other, holds, crashes } of REQUESTS) {
  describe(`POST ${path}`, () => {
    test('100 parallel requests to two servers do it once, and all get the same bytes', async () => {
      const [before, heldBefore] = [await count(table), await held()]
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          send(ports[index % 2 === 0 ? 0 : 1], path, `parallel${path}`, body),
        ),
      )
      assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [201])
      assert.equal(new Set(answers.map((answer) => answer.text)).size, 1)
      const firsts = answers.filter((answer) => answer.headers['idempotent-replayed'] === undefined)
      assert.equal(firsts.length, 1)
      assert.equal(await count(table), before + 1)
      assert.equal(await held(), heldBefore + holds)
    })

    test('the key with another body is a conflict and does nothing', async () => {
      const first = await send(ports[0], path, `other${path}`, body)
      const [before, heldBefore] = [await count(table), await held()]
      for (const changed of [other, { ...body, a: 1 }, {}]) {
        const answer = await send(ports[1], path, `other${path}`, changed)
        // A body that is wrong in itself is told so first.
        if (changed === other)
          assert.deepEqual([answer.status, answer.error.reason], [409, 'idempotency_key_reused'])
        else assert.equal(answer.status, 400)
      }
      assert.equal((await send(ports[1], path, `other${path}`, body)).text, first.text)
      assert.deepEqual([await count(table), await held()], [before, heldBefore])
    })

    for (const crash of crashes) {
      test(`a server killed at ${crash}: the same request to another server does it once`, async () => {
        const [before, heldBefore] = [await count(table), await held()]
        const { port, child } = await startDoomed(crash)
        const name = `${crash}${path}`
        await assert.rejects(send(port, path, name, body), 'the server was to die before it answered')
        await ended(child)
        assert.equal(child.signalCode, 'SIGKILL')
        const answer = await send(ports[0], path, name, body)
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.headers['idempotent-replayed'], crash.startsWith('http:') ? 'true' : undefined)
        assert.equal((await send(ports[1], path, name, body)).text, answer.text)
        assert.deepEqual([await count(table), await held()], [before + 1, heldBefore + holds])
      })
    }
  })
}

test('a payout that is broadcast while 100 requests wait for their answer is broadcast in all of them', async () => {
  const { path, body } = REQUESTS[1]
  const before = await count('withdrawals')
  const requests = Promise.all(
    Array.from({ length: 100 }, (_, index) => send(ports[index % 2 === 0 ? 0 : 1], path, 'quick', body)),
  )
  // In the place of the payer.
  await until('the withdrawal is asked for', async () => {
    const { rowCount } = await gateway.db.query(
      `update withdrawals set status = 'broadcast', tx_hash = $2, broadcast_at = now()
       where id = (select id from withdrawals where account_id = $1 order by id desc limit 1)
         and (select count(*) from withdrawals where account_id = $1) = $3`,
      [account.id, 'ab'.repeat(32), before + 1],
    )
    return rowCount === 1
  })
  const answers = await requests
  assert.equal(new Set(answers.map((answer) => answer.text)).size, 1)
  assert.deepEqual([answers[0]?.data.status, answers[0]?.data.tx_hash], ['broadcast', 'ab'.repeat(32)])
  assert.equal(await count('withdrawals'), before + 1)
})

test('while the first request runs, others with its key wait for it and get its answer', async () => {
  const { path, body } = REQUESTS[1]
  const before = await count('withdrawals')
  // Another transaction holds the balance, so that the first request waits inside its own.
  const locked = Promise.withResolvers<void>()
  const letGo = Promise.withResolvers<void>()
  const holding = gateway.db.transaction(async (tx) => {
    await tx.query('select from balances where account_id = $1 for update', [account.id])
    locked.resolve()
    await letGo.promise
  })
  await locked.promise
  try {
    const first = send(ports[0], path, 'in-flight', body)
    await waiting(1)
    const second = send(ports[1], path, 'in-flight', body)
    await waiting(2)
    letGo.resolve()
    assert.equal((await first).status, 201)
    assert.equal((await second).text, (await first).text)
    assert.equal((await second).headers['idempotent-replayed'], 'true')
    assert.equal(await count('withdrawals'), before + 1)
  } finally {
    letGo.resolve()
    await holding
  }
})

const waiting = (requests: number) =>
  until(`${requests} requests wait for a lock`, async () => {
    const { rowCount } = await gateway.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount >= requests
  })

/** A server in a process of its own that kills itself at the crash point. */
async function startDoomed(crash: string): Promise<{ port: number; child: ChildProcess }> {
  const script = fileURLToPath(new URL('./serve-until-killed.ts', import.meta.url))
  const child = spawn(process.execPath, [script, gateway.db.url], {
    env: { ...process.env, BECK_CRASH_AT: crash },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  return { port: Number(String(line)), child }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
