/** A signer beside a database that was restored from a backup, or lost rows, and one that died between two writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PAYOUT_CONFIRMATIONS, tellPayouts } from '../../test/payout-story.ts'
import { signAll } from '../../test/payouts.ts'
import { wishBump } from '../withdrawals/signed-transactions.sql.ts'
import { place } from './place.sql.ts'
import { signerTurn } from './signer.ts'

const OTHER = 'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7'

const CASES = [
  ['sim-bitcoin', 'BTC', '0.005'],
  ['sim-litecoin', 'LTC', '0.5'],
  ['sim-ethereum', 'ETH', '0.1'],
] as const

for (const [chain, asset, amount] of CASES)
  for (const mined of [false, true])
    test(`${asset}: a restored database that forgot a payout ${mined ? 'in a block' : 'on its way'} pays nobody twice`, async () => {
      const story = await tellPayouts(chain)
      await story.earn(asset, 500_000n)
      for (let round = 0; chain === 'sim-ethereum' && round < 3; round++) await story.mineAndTurn(12)
      const withdrawal = await story.request(asset, amount)
      await story.turn()
      const { txHash } = await story.now(withdrawal)
      assert.ok(txHash)
      const { rows: before } = await story.gateway.db.query<{ txid: string }>(
        `select txid from signed_transactions where kind = 'payout'`,
      )
      await story.forgetSigned()
      if (mined) {
        await story.mine(PAYOUT_CONFIRMATIONS[chain] + 1)
        await story.look()
      }
      assert.equal((await story.now(withdrawal)).status, 'requested')
      await story.turn()
      await story.turn()
      if (!mined) await story.mineAndTurn(PAYOUT_CONFIRMATIONS[chain])
      const completed = await story.now(withdrawal)
      assert.equal(completed.status, 'completed')
      assert.equal(completed.txHash, txHash)
      const { rows: after } = await story.gateway.db.query<{ txid: string }>(
        `select txid from signed_transactions where kind = 'payout'`,
      )
      assert.deepEqual(after, before, 'nothing else was signed')
      const { rows: alerts } = await story.gateway.db.query(
        `select from alerts where kind = 'signed_transaction_restored'`,
      )
      assert.equal(alerts.length, 1)
      await story.proveBooks()
    })

test('a bumped payout that the database forgot comes back with its replacement', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const withdrawal = await story.request('BTC', '0.005')
  await story.turn()
  const first = (await story.now(withdrawal)).txHash
  assert.ok(first && (await wishBump(story.gateway.db, 'sim-bitcoin', first)))
  await story.turn()
  const second = (await story.now(withdrawal)).txHash
  await story.forgetSigned()
  await story.mineAndTurn(1)
  await story.mineAndTurn(2)
  const completed = await story.now(withdrawal)
  assert.deepEqual([completed.status, completed.txHash], ['completed', second])
  await story.proveBooks()
})

test('what can not be put back waits; its hold is never given back and nothing else is signed for it', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const withdrawal = await story.request('BTC', '0.005')
  await story.turn()
  const [line] = await story.signer.journal.payingFor(`${withdrawal.accountId}/${withdrawal.id}`)
  assert(line)
  await story.forgetSigned()
  // Another signer, with a journal of its own, chose the same coins in the restored database.
  await story.gateway.db.query(
    `insert into signed_transactions (chain, txid, line, kind, raw, asset, value_atoms, fee_atoms, fee_rate)
     values ('sim-bitcoin', 'other', 'other', 'payout', '', 'BTC', 1, 1, 1000)`,
  )
  await story.gateway.db.query(`update coins set reserved_by = 'other'`)
  for (let turn = 0; turn < 3; turn++) await signAll(story.signer)
  const waiting = await story.now(withdrawal)
  assert.deepEqual([waiting.status, waiting.refusedReason], ['requested', null])
  const { rows } = await story.gateway.db.query<{ txid: string }>('select txid from signed_transactions')
  assert.deepEqual(rows, [{ txid: 'other' }])
  assert.equal(await story.balance('held'), withdrawal.amountAtoms)
})

test('bytes that the journal does not know as placed are never sent, and void ones are replaced', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const withdrawal = await story.request('BTC', '0.005')
  // The signer dies after its rows are committed and before the journal says so.
  const { journal } = story.signer
  const died = { ...journal, placed: () => Promise.reject(new Error('killed')) }
  await signerTurn({ ...story.signer, journal: died })
  await story.turnPayer()
  assert.equal((await story.now(withdrawal)).status, 'requested', 'nothing was sent')
  const [unsettled] = journal.unsettled()
  assert(unsettled)
  // The database is restored to before that, and the coins go elsewhere.
  await story.forgetSigned()
  await story.gateway.db.query(`update coins set reserved_by = null, spent_by = 'else', spent_height = 1`)
  await signAll(story.signer)
  assert.deepEqual(journal.unsettled(), [])
  await story.gateway.db.query(`update coins set spent_by = null, spent_height = null`)
  await signAll(story.signer)
  await story.turn()
  const paid = await story.now(withdrawal)
  assert.equal(paid.status, 'broadcast')
  await story.mineAndTurn(2)
  const outputs = await story.outputsOf(paid.txHash ?? '')
  assert.equal(outputs.filter((output) => output.atoms === withdrawal.netAtoms).length, 1)
  assert.equal(
    await place(story.gateway.db, unsettled, null),
    unsettled.txid === paid.txHash ? 'placed' : 'taken',
  )
  await story.proveBooks()
})

test('a line whose rows were swapped is bumped to what was signed, not to what the rows say', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 650_000n)
  const mine = await story.request('BTC', '0.001')
  await story.turn()
  const other = await story.request('BTC', '0.05', OTHER)
  const first = (await story.now(mine)).txHash
  assert.ok(first)
  await story.gateway.db.query('update signed_payouts set withdrawal_id = $2 where withdrawal_id = $1', [
    mine.id,
    other.id,
  ])
  assert.ok(await wishBump(story.gateway.db, 'sim-bitcoin', first))
  await signAll(story.signer)
  await story.turnPayer()
  await story.mine(1)
  const { rows } = await story.gateway.db.query<{ txid: string }>(
    `select txid from signed_transactions where kind = 'replacement'`,
  )
  const outputs = await story.outputsOf(rows[0]?.txid ?? '')
  assert.ok(outputs.some((output) => output.atoms === mine.netAtoms))
  assert.ok(!outputs.some((output) => output.atoms === other.netAtoms))
})
