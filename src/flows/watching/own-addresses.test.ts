import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { testGateway, testPayment } from '../../../test/gateway.ts'
import { DESTINATIONS } from '../../../test/payout-story.ts'
import { tellStory } from '../../../test/story.ts'
import { waitFor } from '../../../test/wait-for.ts'
import { listAlerts } from '../../alerts/alerts.sql.ts'
import { mint } from '../../chains/simulated/ledger.ts'
import { lookupOf } from '../../chains/simulated/network.ts'
import { TamperedRow } from '../../core/errors.ts'
import { AT_ONCE, type SpareTime } from '../../core/spare-time.ts'
import { startWatcher } from '../../workers/watch.ts'
import { matchOwn, matchOwnAddresses } from './own-addresses.sql.ts'

test('ours are found wherever they stand among the outputs of the largest block', async () => {
  const { db } = await testGateway()
  const { rows } = await db.query<{ lookup: Buffer }>(
    `select lookup from addresses where chain = 'sim-litecoin' and payment_id is null limit 4`,
  )
  const ours = rows.map(({ lookup }) => lookup)
  assert.equal(ours.length, 4)
  const lookups: Buffer[] = Array.from({ length: 32_000 }, (_, n) => randomBytes(n % 3 === 0 ? 34 : 22))
  for (const [n, at] of [0, 15_999, 16_000, 31_999].entries()) lookups[at] = ours[n] ?? Buffer.alloc(0)
  const transactions = lookups.map((lookup, n) => ({
    key: String(n),
    hash: null,
    outputs: [{ lookup, index: 0, asset: 'LTC' as const, atoms: 1n }],
    inputs: [],
  }))
  const own = await matchOwnAddresses(db, 'sim-litecoin', transactions)
  assert.deepEqual(
    lookups.flatMap((lookup, at) => (own.find(lookup) === undefined ? [] : [at])),
    [0, 15_999, 16_000, 31_999],
  )
  assert.deepEqual(
    own.paying.map(({ key }) => key),
    ['0', '15999', '16000', '31999'],
  )
  const none = await matchOwnAddresses(db, 'sim-litecoin', [])
  assert.deepEqual([none.paying, none.find(lookups[0] ?? Buffer.alloc(0))], [[], undefined])
})

for (const chain of ['sim-litecoin', 'sim-ethereum'] as const)
  test(`whoever puts a script of his own beside an address of ${chain} is credited nothing for what he sends himself, and the operator is told`, async () => {
    const story = await tellStory({ chain })
    const { gateway, account } = story
    const asset = chain === 'sim-ethereum' ? 'ETH' : 'LTC'
    const payment = await testPayment(gateway, account, { asset })
    const { rows } = await gateway.db.query<{ lookup: Buffer }>(
      'select lookup from addresses where chain = $1 and address = $2',
      [chain, payment.address],
    )
    const [own, his] = [rows[0]?.lookup, lookupOf(chain, DESTINATIONS[chain])]
    assert.ok(own && his)
    const put = (lookup: Uint8Array) =>
      gateway.db.query('update addresses set lookup = $1 where chain = $2 and address = $3', [
        Buffer.from(lookup),
        chain,
        payment.address,
      ])
    await put(his)
    await story.storage.change((store) => mint(store, { lookup: his, asset, atoms: payment.dueAtoms }))
    await story.mine(20)
    await assert.rejects(story.watch(), TamperedRow)
    await gateway.db.query('update chains set lease_until = null where chain = $1', [chain])
    const watcher = startWatcher(gateway, story.port, { idleMs: 10 })
    const alert = await waitFor('an alert', async () => {
      const told = await listAlerts(gateway.db, { all: false, limit: 10 })
      return told.find(({ kind }) => kind === 'row_tampered') ?? null
    })
    assert.equal(alert.subject, chain)
    await watcher.stop()
    assert.equal((await story.read(payment)).status, 'pending')
    assert.equal(await story.balance('available'), 0n)

    await put(own)
    await gateway.db.query('update chains set lease_until = null where chain = $1', [chain])
    const again = startWatcher(gateway, story.port, { idleMs: 10 })
    await waitFor('the chain is followed again', async () => {
      const { rows } = await gateway.db.query<{ height: number }>(
        'select tip_height::int as height from chains where chain = $1',
        [chain],
      )
      return rows[0]?.height === (await story.port.tip()).height ? true : null
    })
    await again.stop()
    assert.equal((await story.read(payment)).status, 'pending', 'what went to him is no deposit')
  })

test('of what a block spends, ours is found, and what a deposit that waits spends as well', async () => {
  const { db } = await testGateway()
  const [utxo, waiting] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  await db.query(
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height) values ('sim-litecoin', $1, 0, '\\x51', 1, 1)`,
    [utxo],
  )
  await db.query(
    `insert into deposit_inputs (chain, spent_tx, spent_index, tx_key) values ('sim-litecoin', $1, 2, 'waits')`,
    [waiting],
  )
  const spent = Array.from({ length: 20_000 }, () => randomBytes(32).toString('hex'))
  spent[1] = utxo
  // Another's, whose id begins like ours.
  spent[2] = utxo.slice(0, 32) + randomBytes(16).toString('hex')
  spent[19_998] = waiting
  // Each spends two, of which the second concerns nobody.
  const transactions = spent.map((txid, n) => ({
    key: String(n),
    hash: null,
    outputs: [],
    inputs: [
      { txid, index: 2 },
      { txid: '00'.repeat(32), index: n },
    ],
  }))
  const ours = [
    { txKey: '1', spentTx: utxo, spentIndex: 2 },
    { txKey: '19998', spentTx: waiting, spentIndex: 2 },
  ]
  assert.deepEqual((await matchOwn(db, 'sim-litecoin', transactions)).spends, ours)
  // On a busy machine, in steps.
  const parts: number[] = []
  const spareTime: SpareTime = {
    ...AT_ONCE,
    async spend(count, _atOnce, work) {
      parts.push(count)
      const found = []
      for (let first = 0; first < count; first += 999)
        found.push(await work(first, Math.min(first + 999, count)))
      return found
    },
  }
  assert.deepEqual((await matchOwn(db, 'sim-litecoin', transactions, { spareTime })).spends, ours)
  assert.deepEqual(parts, [0, 40_000])
})

test('what a block brings us and spends again at once is among what it spends', async () => {
  const { db } = await testGateway()
  const { rows } = await db.query<{ lookup: Buffer }>(
    `select lookup from addresses where chain = 'sim-litecoin' and payment_id is null limit 1`,
  )
  const lookup = rows[0]?.lookup
  assert.ok(lookup)
  const [theirs, ours] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')]
  const paying = {
    key: ours,
    hash: null,
    outputs: [{ lookup, index: 0, asset: 'LTC' as const, atoms: 1n }],
    inputs: [{ txid: theirs, index: 1 }],
  }
  const spending = { key: 'next', hash: null, outputs: [], inputs: [{ txid: ours, index: 0 }] }
  // Another one of which nobody knew, and which the deposit displaces, or it the deposit.
  const rival = { key: 'rival', hash: null, outputs: [], inputs: [{ txid: theirs, index: 1 }] }
  const { spends } = await matchOwn(db, 'sim-litecoin', [paying, spending, rival])
  assert.deepEqual(spends, [
    { txKey: ours, spentTx: theirs, spentIndex: 1 },
    { txKey: 'next', spentTx: ours, spentIndex: 0 },
    { txKey: 'rival', spentTx: theirs, spentIndex: 1 },
  ])
})

test('what a block spends is found by an index, and where PostgreSQL has not counted by no index of the whole chain', async () => {
  const { db } = await testGateway()
  await db.query('alter table utxos set (autovacuum_enabled = off)')
  await db.query(
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
     select 'sim-litecoin', encode(sha256(int8send(n)), 'hex'), 0, '\\x51', 1, 1 from generate_series(1, 50000) n`,
  )
  const transactions = Array.from({ length: 3_000 }, (_, n) => ({
    key: String(n),
    hash: null,
    outputs: [],
    inputs: [{ txid: randomBytes(32).toString('hex'), index: 0 }],
  }))
  const planOf = async (): Promise<string> => {
    const plans: string[] = []
    const explained = {
      ...db,
      async query(text: string, values: readonly unknown[]) {
        if (text.includes('from utxos')) {
          const { rows } = await db.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, values)
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'))
        }
        return db.query(text, values)
      },
    } as typeof db
    await matchOwn(explained, 'sim-litecoin', transactions)
    assert.equal(plans.length, 1)
    return plans.join()
  }
  assert.doesNotMatch(await planOf(), /utxos_pkey/)
  await db.query('analyze utxos')
  assert.match(await planOf(), /utxos_by_head/)
})
