/** Withdrawals on the simulated chain, from request to confirmation. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PAYOUT_CONFIRMATIONS, tellPayouts } from '../../test/payout-story.ts'
import { wishBump } from '../withdrawals/signed-transactions.sql.ts'
import type { Withdrawal } from '../withdrawals/withdrawal.ts'

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
  const withdrawal = await story.request('BTC', '0.005')
  await story.turn()
  const first = (await story.now(withdrawal)).txHash
  assert.ok(first && (await wishBump(story.gateway.db, 'sim-bitcoin', first)))
  await story.turn()
  const second = (await story.now(withdrawal)).txHash
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
  const withdrawal = await story.request('LTC', '2')
  await story.turn()
  const first = (await story.now(withdrawal)).txHash
  assert.ok(first && (await wishBump(story.gateway.db, 'sim-litecoin', first)))
  await story.turn()
  assert.ok(await wishBump(story.gateway.db, 'sim-litecoin', first))
  await story.turn()
  assert.equal((await story.now(withdrawal)).txHash, first)
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
    const withdrawal = await story.request('BTC', '0.005')
    await story.turn()
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
  const asked = [await story.request('ETH', '0.1'), await story.request('ETH', '0.2')]
  await story.turn()
  const first = (await story.now(asked[0] as Withdrawal)).txHash
  assert.ok(first && (await wishBump(story.gateway.db, 'sim-ethereum', first)))
  await story.turn()
  const second = (await story.now(asked[0] as Withdrawal)).txHash
  assert.ok(second && second !== first)
  await story.mineAndTurn(12)
  for (const each of asked) assert.equal((await story.now(each)).status, 'completed')
  await story.proveBooks()
})
