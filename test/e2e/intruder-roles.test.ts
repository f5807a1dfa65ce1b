/**
 * Somebody owns the server: its process, its BECK_SECRET_KEY and its user of the database. The signer runs elsewhere, as a
 * user of its own. What he may not write he can not forget for the signer; what he can make it sign is the policy's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputsOfRaw } from '../../src/chains/bitcoin/sign.ts'
import { readLimits } from '../../src/withdrawals/limits.ts'
import { COIN, openScene, type Scene } from '../live-scene.ts'
import { signAll } from '../payouts.ts'

const HIS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080'

/** What leaves by everything that was ever signed: its coins less what comes back to us. */
async function gone(scene: Scene): Promise<bigint> {
  const keys = scene.signer.vault.get('bitcoin')
  const own = new Set(
    Array.from({ length: 300 }, (_, n) =>
      Buffer.from(keys?.address(1, BigInt(n)).lookup ?? []).toString('hex'),
    ),
  )
  const bySet = new Map<string, bigint>()
  for (const entry of await scene.signed()) {
    if (!('spends' in entry)) continue
    const kept = outputsOfRaw(entry.raw)
      .filter(({ script }) => own.has(Buffer.from(script).toString('hex')))
      .reduce((sum, { atoms }) => sum + atoms, 0n)
    const left = BigInt(entry.spends.length) * COIN - kept
    if (left > (bySet.get(entry.replacementSet) ?? 0n)) bySet.set(entry.replacementSet, left)
  }
  return [...bySet.values()].reduce((sum, atoms) => sum + atoms, 0n)
}

test('a merchant’s withdrawal is requested by the server’s user and signed by the signer’s', async () => {
  const scene = await openScene({}, { users: 'apart' })
  await scene.request('0.5')
  await signAll(scene.signer)
  assert.equal((await scene.signed()).length, 1)
})

test('who owns the server and its user drains what the policy says, to the atom, and not what was signed before again', async (t) => {
  const hour = COIN
  const scene = await openScene({ limits: readLimits('BTC=tx:0.6,hour:1,day:3') }, { users: 'apart' })
  for (const share of [30n, 59n, 60n, 3n]) await scene.invent('bitcoin', 'BTC', (share * COIN) / 100n, HIS)
  await signAll(scene.signer)
  // What he could do as the owner of everything, his user may not.
  for (const statement of [
    'delete from signed_payouts',
    'delete from signed_transactions',
    `update wallets set xpub = 'his'`,
    'delete from freezes',
    'update transfers set amount_atoms = amount_atoms * 2',
  ])
    await assert.rejects(scene.sql(statement), { code: '42501' })
  // What his user may: coins and signed rows made to look free, nonces and statuses set back.
  await scene.sql(`update withdrawals set status = 'requested', refused_reason = null, tx_hash = null`)
  await signAll(scene.signer)
  for (const slack of [5_000n, 400n]) {
    const left = hour - (await gone(scene))
    if (left > slack + 1_000n) await scene.invent('bitcoin', 'BTC', left - slack, HIS)
    await signAll(scene.signer)
  }
  const most = await gone(scene)
  t.diagnostic(`${most} of ${hour} atoms`)
  assert.ok(most <= hour, 'never more than the policy says')
  assert.ok(most > (hour * 99n) / 100n, 'the attack is no straw man')
})

test('the limit holds to the atom: what just fits is signed, an atom more is not, whatever rows he may write', async () => {
  const scene = await openScene({ limits: readLimits('BTC=tx:0.9,hour:1,day:3') }, { users: 'apart' })
  const first = (3n * COIN) / 10n
  await scene.invent('bitcoin', 'BTC', first, HIS)
  await signAll(scene.signer)
  // One input, one payment, change: the next one costs the same.
  const feeAtoms = (await gone(scene)) - first
  assert.ok(feeAtoms > 0n)
  const fits = COIN - (await gone(scene)) - feeAtoms

  await scene.invent('bitcoin', 'BTC', fits + 1n, HIS)
  await signAll(scene.signer)
  assert.equal(await gone(scene), first + feeAtoms, 'an atom more waits')
  await scene.sql(`update withdrawals set status = 'failed', failed_at = now() where status = 'requested'`)

  await scene.invent('bitcoin', 'BTC', fits, HIS)
  await signAll(scene.signer)
  assert.equal(await gone(scene), COIN, 'all that the policy says')

  // Beyond it nothing moves: not by his clock, not by rows that make the past look empty.
  await scene.sql(`update withdrawals set created_at = created_at - interval '2 days'`)
  await scene.sql(`update signed_transactions set created_at = created_at - interval '2 days'`)
  await scene.sql(`update fee_rates set rate = rate * 1000, seen_at = now()`)
  await scene.invent('bitcoin', 'BTC', 1_000n, HIS)
  await signAll(scene.signer)
  assert.equal(await gone(scene), COIN)
})
