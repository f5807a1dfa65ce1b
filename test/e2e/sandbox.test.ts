/** A test account's way through the API, with the loops that run in production and the simulated chain in PostgreSQL. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { SIMULATED_CHAINS } from '../../src/chains/simulated/network.ts'
import { createSimulatedChain } from '../../src/chains/simulated/simulated-chain.ts'
import { ASSET_FACTS, ASSETS, NETWORKS } from '../../src/core/assets.ts'
import type { Gateway, Queue } from '../../src/flows/gateway.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { signerTurn } from '../../src/signer/signer.ts'
import { startExpirer } from '../../src/workers/expire.ts'
import { type Loop, startLoop } from '../../src/workers/loop.ts'
import { startPayer } from '../../src/workers/pay-out.ts'
import { startProver } from '../../src/workers/prove.ts'
import { startSettler } from '../../src/workers/settle.ts'
import { startWatcher } from '../../src/workers/watch.ts'
import { type ApiAnswer, call, testApp, testKey, testMerchant } from '../api.ts'
import { testGateway } from '../gateway.ts'
import { testSigner } from '../payouts.ts'
import { until, waitFor } from '../wait-for.ts'

const loops = new Map<Queue, Loop>()
const others: Loop[] = []
// Before the hook that closes the database.
after(() => Promise.all([...loops.values(), ...others].map((loop) => loop.stop())))
const gateway: Gateway = {
  ...(await testGateway({ freshPerChain: 20 })),
  wake: (queue) => loops.get(queue)?.wake(),
}
const app = await testApp(gateway)
const { account, key } = await testMerchant(gateway.db)

const ports = SIMULATED_CHAINS.map((chain) => createSimulatedChain({ db: gateway.db, chain }))
loops.set('settle', startSettler(gateway, { idleMs: 50 }))
others.push(startExpirer(gateway, { idleMs: 50 }))
for (const port of ports)
  others.push(
    startWatcher(gateway, port, { idleMs: 50 }),
    startPayer(gateway, port),
    startProver(gateway, port, { idleMs: 50 }),
  )
const signer = await testSigner(gateway, SIMULATED_CHAINS)
others.push(startLoop({ name: 'sign', idleMs: 50, log: gateway.log, turn: () => signerTurn(signer) }))

const post = async (path: string, body?: unknown): Promise<ApiAnswer['data']> => {
  const answer = await call(app, key, 'POST', path, { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.data
}
const create = (asset: string): Promise<ApiAnswer['data']> => post('/payments', { asset, fiat_amount: 100 })
const get = async (id: string): Promise<ApiAnswer['data']> =>
  (await call(app, key, 'GET', `/payments/${id}`)).data

/** Waits until the payment is so. */
const shown = (id: string, is: (payment: ApiAnswer['data']) => boolean): Promise<ApiAnswer['data']> =>
  waitFor(`payment ${id} is so: ${is}`, async () => {
    const payment = await get(id)
    return is(payment) ? payment : null
  })
const becomes = (id: string, status: string): Promise<ApiAnswer['data']> =>
  waitFor(`payment ${id} is ${status}`, async () => {
    const payment = await get(id)
    return payment.status === status ? payment : null
  })

async function eventsOf(id: string): Promise<string[]> {
  const { rows } = await gateway.db.query<{ type: string }>(
    `select type from events where account_id = $1 and body::jsonb -> 'data' ->> 'id' = $2 order by created_at, id`,
    [account.id, id],
  )
  return rows.map((row) => row.type)
}

test('a payment is created, paid, detected, confirmed and completed', async () => {
  const payment = await create('LTC')
  assert.match(payment.deposit.address, /^tltc1q/)
  const paid = await post(`/sandbox/payments/${payment.id}/pay`)
  assert.equal(paid.id, payment.id)
  const detected = await becomes(payment.id, 'detected')
  assert.ok(detected.detected_at)
  assert.equal(detected.deposits[0].amount, payment.deposit.expected_amount)
  await post('/sandbox/blocks', { network: 'litecoin', count: 5 })
  await shown(payment.id, ({ confirmations }) => confirmations === 5)
  await post('/sandbox/blocks', { network: 'litecoin' })
  const completed = await becomes(payment.id, 'completed')
  assert.ok(completed.completed_at)
  assert.equal(completed.confirmations, 6)
  assert.deepEqual(await eventsOf(payment.id), ['payment.created', 'payment.confirming', 'payment.completed'])
})

test('every coin is paid and confirmed by one request', async () => {
  for (const asset of ASSETS) {
    const payment = await create(asset)
    const confirmations = ASSET_FACTS[asset].confirmations
    await post(`/sandbox/payments/${payment.id}/pay`, { confirmations })
    assert.equal((await becomes(payment.id, 'completed')).confirmations, confirmations)
  }
})

test('other amounts lead where they lead on a live chain', async () => {
  const low = await create('BTC')
  await post(`/sandbox/payments/${low.id}/pay`, { amount: '0.0001', confirmations: 2 })
  await becomes(low.id, 'underpaid')
  const high = await create('ETH')
  await post(`/sandbox/payments/${high.id}/pay`, { amount: '1', confirmations: 12 })
  await becomes(high.id, 'overpaid')
})

test('a window ended by hand expires the payment; what is paid then is late', async () => {
  const payment = await create('USDC')
  await post(`/sandbox/payments/${payment.id}/expire`)
  await becomes(payment.id, 'expired')
  assert.deepEqual(await eventsOf(payment.id), ['payment.created', 'payment.expired'])
  await post(`/sandbox/payments/${payment.id}/pay`, { confirmations: 12 })
  const late = await shown(payment.id, ({ deposits }) => deposits[0]?.status === 'confirmed')
  assert.equal(late.status, 'expired')
  assert.equal(late.deposits[0].late, true)
  const again = await call(app, key, 'POST', `/sandbox/payments/${payment.id}/expire`)
  assert.deepEqual([again.status, again.error.reason], [409, 'window_over'])
})

test('a replaced deposit gives the quote back', async () => {
  for (const asset of ['BTC', 'LTC']) {
    const payment = await create(asset)
    await post(`/sandbox/payments/${payment.id}/pay`)
    await becomes(payment.id, 'detected')
    await post(`/sandbox/payments/${payment.id}/replace`)
    const pending = await becomes(payment.id, 'pending')
    assert.equal(pending.deposits[0].status, 'replaced')
    const again = await call(app, key, 'POST', `/sandbox/payments/${payment.id}/replace`)
    assert.deepEqual([again.status, again.error.reason], [409, 'nothing_unconfirmed'])
  }
})

test('a reorganisation takes a settlement back; it settles again without a second event', async () => {
  for (const [asset, network] of [
    ['BTC', 'bitcoin'],
    ['USDT', 'ethereum'],
  ] as const) {
    const payment = await create(asset)
    const { confirmations } = ASSET_FACTS[asset]
    await post(`/sandbox/payments/${payment.id}/pay`, { confirmations })
    await becomes(payment.id, 'completed')
    const { height } = await post('/sandbox/reorg', { network, depth: confirmations })
    const lost = await becomes(payment.id, 'detected')
    assert.equal(lost.completed_at, null)
    const mined = await post('/sandbox/blocks', { network, count: confirmations })
    assert.equal(mined.height, height + confirmations)
    await becomes(payment.id, 'completed')
    assert.deepEqual(await eventsOf(payment.id), [
      'payment.created',
      'payment.confirming',
      'payment.completed',
    ])
  }
})

test('a settled payment that is double-spent after a reorganisation fails', async () => {
  const payment = await create('LTC')
  await post(`/sandbox/payments/${payment.id}/pay`, { confirmations: 6 })
  await becomes(payment.id, 'completed')
  await post('/sandbox/reorg', { network: 'litecoin', depth: 6 })
  await post(`/sandbox/payments/${payment.id}/replace`)
  await becomes(payment.id, 'failed')
})

const HELPERS: readonly [path: string, body: unknown][] = [
  ['/sandbox/payments/pay_01k6v3d6yqf5bbt9xgk2v7p8rm/pay', { amount: 7 }],
  ['/sandbox/payments/pay_01k6v3d6yqf5bbt9xgk2v7p8rm/expire', { x: 1 }],
  ['/sandbox/payments/nonsense/replace', undefined],
  ['/sandbox/blocks', { network: 'dogecoin' }],
  ['/sandbox/reorg', undefined],
]

test('a live key gets 403 whatever else is wrong, and so does one without payments:write', async () => {
  const live = await testMerchant(gateway.db, { mode: 'live' })
  const reader = await testKey(gateway.db, account, ['payments:read'])
  for (const [path, body] of HELPERS) {
    const refused = await call(app, live.key, 'POST', path, { body })
    assert.deepEqual([refused.status, refused.error.reason], [403, 'test_accounts_only'])
    const unscoped = await call(app, reader, 'POST', path, { body })
    assert.deepEqual([unscoped.status, unscoped.error.reason], [403, 'missing_scope'])
    const anonymous = await call(app, null, 'POST', path, { body })
    assert.equal(anonymous.status, 401)
  }
})

test('what is out of range gets 400 with the field named, and moves no chain', async () => {
  const heights = () => Promise.all(ports.map(async (port) => (await port.tip()).height))
  const before = await heights()
  const { id } = await create('LTC')
  const wrong: [string, unknown, string][] = [
    [`/sandbox/payments/${id}/pay`, { amount: '0' }, 'amount'],
    [`/sandbox/payments/${id}/pay`, { amount: '0.000000001' }, 'amount'],
    [`/sandbox/payments/${id}/pay`, { amount: 1 }, 'amount'],
    [`/sandbox/payments/${id}/pay`, { confirmations: -1 }, 'confirmations'],
    [`/sandbox/payments/${id}/pay`, { confirmations: 1_001 }, 'confirmations'],
    [`/sandbox/payments/${id}/pay`, { confirmations: 1.5 }, 'confirmations'],
    [`/sandbox/payments/${id}/pay`, { blocks: 1 }, 'blocks'],
    ['/sandbox/blocks', { count: 1 }, 'network'],
    ['/sandbox/blocks', { network: 'bitcoin', count: 0 }, 'count'],
    ['/sandbox/blocks', { network: 'bitcoin', count: 101 }, 'count'],
    ['/sandbox/reorg', { network: 'bitcoin', depth: 0 }, 'depth'],
    ['/sandbox/reorg', { network: 'bitcoin', depth: 101 }, 'depth'],
  ]
  for (const [path, body, field] of wrong) {
    const answer = await call(app, key, 'POST', path, { body })
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(
      answer.error.details.map((detail: { field: string }) => detail.field),
      [field],
    )
  }
  assert.deepEqual(await heights(), before)
})

test("nobody moves another account's payment", async () => {
  const { id } = await create('LTC')
  const stranger = await testMerchant(gateway.db)
  for (const helper of ['pay', 'expire', 'replace']) {
    for (const unknown of [id, 'pay_01k6v3d6yqf5bbt9xgk2v7p8rm', 'nonsense']) {
      const answer = await call(app, stranger.key, 'POST', `/sandbox/payments/${unknown}/${helper}`)
      assert.deepEqual([answer.status, answer.error.reason], [404, 'payment_not_found'])
    }
  }
})

test('a request sent again under its Idempotency-Key pays once', async () => {
  const { id } = await create('LTC')
  const headers = { 'idempotency-key': 'pay once' }
  const answers = []
  for (let attempt = 0; attempt < 3; attempt++) {
    answers.push((await call(app, key, 'POST', `/sandbox/payments/${id}/pay`, { headers, body: {} })).text)
  }
  assert.equal(new Set(answers).size, 1)
  await post('/sandbox/blocks', { network: 'litecoin', count: 6 })
  assert.equal((await becomes(id, 'completed')).deposits.length, 1)
})

test('a withdrawal of every coin arrives, and the hot wallet has the gas for it', async () => {
  const asked: string[] = []
  for (const [asset, amount, destination_address] of [
    ['BTC', '0.001', 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx'],
    ['LTC', '0.5', 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'],
    ['ETH', '0.01', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['USDC', '20', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
    ['USDT', '20', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'],
  ] as const) {
    const { id } = await create(asset)
    await post(`/sandbox/payments/${id}/pay`, { confirmations: ASSET_FACTS[asset].confirmations })
    await becomes(id, 'completed')
    const withdrawal = await post('/withdrawals', { asset, amount, destination_address })
    assert.ok(['requested', 'broadcast'].includes(withdrawal.status))
    asked.push(withdrawal.id)
  }
  await until('every withdrawal is completed', async () => {
    for (const network of NETWORKS) await post('/sandbox/blocks', { network })
    const answer: ApiAnswer = await call(app, key, 'GET', '/withdrawals')
    const statuses = asked.map((id) => answer.data.find((each: { id: string }) => each.id === id).status)
    return statuses.every((status) => status === 'completed')
  })
})

test('the books balance after all of this', async () => {
  for (const network of NETWORKS) await post('/sandbox/blocks', { network, count: 20 })
  const { id } = await create('LTC')
  await post(`/sandbox/payments/${id}/pay`)
  await becomes(id, 'detected')
  const { differences } = await reconcile(gateway.db, ports)
  assert.deepEqual(differences, [])
  // The provers ran beside all of it.
  const { rows: frozen } = await gateway.db.query('select chain, asset, reason from freezes')
  assert.deepEqual(frozen, [])
  const { rows: proven } = await gateway.db.query('select chain from proven_blocks')
  assert.equal(proven.length, ports.length)
})
