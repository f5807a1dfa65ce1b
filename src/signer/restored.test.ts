/** A signer beside a database that was restored from a backup, or lost rows, and one that died between two writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPayment } from '../../test/gateway.ts'
import { PAYOUT_CONFIRMATIONS, tellPayouts } from '../../test/payout-story.ts'
import { signAll } from '../../test/payouts.ts'
import { nameOf } from '../treasury/signed-entry.ts'
import { wishBump } from '../treasury/signed-transactions.sql.ts'
import { commit } from './context.ts'
import { place } from './place.ts'
import { putBackBumps } from './put-back.ts'
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
      const { withdrawal, txHash } = await story.send(asset, amount)
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
  const { withdrawal } = await story.send('BTC', '0.005')
  const second = await story.bump(withdrawal)
  await story.forgetSigned()
  await story.mineAndTurn(1)
  await story.mineAndTurn(2)
  const completed = await story.now(withdrawal)
  assert.deepEqual([completed.status, completed.txHash], ['completed', second])
  await story.proveBooks()
})

test('coins that the watcher reads again only after their payout was put back are kept for it', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { db } = story.gateway
  await story.earn('BTC', 65_000n)
  const { txHash } = await story.send('BTC', '0.005')
  await story.forgetSigned()
  const columns = 'chain, txid, output_index, lookup, atoms, block_height'
  await db.query(`create table later as select ${columns} from utxos`)
  await db.query('delete from utxos')
  await signAll(story.signer)
  await story.request('BTC', '0.003')
  const warned: unknown[] = []
  const log = { ...story.signer.log, warn: ({ what }: { what?: string }) => warned.push(what) }
  for (let turn = 0; turn < 2; turn++) await signerTurn({ ...story.signer, log })
  assert.equal(warned.filter((what) => what === txHash).length, 1)
  await db.query(`insert into utxos (${columns}) select * from later on conflict do nothing`)
  await signAll(story.signer)
  const { rows: reserved } = await db.query(
    'select distinct reserved_by as by from utxos where block_height is not null',
  )
  assert.deepEqual(reserved, [{ by: txHash }])
  const { rows: signed } = await db.query('select txid from signed_transactions')
  assert.deepEqual(signed, [{ txid: txHash }], 'nothing else was paid with them')
})

test('what can not be put back waits; its hold is never given back and nothing else is signed for it', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal } = await story.send('BTC', '0.005')
  const [replacementSet] = await story.signer.journal.payingFor(nameOf(withdrawal))
  assert(replacementSet)
  await story.forgetSigned()
  // Another signer, with a journal of its own, chose the same UTXOs in the restored database.
  await story.gateway.db.query(
    `insert into signed_transactions (chain, txid, replacement_set, kind, status, raw, asset, value_atoms, fee_atoms, fee_rate)
     values ('sim-bitcoin', 'other', 'other', 'payout', 'ready', '', 'BTC', 1, 1, 1000)`,
  )
  await story.gateway.db.query(`update utxos set reserved_by = 'other'`)
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
  const { rows: seen } = await story.gateway.db.query('select raw from signed_transactions')
  assert.deepEqual(seen, [{ raw: null }], 'nor seen by the database, which could say that it is void')
  const [pending] = journal.pending()
  assert(pending)
  // The database is restored to before that, and the UTXOs go elsewhere.
  await story.forgetSigned()
  await story.gateway.db.query(`update utxos set reserved_by = null, spent_by = 'else', spent_height = 1`)
  await signAll(story.signer)
  assert.deepEqual(journal.pending(), [])
  await story.gateway.db.query(`update utxos set spent_by = null, spent_height = null`)
  await signAll(story.signer)
  await story.turn()
  const paid = await story.now(withdrawal)
  assert.equal(paid.status, 'broadcast')
  await story.mineAndTurn(2)
  const outputs = await story.outputsOf(paid.txHash ?? '')
  assert.equal(outputs.filter((output) => output.atoms === withdrawal.netAtoms).length, 1)
  assert.equal(
    await place(story.gateway.db, pending, null),
    pending.txid === paid.txHash ? 'placed' : 'taken',
  )
  await story.proveBooks()
})

test('a replacement set whose rows were swapped is bumped to what was signed, not to what the rows say', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 650_000n)
  const { withdrawal: mine, txHash: first } = await story.send('BTC', '0.001')
  const other = await story.request('BTC', '0.05', OTHER)
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

for (const mined of [false, true])
  test(`a bump that the database forgot comes back to its set ${mined ? 'from a block' : 'on its way'}`, async () => {
    const story = await tellPayouts('sim-bitcoin')
    await story.earn('BTC', 65_000n)
    const { withdrawal, txHash: first } = await story.send('BTC', '0.005')
    const second = await story.forgetBump(withdrawal, first)
    if (mined) {
      await story.mine(PAYOUT_CONFIRMATIONS['sim-bitcoin'])
      await story.look()
    }
    assert.equal(await putBackBumps(story.signer), 1)
    await story.turn()
    if (!mined) await story.mineAndTurn(PAYOUT_CONFIRMATIONS['sim-bitcoin'])
    const completed = await story.now(withdrawal)
    assert.deepEqual([completed.status, completed.txHash], ['completed', second])
    await story.proveBooks()
  })

test('a bump that the database forgot comes back while its signer runs, once the database began another era', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal, txHash: first } = await story.send('BTC', '0.005')
  const second = await story.forgetBump(withdrawal, first)
  await signAll({ ...story.signer, era: 2 })
  await story.mineAndTurn(PAYOUT_CONFIRMATIONS['sim-bitcoin'])
  const completed = await story.now(withdrawal)
  assert.deepEqual([completed.status, completed.txHash], ['completed', second])
  await story.proveBooks()
})

test('Ethereum: a nonce that the journal knows as used is not used again, though the database forgot', async () => {
  const story = await tellPayouts('sim-ethereum')
  await story.earn('ETH', 500_000n)
  for (let round = 0; round < 3; round++) await story.mineAndTurn(12)
  const { withdrawal: forgotten, txHash } = await story.send('ETH', '0.1')
  await story.forgetSigned()
  // It was requested after the backup.
  await story.gateway.db.query('delete from withdrawals where id = $1', [forgotten.id])
  const { withdrawal, txHash: next } = await story.send('ETH', '0.2')
  const nonceOf = async (txid: string) => {
    const entry = await story.signer.journal.entryOf('sim-ethereum', txid)
    return entry && entry.purpose !== 'outputs' ? entry.nonce : assert.fail(txid)
  }
  assert.equal(BigInt(await nonceOf(next)), BigInt(await nonceOf(txHash)) + 1n)
  await story.mineAndTurn(PAYOUT_CONFIRMATIONS['sim-ethereum'])
  assert.equal((await story.now(withdrawal)).status, 'completed')
  assert.equal((await story.outputsOf(txHash)).length, 1, 'both are in the chain')
})

test('Ethereum: a sweep that the database forgot comes back, and what came to its address since is swept after it', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { db } = story.gateway
  const payment = await testPayment(story.gateway, story.account, { asset: 'ETH', fiatMinor: 500_000n })
  await story.payAndConfirm(payment, payment.dueAtoms)
  await story.turn()
  await story.turn()
  await story.mine(1)
  const held = async () =>
    (await story.port.holdings({ outpoints: [], addresses: [payment.address] })).ETH ?? 0n
  assert.equal(await held(), 0n, 'it is swept')

  for (const forgetting of [
    'delete from sweeps',
    `delete from nonces n using signed_transactions t where t.kind = 'sweep' and t.chain = n.chain and t.sender = n.sender`,
    `delete from signed_transactions where kind = 'sweep'`,
    'update deposits set sweep = null',
  ])
    await db.query(forgetting)
  await story.payAndConfirm(payment, payment.dueAtoms)
  await story.turnPayer()
  const { rows: planned } = await db.query<{ status: string; atoms: bigint }>(
    'select status, atoms from sweeps',
  )
  assert.deepEqual(planned, [{ status: 'planned', atoms: payment.dueAtoms }], 'the payer was quicker')

  for (let round = 0; round < 5; round++) await story.mineAndTurn(12)
  assert.equal(await held(), 0n)
  const { rows: sweeps } = await db.query<{ status: string }>('select status from sweeps')
  assert.deepEqual(sweeps, [{ status: 'done' }, { status: 'done' }])
  const { rows: unswept } = await db.query('select from deposits where sweep is null')
  assert.deepEqual(unswept, [])
  await story.proveBooks()
})

test('Ethereum: a journal is compared again when its keys appear, though nothing waits for a signature', async () => {
  const story = await tellPayouts('sim-ethereum')
  await story.earn('ETH', 500_000n)
  for (let round = 0; round < 3; round++) await story.mineAndTurn(12)
  const { txHash } = await story.send('ETH', '0.1')
  await story.forgetSigned()
  await story.gateway.db.query(`update withdrawals set refused_reason = 'not_held'`)
  const known = async () => {
    const { rows } = await story.gateway.db.query(
      `select txid from signed_transactions where kind = 'payout'`,
    )
    return rows
  }
  await signAll({ ...story.signer, vault: new Map() })
  assert.deepEqual(await known(), [])
  await signAll(story.signer)
  assert.deepEqual(await known(), [{ txid: txHash }])
})

test('a transaction is signed once: the same id a second time is given up before anybody sees it', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal, txHash } = await story.send('BTC', '0.005')
  const { journal } = story.signer
  const [entry] = await journal.payingFor(nameOf(withdrawal))
  assert(entry)
  const left = journal.leftSince('BTC', false, 0)
  // As it would be with amounts of its UTXOs that rows made up: other signatures, the same id.
  const again = { ...entry, raw: `${entry.raw}00`, withdrawals: ['another/one'] }
  assert.equal(await commit(story.signer, again), 'taken')
  assert.deepEqual(await journal.entryOf('sim-bitcoin', txHash), entry)
  assert.equal(journal.leftSince('BTC', false, 0), left)
})

for (const [chain, asset, amount] of [CASES[0], CASES[1]])
  test(`${asset}: a bump of what spends a coin that is gone is not signed at every turn`, async () => {
    const story = await tellPayouts(chain)
    await story.earn(asset, 65_000n)
    const { txHash } = await story.send(asset, amount)
    await story.gateway.db.query(
      `update utxos set spent_by = 'unknown', spent_height = 1 where reserved_by = $1 or txid = $1`,
      [txHash],
    )
    const { journal } = story.signer
    const left = journal.leftSince(asset, false, 0)
    for (let turn = 0; turn < 3; turn++) {
      assert.ok(await wishBump(story.gateway.db, chain, txHash))
      await signAll(story.signer)
    }
    assert.equal(journal.leftSince(asset, false, 0), left, 'nothing was signed')
  })
