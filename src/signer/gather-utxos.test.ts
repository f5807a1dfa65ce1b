/** UTXOs that are gathered for withdrawals which no one transaction can pay. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openScene, type Scene } from '../../test/live-scene.ts'
import { signAll } from '../../test/payouts.ts'
import { cancelWithdrawal } from '../flows/withdrawals/cancel-withdrawal.ts'
import type { Withdrawal } from '../withdrawals/withdrawal.ts'
import { refuse, unmark } from './context.ts'
import { listRequested } from './requests.sql.ts'
import { signerTurn } from './signer.ts'

/** A wallet of nothing but 1,000 UTXOs of 100,000 satoshis each: one transaction pays 0.4 with them. */
async function openDust(): Promise<Scene> {
  const scene = await openScene()
  await scene.sql('delete from utxos')
  await scene.sql(
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
     select 'bitcoin', encode(sha256(convert_to(n::text, 'UTF8')), 'hex'), 0, a.lookup, 100000, 900
     from generate_series(1, 1000) n,
       (select lookup from addresses where chain = 'bitcoin' and branch = 0 order by position limit 1) a`,
  )
  await rateIs(scene, 2_000)
  return scene
}

const rateIs = ({ sql }: Scene, rate: number) =>
  sql(`update fee_rates set rate = $1, seen_at = now() where chain = 'bitcoin'`, [rate])

const cancel = ({ gateway, account }: Scene, { id }: Withdrawal) =>
  gateway.db.transaction((tx) => cancelWithdrawal(tx, account, id))

const kinds = async (scene: Scene) => (await scene.signed()).map(({ kind }) => kind)

test('a withdrawal that coins were gathered for is not cancelled before it is paid', async () => {
  const scene = await openDust()
  const withdrawal = await scene.request('0.6')
  await signAll(scene.signer)
  assert.deepEqual(await kinds(scene), ['consolidation'])
  await assert.rejects(cancel(scene, withdrawal), { reason: 'already_signed' })
  // However long the block takes, and whoever starts again meanwhile.
  await scene.sql(`update withdrawals set signing_since = signing_since - interval '2 minutes'`)
  await signAll(scene.signer)
  // Nor when something was to be signed for it since, and was not.
  await scene.sql('update withdrawals set signing_since = clock_timestamp()')
  await unmark(scene.signer, [withdrawal])
  await signAll({ ...scene.signer, vault: new Map(scene.signer.vault) })
  await assert.rejects(cancel(scene, withdrawal), { reason: 'already_signed' })
  const [entry] = await scene.signed()
  await scene.sql('update utxos set block_height = 1000, spent_height = null where block_height is null')
  await scene.sql(
    `update signed_transactions set status = 'mined', block_height = 1000, block_hash = 'tip', paid_fee_atoms = fee_atoms`,
  )
  await scene.sql('update utxos set spent_by = $1, spent_height = 1000 where reserved_by = $1', [entry?.txid])
  await signAll(scene.signer)
  assert.deepEqual(await kinds(scene), ['consolidation', 'payout'])
})

test('what coins were gathered for in vain can be refused, and cancelled once that transaction has ended', async () => {
  const scene = await openDust()
  const [refused, cancelled] = [await scene.request('0.45'), await scene.request('0.48')]
  await signAll(scene.signer)
  await scene.sql(`update withdrawals set signing_since = clock_timestamp() - interval '2 minutes'`)
  const [request] = await listRequested(scene.gateway.db, 'bitcoin', null, 1)
  assert.ok(request?.id === refused.id)
  await refuse(scene.signer, request, 'limit_per_day')
  assert.equal((await scene.now(refused)).refusedReason, 'limit_per_day')
  await scene.sql(`update signed_transactions set status = 'impossible'`)
  await rateIs(scene, 100_000)
  await signAll(scene.signer)
  assert.equal((await cancel(scene, cancelled)).cancelWanted, true)
})

test('one that cannot be gathered for holds up no other, and says one thing only', async () => {
  const scene = await openDust()
  // Charged for a rate that is long gone.
  await rateIs(scene, 1_000)
  const dear = await scene.request('0.42')
  await rateIs(scene, 20_000)
  const waited: (string | null)[] = []
  for (let turn = 0; turn < 3; turn++) {
    await signerTurn(scene.signer)
    waited.push((await scene.now(dear)).waitingFor)
  }
  assert.deepEqual(waited, Array(3).fill('network_fee'))
  const gathered = await scene.request('0.5')
  await signerTurn(scene.signer)
  assert.deepEqual(await kinds(scene), ['consolidation'])
  assert.equal((await scene.now(gathered)).waitingFor, 'confirmations')
})
