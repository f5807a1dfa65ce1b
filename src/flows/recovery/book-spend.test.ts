/** Payouts in the chain that a restored database has forgotten, booked by the operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PayoutStory, tellPayouts } from '../../../test/payout-story.ts'
import { TEST_SECRETS } from '../../../test/wallet.ts'
import { freeze } from '../../ledger/freezes.sql.ts'
import { reconcile } from '../../proof/reconcile.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { findSpentUtxos } from './book-spend.sql.ts'
import { bookSpend } from './book-spend.ts'

const DEEP = 12

/** As in a database restored from a backup that was made before the request: neither row nor hold. */
async function forgetRequest({ gateway }: PayoutStory, { id, amountAtoms }: Withdrawal): Promise<void> {
  for (const statement of [
    `delete from transfers t using journal_entries j where j.id = t.entry_id and j.account_id = t.account_id
       and j.subject_id = '${id}'`,
    `delete from journal_entries where subject_id = '${id}'`,
    `update balances set atoms = atoms + case kind when 'available' then ${amountAtoms} else -${amountAtoms} end
     where kind in ('available', 'held') and asset = (select asset from withdrawals where id = '${id}')`,
    `delete from withdrawals where id = '${id}'`,
  ])
    await gateway.db.query(statement)
}

const book = (story: PayoutStory, txid: string, loss = false) =>
  bookSpend({ db: story.gateway.db, secrets: TEST_SECRETS }, story.port, txid, { loss })

const subjects = async ({ gateway, port }: PayoutStory) =>
  (await reconcile(gateway.db, [port])).differences.map(({ subject }) => subject)

/** Blocks, and the watcher and the payer after them; the signer is away, or has a journal that knows nothing. */
async function mineDeep(story: PayoutStory, count = DEEP): Promise<void> {
  await story.mine(count)
  await story.look()
  await story.turnPayer()
}

test('a payout of which half is forgotten completes what waits, and the rest is a loss only when the operator says so', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 650_000n)
  const later = await story.request('BTC', '0.002')
  const { withdrawal: waiting, txHash } = await story.send('BTC', '0.005')
  await story.forgetSigned()
  await forgetRequest(story, later)
  await mineDeep(story, 3)
  assert.deepEqual(await subjects(story), [`transaction ${txHash}`, null])
  await assert.rejects(book(story, txHash), { reason: 'spend_too_fresh' })
  await mineDeep(story)
  await assert.rejects(book(story, txHash), { reason: 'spend_not_asked_for' })
  assert.equal((await story.now(waiting)).status, 'requested', 'a refusal changes nothing')
  assert.deepEqual(await subjects(story), [`transaction ${txHash}`, null])

  const booked = await book(story, txHash, true)
  assert.deepEqual([booked.paid, booked.lossAtoms], [[waiting.id], later.netAtoms])
  assert.deepEqual(await subjects(story), [], 'the books agree at once')
  await story.turnPayer()
  const completed = await story.now(waiting)
  assert.deepEqual([completed.status, completed.txHash], ['completed', txHash])
  await story.proveBooks()
  await assert.rejects(book(story, txHash, true), { reason: 'spend_known' })
  await story.proveBooks()
})

test('a forgotten fee bump completes the replacement set that the database remembers', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { withdrawal, txHash: first } = await story.send('BTC', '0.005')
  const second = await story.forgetBump(withdrawal, first)
  await freeze(story.gateway.db, 'sim-bitcoin', 'BTC', 'restored')
  await mineDeep(story)
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
  const booked = await book(story, second)
  assert.deepEqual([booked.paid, booked.lossAtoms], [[withdrawal.id], 0n])
  await story.turnPayer()
  const completed = await story.now(withdrawal)
  assert.deepEqual([completed.status, completed.txHash], ['completed', second])
  await story.proveBooks()
})

test('a forgotten bump that took UTXOs which the database chose for another set belongs to its own', async () => {
  const story = await tellPayouts('sim-bitcoin')
  for (let utxo = 0; utxo < 4; utxo++) await story.earn('BTC', 65_000n)
  const { db } = story.gateway
  const [one, two] = [await story.send('BTC', '0.015'), await story.send('BTC', '0.013')]
  const bumps = []
  for (const { withdrawal, txHash } of [one, two]) {
    bumps.push(await story.forgetBump(withdrawal, txHash))
  }
  await freeze(db, 'sim-bitcoin', 'BTC', 'restored')
  await mineDeep(story)
  // Each set of the database chose a UTXO of the other's: whichever comes first, it is not the one of both bumps.
  await db.query(
    `with taken as (select distinct on (spent_by) txid, output_index from utxos where spent_by = any($1))
     update utxos c set reserved_by = case c.reserved_by when $2 then $3 else $2 end from taken t
     where c.txid = t.txid and c.output_index = t.output_index`,
    [bumps, one.txHash, two.txHash],
  )
  for (const bump of bumps)
    assert.deepEqual(
      (await findSpentUtxos(db, 'sim-bitcoin', bump))?.sets,
      [one.txHash, two.txHash].toSorted(),
    )
  for (const [index, { withdrawal }] of [one, two].entries()) {
    const { paid, lossAtoms } = await book(story, bumps[index] ?? '')
    assert.deepEqual([paid, lossAtoms], [[withdrawal.id], 0n])
  }
})

test('Ethereum: what the journal gave back and no withdrawal asks for disagrees until it is booked', async () => {
  const story = await tellPayouts('sim-ethereum')
  await story.earn('ETH', 500_000n)
  for (let round = 0; round < 3; round++) await story.mineAndTurn(12)
  const { withdrawal: forgotten, txHash } = await story.send('ETH', '0.1')
  await story.forgetSigned()
  await forgetRequest(story, forgotten)
  // The next payout makes the signer look at the nonce.
  const { withdrawal } = await story.send('ETH', '0.2')
  await story.mineAndTurn(1)
  await assert.rejects(
    book(story, txHash, true),
    { reason: 'spend_too_fresh' },
    'no loss of a block that may go',
  )
  await story.mineAndTurn(DEEP)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  assert.ok((await subjects(story)).includes(`transaction ${txHash}`))
  await assert.rejects(book(story, txHash), { reason: 'spend_not_asked_for' })
  assert.equal((await book(story, txHash, true)).lossAtoms, forgotten.netAtoms)
  await story.proveBooks()
  await assert.rejects(book(story, `0x${'0'.repeat(64)}`, true), { reason: 'spend_not_found' })
})

test('what is none of ours, or in the books already, is refused', async () => {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { txHash } = await story.send('BTC', '0.005')
  await mineDeep(story)
  await assert.rejects(book(story, txHash, true), { reason: 'spend_known' })
  await assert.rejects(book(story, 'f'.repeat(64), true), { reason: 'spend_not_found' })
  await story.proveBooks()
})
