import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openScene } from '../../test/live-scene.ts'
import { listOverdue } from './impossible.sql.ts'

test('sweeps that wait, however many, keep no payout from being looked at', async () => {
  const { gateway, signer, sql } = await openScene()
  const hot = signer.vault.get('ethereum')?.hotWallet.address ?? assert.fail()
  const insert = (kind: string, count: number, sender: string) =>
    sql(
      `insert into signed_transactions (chain, txid, replacement_set, kind, status, raw, asset, value_atoms, sender, nonce, fee_atoms,
         fee_rate, created_at)
       select 'ethereum', $1 || n, $1 || n, $1, 'sent', '', 'ETH', 1, ${sender}, n - 1, 1, 1, now() - interval '1 hour'
       from generate_series(1, $2::integer) n`,
      [kind, count],
    )
  await insert('sweep', 201, `'0x' || lpad(to_hex(n), 40, '0')`)
  await insert('payout', 2, `'${hot}'`)
  const overdue = await listOverdue(gateway.db, 'ethereum')
  assert.deepEqual(
    overdue.slice(0, 3).map(({ replacementSet }) => replacementSet),
    ['payout1', 'payout2', 'sweep1'],
  )
  assert.equal(overdue.length, 200)
})
