/** Books that were tampered with, one row of each kind: the proof names the row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromUUID } from 'typeid-js'
import { testPayment } from '../../test/gateway.ts'
import { tellPayouts } from '../../test/payout-story.ts'
import { showId } from '../core/ids.ts'
import { reconcile } from './reconcile.ts'

const story = await tellPayouts('sim-bitcoin')
await story.earn('BTC', 65_000n)
await story.earn('BTC', 130_000n)
// Too little, which is held until its merchant decides.
const less = await testPayment(story.gateway, story.account, { asset: 'BTC' })
await story.pay(less, less.dueAtoms / 2n)
const paid = await story.request('BTC', '0.005')
await story.turn()
await story.mineAndTurn(2)
const waiting = await story.request('BTC', '0.002')
const { txHash } = await story.now(paid)
assert.ok(txHash)

const ids = async (table: 'deposits' | 'payments') =>
  (await story.gateway.db.query<{ id: string }>(`select id from ${table} order by id`)).rows.map(
    ({ id }) => id,
  )
const [deposit = ''] = await ids('deposits')
const [payment = ''] = await ids('payments')

/** What is done to which row, and the subject that the proof names. */
const TAMPERINGS: readonly (readonly [what: string, sql: string, subject: string])[] = [
  [
    'a balance',
    "update balances set atoms = atoms + 1 where kind = 'available'",
    `account ${showId('acct', story.account.id)} available`,
  ],
  [
    'a deposit',
    `update deposits set amount_atoms = amount_atoms + 1 where id = '${deposit}'`,
    name('dep', deposit),
  ],
  [
    'a deposit that is not booked any more',
    `update deposits set booked = false where id = '${deposit}'`,
    name('dep', deposit),
  ],
  [
    'a deposit moved to another block',
    `update deposits set block_height = 1 where id = '${deposit}'`,
    name('dep', deposit),
  ],
  [
    'a payment',
    `update payments set credited_atoms = credited_atoms + 1 where id = '${payment}'`,
    name('pay', payment),
  ],
  [
    'a transfer',
    `update transfers set amount_atoms = amount_atoms + 1
     where entry_id = (select id from journal_entries where kind = 'deposit' and subject_id = '${deposit}')`,
    name('dep', deposit),
  ],
  [
    'a posting under another cause',
    `update journal_entries set number = 9 where kind = 'deposit' and subject_id = '${deposit}'`,
    `entry deposit ${deposit} 9`,
  ],
  [
    'an invented posting',
    `with entry as (insert into journal_entries (account_id, id, kind, subject_id, number)
       values ('${story.account.id}', gen_random_uuid(), 'settlement', 'gift', 1) returning account_id, id)
     insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms)
     select account_id, id, 0, 'sim-bitcoin', 'BTC', 'wallet', 'fees', 1000 from entry`,
    'entry settlement gift 1',
  ],
  [
    'a withdrawal called completed',
    `update withdrawals set status = 'completed', completed_at = now(), tx_hash = '${txHash}' where id = '${waiting.id}'`,
    `${name('wd', waiting.id)} completed`,
  ],
  [
    'a withdrawal of another amount',
    `update withdrawals set amount_atoms = amount_atoms + 1, net_atoms = net_atoms + 1 where id = '${waiting.id}'`,
    `${name('wd', waiting.id)} held`,
  ],
  [
    'a paid withdrawal of another net amount',
    `update withdrawals set net_atoms = net_atoms - 1, fee_atoms = fee_atoms + 1 where id = '${paid.id}'`,
    `${name('wd', paid.id)} paid`,
  ],
  [
    'a signed transaction of another value',
    'update signed_transactions set value_atoms = value_atoms + 1',
    `transaction ${txHash}`,
  ],
  [
    'a signed transaction of another fee',
    'update signed_transactions set fee_atoms = fee_atoms + 1, paid_fee_atoms = paid_fee_atoms + 1',
    `transaction ${txHash}`,
  ],
  [
    'a signed transaction that is said to be displaced',
    "update signed_transactions set status = 'displaced', block_height = null, block_hash = null",
    `transaction ${txHash}`,
  ],
  ['the line of a withdrawal', 'delete from signed_payouts', `${name('wd', paid.id)} completed`],
  [
    'a coin that no block spent',
    `update utxos set spent_by = 'nobody', spent_height = 1
     where txid = (select tx_key from deposits where id = '${deposit}')`,
    'all together',
  ],
  [
    'a coin that no block gave',
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
     select chain, repeat('ab', 32), 0, lookup, 1000, 1 from utxos limit 1`,
    `coin ${'ab'.repeat(32)}:0`,
  ],
  [
    'held funds',
    'update unresolved_funds set atoms = atoms + 1',
    `account ${showId('acct', story.account.id)}`,
  ],
]

function name(prefix: 'dep' | 'pay' | 'wd', id: string): string {
  const word = { dep: 'deposit', pay: 'payment', wd: 'withdrawal' }[prefix]
  return `${word} ${fromUUID(id, prefix)}`
}

test('the books balance before anybody tampers with them', () => story.proveBooks())

for (const [what, sql, subject] of TAMPERINGS) {
  test(`tampered: ${what} is named`, async () => {
    const named: string[] = []
    class Undo extends Error {}
    await assert.rejects(
      story.gateway.db.transaction(async (tx) => {
        const { rowCount } = await tx.query(sql)
        assert.ok(rowCount > 0, `${sql} met no row`)
        const { differences } = await reconcile(tx, [story.port])
        named.push(...differences.map((difference) => difference.subject ?? 'all together'))
        throw new Undo()
      }),
      Undo,
    )
    assert.ok(named.includes(subject), `${subject} is not among ${JSON.stringify(named)}`)
  })
}
