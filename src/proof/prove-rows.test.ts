import assert from 'node:assert/strict'
import test from 'node:test'
import { type TestGateway, testPayment } from '../../test/gateway.ts'
import { PAYOUT_CONFIRMATIONS, tellPayouts } from '../../test/payout-story.ts'
import { tellStory } from '../../test/story.ts'
import { waitFor } from '../../test/wait-for.ts'
import { listAlerts } from '../alerts/alerts.sql.ts'
import { findChainProgress } from '../chains/chain-progress.sql.ts'
import { readBacklog } from '../flows/operation/health.sql.ts'
import { undoBlocksAbove } from '../flows/watching/undo-blocks.sql.ts'
import { listFreezes } from '../ledger/freezes.sql.ts'
import { startRowProver } from '../workers/prove.ts'
import { proveBlock } from './prove-block.ts'
import { proveRows } from './prove-rows.ts'
import { findUnlikeRows, NAMED_MAX } from './reconcile.sql.ts'
import { reconcile } from './reconcile.ts'

async function soldOnce() {
  const story = await tellStory()
  const payment = await testPayment(story.gateway, story.account)
  await story.payAndConfirm(payment, payment.dueAtoms)
  assert.equal((await story.read(payment)).status, 'completed')
  return story
}

/** A payout that a block holds deep enough, and neither the watcher nor the payer has looked since. */
async function paidUnseen() {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal } = await story.send('BTC', '0.005')
  await story.mine(PAYOUT_CONFIRMATIONS['sim-bitcoin'])
  return { ...story, withdrawal }
}

const atOnce = async () => true
const LTC = { chain: 'sim-litecoin', asset: 'LTC' } as const

test('a balance that somebody wrote is frozen by the proof of rows, which no block shows', async () => {
  const { gateway, port } = await soldOnce()
  assert.equal(await proveRows(gateway, atOnce), true)
  assert.deepEqual(await listFreezes(gateway.db), [])
  await gateway.db.query("update balances set atoms = atoms * 2 where kind = 'available'")
  assert.notEqual(await proveBlock(gateway, port), 'unlike')
  assert.equal(await proveRows(gateway, atOnce), false)
  assert.deepEqual(await listFreezes(gateway.db), [LTC])
  const [alert] = await listAlerts(gateway.db, { all: false, limit: 10 })
  assert.equal(alert?.kind, 'books_disagree')
  assert.match(alert.message, /balances = transfers/)
})

test('a payout that was booked before the watcher read its block freezes nothing', async () => {
  const { gateway, turnPayer, now, withdrawal, look, proveBooks } = await paidUnseen()
  await turnPayer()
  assert.equal((await now(withdrawal)).status, 'completed')
  assert.deepEqual((await findUnlikeRows(gateway.db)).differences, [])
  assert.equal(await proveRows(gateway, atOnce), true)
  await look()
  await proveBooks()
})

test('a booked payout whose block was undone freezes nothing, before the payer has looked at it again', async () => {
  const { gateway, port, turn, watch, now, withdrawal, mine, mineAndTurn, reorganise, proveBooks } =
    await paidUnseen()
  await watch()
  await turn()
  assert.equal((await now(withdrawal)).status, 'completed')
  await proveBooks()
  const depth = PAYOUT_CONFIRMATIONS['sim-bitcoin']
  const tip = await findChainProgress(gateway.db, port.chain)
  assert(tip)
  class Undo extends Error {}
  await assert.rejects(
    gateway.db.transaction(async (tx) => {
      await undoBlocksAbove(tx, port.chain, tip.tipHeight - depth)
      assert.deepEqual((await findUnlikeRows(tx)).differences, [])
      throw new Undo()
    }),
    Undo,
  )
  await reorganise(depth)
  await mine(1)
  await watch()
  assert.equal(await proveRows(gateway, atOnce), true, 'its block is another one now')
  await mineAndTurn(depth + 1)
  await proveBooks()
  assert.deepEqual(await listFreezes(gateway.db), [])
})

test('a payout that took other coins than it says is found, once its block is ours', async () => {
  const { gateway, watch, turn } = await paidUnseen()
  await watch()
  await turn()
  await gateway.db.query('update utxos set atoms = atoms + 1 where spent_by is not null')
  const { differences } = await findUnlikeRows(gateway.db)
  assert(differences.some(({ proof }) => proof === 'spent coins = settled transactions'))
})

test('what differs in one of the two looks alone freezes nothing', async () => {
  const { gateway } = await soldOnce()
  const move = (table: string, column: string, by: number) =>
    gateway.db.query(`update ${table} set ${column} = ${column} + ${by}`)
  await move('balances', 'atoms', 1)
  assert.equal(
    await proveRows(gateway, async () => {
      await move('balances', 'atoms', -1)
      return true
    }),
    true,
  )
  await move('deposits', 'amount_atoms', 1)
  const meanwhile = async () => {
    await move('deposits', 'amount_atoms', -1)
    await move('balances', 'atoms', 1)
    return true
  }
  assert.equal(await proveRows(gateway, meanwhile), true)
  assert.deepEqual(await listFreezes(gateway.db), [])
  assert.equal(await proveRows(gateway, atOnce), false)
  assert.deepEqual(await listFreezes(gateway.db), [LTC])
})

test('without the second look, as when Beck stops, nothing is frozen and nothing called proven', async () => {
  const { gateway } = await soldOnce()
  await gateway.db.query('update balances set atoms = atoms + 1')
  assert.equal(await proveRows(gateway, async () => false), false)
  assert.deepEqual(await listFreezes(gateway.db), [])
})

test('however many rows differ, so many of each coin are named, the rest is counted, and each coin is frozen', async () => {
  const { gateway, account } = await soldOnce()
  const { db } = gateway
  const invent = (chain: string, asset: string, rows: number) =>
    db.query(
      `with entry as (insert into journal_entries (account_id, id, kind, subject_id, number)
         select $1::uuid, gen_random_uuid(), 'settlement', 'gift ' || n || $3, 1 from generate_series(1, $4::integer) n
         returning account_id, id)
       insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms)
       select account_id, id, 0, $2, $3, 'wallet', 'fees', 1000 from entry`,
      [account.id, chain, asset, rows],
    )
  await invent('sim-litecoin', 'LTC', 20_000)
  await invent('sim-ethereum', 'USDC', 2)
  await invent('sim-ethereum', 'USDT', NAMED_MAX)
  // Each on a chain of its own, which there is not.
  await db.query(
    `update transfers t set chain = n.number::text
     from (select entry_id, row_number() over () as number from transfers where asset = 'USDT') n where n.entry_id = t.entry_id`,
  )
  const { differences, more } = await reconcile(db, [])
  const named = (asset: string) => differences.filter((row) => row.asset === asset && row.subject !== null)
  assert.deepEqual(
    ['LTC', 'USDC', 'USDT'].map((asset) => named(asset).length),
    [NAMED_MAX, 2, NAMED_MAX],
  )
  assert.deepEqual(more, [{ proof: 'entries = what they book', ...LTC, rows: 20_000 - NAMED_MAX }])
  // Rows that come before all others push what was named out of sight, and hide nothing.
  const before = async () => {
    await db.query(
      "update journal_entries set subject_id = 'a ' || id where subject_id like 'gift %LTC' and subject_id > 'gift 15'",
    )
    return true
  }
  assert.equal(await proveRows(gateway, before), false)
  assert.deepEqual(await listFreezes(db), [
    { chain: 'sim-ethereum', asset: 'USDC' },
    LTC,
    { chain: 'unknown', asset: 'USDT' },
  ])
})

test('a proof that can not be made is told, and holds up no other', async () => {
  const { gateway } = await soldOnce()
  await gateway.db.query('update balances set atoms = atoms + 1')
  await gateway.db.query('alter table unresolved_funds rename to elsewhere')
  await assert.rejects(proveRows(gateway, atOnce), /unresolved_funds/)
  assert.deepEqual(await listFreezes(gateway.db), [LTC])
})

const PACE = { firstMs: 5, pauseMs: 5, againMs: 5 }
const overdue = async ({ db }: TestGateway) =>
  (await listAlerts(db, { all: false, limit: 10 })).filter(({ kind }) => kind === 'proof_overdue')

test('the proof of rows is made by itself, again and again', async () => {
  const { gateway } = await soldOnce()
  const prover = startRowProver(gateway, PACE)
  await waitFor('a proof that finds nothing', async () => (await readBacklog(gateway.db)).rowsProofAgeMs)
  await gateway.db.query("update balances set atoms = atoms + 1 where kind = 'available'")
  await waitFor('a freeze', async () => ((await listFreezes(gateway.db)).length > 0 ? true : null))
  await prover.stop()
})

test('a proof of rows that fails waits for its hour like any other', async () => {
  const { gateway } = await soldOnce()
  const failedMs: number[] = []
  const ill = {
    ...gateway,
    db: { ...gateway.db, query: () => Promise.reject(new Error('the database is ill')) },
    log: { ...gateway.log, error: () => failedMs.push(performance.now()) },
  }
  const pauseMs = 1_500
  const prover = startRowProver(ill, { ...PACE, pauseMs })
  await waitFor('three failures', async () => failedMs[2] ?? null)
  await prover.stop()
  const [first = 0, second = 0, third = 0] = failedMs
  assert(second - first >= pauseMs && third - second >= pauseMs, failedMs.join(', '))
})

test('rows that could not be proven for hours are an alert, with the reason', async () => {
  const { gateway } = await soldOnce()
  assert.equal(await proveRows(gateway, atOnce), true)
  await gateway.db.query('alter table unresolved_funds rename to elsewhere')
  let failures = 0
  const log = { ...gateway.log, error: () => (failures += 1) }
  const prover = startRowProver({ ...gateway, log }, PACE)
  await waitFor('a failure', async () => (failures > 0 ? true : null))
  assert.deepEqual(await overdue(gateway), [])
  await gateway.db.query("update proven_rows set proven_at = now() - interval '3 hours'")
  const alert = await waitFor('an alert', async () => (await overdue(gateway))[0] ?? null)
  await prover.stop()
  assert.match(alert.message, /^the rows of the books were not proven .*: .*unresolved_funds/)
})
