/** Withdrawals on the simulated chain, from request to confirmation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPayment } from '../../../test/gateway.ts'
import { PAYOUT_CONFIRMATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { withDescendants } from '../../chains/simulated/ledger.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { freeze, listFreezes } from '../../ledger/freezes.sql.ts'
import { proveBlock } from '../../proof/prove-block.ts'
import { wishBump, wishBumps } from '../../treasury/signed-transactions.sql.ts'
import { listUtxoAtoms, sumUtxos } from '../../treasury/utxos.sql.ts'
import { currentWallets } from '../../wallets/wallets.sql.ts'
import { confirmSigned } from './confirm-withdrawal.ts'

for (const [chain, asset, amount] of [
  ['sim-bitcoin', 'BTC', '0.005'],
  ['sim-litecoin', 'LTC', '0.5'],
] as const) {
  test(`${asset}: a withdrawal arrives to the atom, is announced once, and the books balance`, async () => {
    const story = await tellPayouts(chain)
    await story.earn(asset, 65_000n)
    const withdrawal = await story.request(asset, amount)
    await story.proveBooks()
    await story.turn()
    const broadcast = await story.now(withdrawal)
    assert.equal(broadcast.status, 'broadcast')
    assert.ok(broadcast.txHash)
    await story.proveBooks()
    await story.mineAndTurn(1)
    assert.equal((await story.now(withdrawal)).status, 'broadcast')
    await story.proveBooks()
    await story.mineAndTurn(PAYOUT_CONFIRMATIONS[chain])
    const completed = await story.now(withdrawal)
    assert.equal(completed.status, 'completed')
    assert.ok(completed.completedAt)
    const outputs = await story.outputsOf(broadcast.txHash)
    assert.equal(outputs.filter((output) => output.atoms === withdrawal.netAtoms).length, 1)
    assert.deepEqual(
      (await story.events()).filter((type) => type.startsWith('payout')),
      ['payout.completed'],
    )
    await story.proveBooks()
    await story.mineAndTurn(1)
    assert.equal((await story.events()).filter((type) => type.startsWith('payout')).length, 1)
  })
}

test('withdrawals that wait together go out in one transaction', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 650_000n)
  const asked = []
  for (let count = 0; count < 10; count++) asked.push(await story.request('BTC', `0.00${count + 1}`))
  await story.turn()
  const hashes = await Promise.all(asked.map(async (each) => (await story.now(each)).txHash))
  assert.equal(new Set(hashes).size, 1)
  await story.mineAndTurn(2)
  for (const each of asked) assert.equal((await story.now(each)).status, 'completed')
  await story.proveBooks()
})

test('a replacement pays the same destinations once, and its id takes the place of the first', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal, txHash: first } = await story.send('BTC', '0.005')
  const second = await story.bump(withdrawal)
  assert.ok(second && second !== first)
  await story.mineAndTurn(2)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  assert.equal(await story.port.findTransaction(first), null)
  const outputs = await story.outputsOf(second)
  assert.equal(outputs.filter((output) => output.atoms === withdrawal.netAtoms).length, 1)
  await story.proveBooks()
})

test('Litecoin: a child pays for its parent, whose id stays', async () => {
  const story = await tellPayouts('sim-litecoin')
  await story.earn('LTC', 65_000n)
  const { withdrawal, txHash: first } = await story.send('LTC', '2')
  await story.bump(withdrawal)
  assert.equal(await story.bump(withdrawal), first)
  const { rows } = await story.gateway.db.query<{ kind: string }>(
    'select kind from signed_transactions where sent_at is not null order by created_at',
  )
  assert.deepEqual(
    rows.map((row) => row.kind),
    ['payout', 'child', 'child'],
  )
  await story.mineAndTurn(6)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  await story.proveBooks()
  const second = await story.request('LTC', '1')
  await story.turn()
  assert.equal((await story.now(second)).status, 'broadcast', 'the change of the last child pays the next')
})

for (const depth of [1, 3]) {
  test(`a reorganisation of ${depth} takes the payout's block: it is sent again and completes once`, async () => {
    const story = await tellPayouts('sim-bitcoin')
    await story.earn('BTC', 65_000n)
    const { withdrawal } = await story.send('BTC', '0.005')
    await story.mineAndTurn(1)
    if (depth === 3) {
      await story.mineAndTurn(2)
      assert.equal((await story.now(withdrawal)).status, 'completed')
    }
    await story.reorganise(depth)
    await story.look()
    await story.turn()
    await story.proveBooks()
    await story.mineAndTurn(3)
    assert.equal((await story.now(withdrawal)).status, 'completed')
    assert.equal((await story.events()).filter((type) => type === 'payout.completed').length, 1)
    await story.proveBooks()
  })
}

test('a payout that was buried, and whose coin a deep reorganisation gave to another transaction, costs nothing and fails', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { gateway, account } = story
  const payment = await testPayment(gateway, account, { asset: 'BTC', fiatMinor: 65_000n })
  const deposit = await story.payAndConfirm(payment, payment.dueAtoms)
  const { withdrawal } = await story.send('BTC', '0.005')
  await story.mineAndTurn(3)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  const bookedFees = async () => {
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      'select sum(booked_fee_atoms) as atoms from signed_transactions',
    )
    return rows[0]?.atoms
  }
  assert.notEqual(await bookedFees(), 0n, 'what the network took is booked')

  await story.reorganise(5)
  assert.ok(await story.replace(deposit))
  for (let block = 0; block < 8; block++) {
    await story.mine(1)
    await story.look()
    // Nothing is given up before the block is proven.
    await proveBlock(gateway, story.port)
    await story.turn()
  }
  assert.equal((await story.now(withdrawal)).status, 'failed')
  assert.equal(await bookedFees(), 0n)
  assert.deepEqual(await listFreezes(gateway.db), [])
  await story.proveBooks()
})

test('a payout whose coin a reorganisation took for good is told of, never bumped, and its change not counted on; it ends once the coin is back', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { gateway, account, storage } = story
  const payment = await testPayment(gateway, account, { asset: 'BTC', fiatMinor: 65_000n })
  const deposit = await story.payAndConfirm(payment, payment.dueAtoms)
  const { withdrawal, txHash } = await story.send('BTC', '0.005')
  await story.mineAndTurn(1)
  const [wallet] = (await currentWallets(gateway.db, gateway.secrets)).filter(
    ({ chain }) => chain === 'sim-bitcoin',
  )
  assert.ok(wallet)
  const change = () => sumUtxos(gateway.db, { chain: 'sim-bitcoin', series: wallet.series })
  const stranded = async () =>
    (
      await gateway.db.query<{ subject: string; message: string }>(
        "select subject, message from alerts where kind = 'payout_stranded'",
      )
    ).rows
  const signed = async () =>
    (await gateway.db.query<{ status: string }>('select status from signed_transactions')).rows.map(
      ({ status }) => status,
    )
  assert.ok((await change()) > 0n)

  await story.reorganise(5)
  // What it was made of was spent elsewhere: every mempool loses it, and what spends it.
  const [lost] = [...(await storage.reads.transactions([deposit])).values()]
  assert.ok(lost)
  await storage.change(async (store) =>
    store.removeFromMempool(await withDescendants(store, [lost.transaction])),
  )
  await story.look()
  // Its block is missed in the first turn, it is sent again in the second.
  for (let time = 0; time < 2; time++) await story.turn()
  assert.deepEqual(await signed(), ['refused'])
  assert.deepEqual(await stranded(), [], 'it may come back at once')
  assert.equal(await change(), 0n)
  assert.equal(await wishBump(gateway.db, 'sim-bitcoin', txHash), true)
  await story.mineAndTurn(6)
  assert.deepEqual(await signed(), ['refused'], 'none is signed')
  const [alert, ...others] = await stranded()
  assert.equal(alert?.subject, `sim-bitcoin:${txHash}`)
  assert.ok(alert?.message.includes(`${deposit}:0`))
  assert.deepEqual(others, [])
  await gateway.db.query(
    "update signed_transactions set bump_wanted = false, fee_rate = 1, created_at = created_at - interval '1 day'",
  )
  assert.equal(
    await wishBumps(gateway.db, 'sim-bitcoin', { afterMs: 1, rate: 2n }),
    0,
    'nor is one wished for',
  )

  await storage.change((store) => store.addToMempool(lost.transaction))
  await story.mineAndTurn(1)
  await gateway.db.query('update signed_transactions set send_at = now()')
  await story.turn()
  assert.ok((await change()) > 0n)
  await story.mineAndTurn(2)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  await story.proveBooks()
})

test('change of what was displaced is no coin that a payout could be priced for', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { gateway } = story
  await story.earn('BTC', 65_000n)
  const [wallet] = (await currentWallets(gateway.db, gateway.secrets)).filter(
    ({ chain }) => chain === 'sim-bitcoin',
  )
  assert.ok(wallet)
  const coins = () =>
    listUtxoAtoms(gateway.db, { chain: 'sim-bitcoin', series: wallet.series, least: 0n, limit: 10 })
  const before = await coins()
  assert.equal(before.length, 1)
  const { withdrawal } = await story.send('BTC', '0.001')
  const [first] = await coins()
  assert.ok(first, 'its change comes')
  await story.bump(withdrawal)
  const bumped = await coins()
  assert.equal(bumped.length, 1, 'of the two only one is mined')
  assert.ok((bumped[0] ?? 0n) < first, 'the one that costs more')
  await story.mine(1)
  await story.turnPayer()
  assert.deepEqual(await coins(), bumped, 'the payer saw its block, the watcher did not')
  await story.look()
  await story.mineAndTurn(3)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  assert.deepEqual(await coins(), bumped)
  assert.equal(await sumUtxos(gateway.db, { chain: 'sim-bitcoin', series: wallet.series }), bumped[0])
})

test('Ethereum: deposits are swept, then ether and tokens are paid from the hot wallet', async () => {
  const story = await tellPayouts('sim-ethereum')
  await story.earn('ETH', 500_000n)
  await story.earn('USDC', 50_000n)
  const ether = await story.request('ETH', '0.5')
  const token = await story.request('USDC', '100')
  for (let round = 0; round < 6; round++) {
    await story.turn()
    await story.mineAndTurn(1)
    await story.proveBooks()
  }
  assert.equal((await story.now(ether)).status, 'broadcast')
  await story.mineAndTurn(12)
  await story.mineAndTurn(12)
  await story.mineAndTurn(12)
  for (const each of [ether, token]) {
    const now = await story.now(each)
    assert.equal(now.status, 'completed')
    assert.ok(now.txHash)
    const outputs = await story.outputsOf(now.txHash)
    assert.deepEqual(
      outputs.map((output) => output.atoms),
      [each.netAtoms],
    )
  }
  await story.proveBooks()
  const { rows } = await story.gateway.db.query('select status from sweeps')
  assert.deepEqual(
    rows.map((row) => row),
    [{ status: 'done' }, { status: 'done' }],
  )
})

test('Ethereum: a stuck nonce is replaced at a higher fee, and pays once', async () => {
  const story = await tellPayouts('sim-ethereum')
  await story.earn('ETH', 500_000n)
  for (let round = 0; round < 3; round++) {
    await story.turn()
    await story.mineAndTurn(6)
  }
  const later = await story.request('ETH', '0.2')
  const { withdrawal, txHash: first } = await story.send('ETH', '0.1')
  const second = await story.bump(withdrawal)
  assert.ok(second && second !== first)
  await story.mineAndTurn(12)
  for (const each of [withdrawal, later]) assert.equal((await story.now(each)).status, 'completed')
  await story.proveBooks()
})

/** Transactions that were sent before any other and that nobody will ever find. */
const LOST = `insert into signed_transactions (chain, txid, replacement_set, kind, status, asset, value_atoms, fee_atoms, fee_rate,
    created_at, since_height)
  select 'sim-bitcoin', 'lost-' || n, 'lost-' || n, 'payout', 'recovered', 'BTC', 1, 1, 1000, now() - interval '1 day', 1
  from generate_series(1, 1100) n`

test('however many transactions are under way, each is looked at', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  await story.gateway.db.query(LOST)
  const { withdrawal } = await story.send('BTC', '0.005')
  await story.mineAndTurn(PAYOUT_CONFIRMATIONS['sim-bitcoin'])
  assert.equal((await story.now(withdrawal)).status, 'completed')
})

test('what the node refuses, however much it is, holds up nothing that is sent for the first time', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  await story.gateway.db.query(LOST)
  await story.gateway.db.query(
    `update signed_transactions set status = 'refused', raw = '00', refusal = 'it is refused',
       send_at = now() - interval '1 hour'`,
  )
  const { withdrawal } = await story.send('BTC', '0.005')
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
})

test('a transaction that the node can not tell of holds up no other; a node that does not answer holds up all', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  await story.gateway.db.query(`${LOST} limit 1`)
  const { withdrawal, txHash } = await story.send('BTC', '0.005')
  await story.mine(PAYOUT_CONFIRMATIONS['sim-bitcoin'])
  await story.look()
  const asked: string[] = []
  const fail = () => Promise.reject(new OutsideFailure('the block is pruned', { retryable: true }))
  const port = {
    ...story.port,
    findTransaction: (txid: string) => {
      asked.push(txid)
      return txid === txHash ? story.port.findTransaction(txid) : fail()
    },
  }
  let isDown = false
  const dying = { ...port, tip: () => (isDown ? fail() : story.port.tip()) }
  dying.findTransaction = (txid) => {
    isDown = true
    return port.findTransaction(txid)
  }
  await assert.rejects(confirmSigned(story.gateway, dying), { message: 'the block is pruned' })
  assert.deepEqual(asked, ['lost-1'])
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
  await assert.rejects(confirmSigned(story.gateway, port), { message: 'the block is pruned' })
  assert.equal((await story.now(withdrawal)).status, 'completed')
})

test('while a coin is frozen no hold is given back for coins that somebody else seems to have spent', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal } = await story.send('BTC', '0.005')
  await story.gateway.db.query(
    `update utxos set spent_by = 'unknown', spent_height = 0 where reserved_by is not null`,
  )
  await story.turnPayer()
  assert.equal((await story.now(withdrawal)).status, 'broadcast', 'nor before the block is proven')
  await story.gateway.db.query(
    `insert into proven_blocks (chain, height, hash, slice_after) select chain, tip_height, tip_hash, '' from chains
     where chain = 'sim-bitcoin' on conflict (chain) do update set height = excluded.height, hash = excluded.hash`,
  )
  await freeze(story.gateway.db, 'sim-bitcoin', 'BTC', 'restored')
  await story.turnPayer()
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
  await story.gateway.db.query('delete from freezes')
  // Nor when it freezes after it was looked for.
  const { db } = story.gateway
  const freezing: typeof db = {
    ...db,
    transaction: async (work) => {
      await freeze(db, 'sim-bitcoin', 'BTC', 'restored')
      return db.transaction(work)
    },
  }
  await confirmSigned({ ...story.gateway, db: freezing }, story.port)
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
  await story.gateway.db.query('delete from freezes')
  await story.turnPayer()
  assert.equal((await story.now(withdrawal)).status, 'failed')
})
