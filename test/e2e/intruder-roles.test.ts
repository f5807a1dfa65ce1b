/**
 * Somebody owns the server: its process, its BECK_SECRET_KEY and its user of the database. The signer runs elsewhere, as a
 * user of its own. What he may not write he can not forget for the signer; what he can make it sign is the policy's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLimits } from '../../src/withdrawals/limits.ts'
import { COIN, openScene, type Scene } from '../live-scene.ts'
import { signAll } from '../payouts.ts'
import { bitcoinGone, ethereumGone } from './what-leaves.ts'

const HIS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080'
const HIS_ETHEREUM = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

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
    const left = hour - (await bitcoinGone(scene))
    if (left > slack + 1_000n) await scene.invent('bitcoin', 'BTC', left - slack, HIS)
    await signAll(scene.signer)
  }
  const most = await bitcoinGone(scene)
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
  const feeAtoms = (await bitcoinGone(scene)) - first
  assert.ok(feeAtoms > 0n)
  const fits = COIN - (await bitcoinGone(scene)) - feeAtoms

  await scene.invent('bitcoin', 'BTC', fits + 1n, HIS)
  await signAll(scene.signer)
  assert.equal(await bitcoinGone(scene), first + feeAtoms, 'an atom more waits')
  await scene.sql(`update withdrawals set status = 'failed', failed_at = now() where status = 'requested'`)

  await scene.invent('bitcoin', 'BTC', fits, HIS)
  await signAll(scene.signer)
  assert.equal(await bitcoinGone(scene), COIN, 'all that the policy says')

  // Beyond it nothing moves: not by his clock, not by rows that make the past look empty.
  await refusedToHim(scene)
  await scene.sql(`update fee_rates set rate = rate * 1000, seen_at = now()`)
  await scene.invent('bitcoin', 'BTC', 1_000n, HIS)
  await signAll(scene.signer)
  assert.equal(await bitcoinGone(scene), COIN)
})

/** Who owns the server says himself that a node was asked. */
async function inventAndSign(scene: Scene, asset: 'ETH' | 'USDC', atoms: bigint): Promise<void> {
  await scene.invent('ethereum', asset, atoms, HIS_ETHEREUM)
  await scene.sql(
    `update withdrawals set rehearsal = 'succeeds', rehearsed_gas = 0, rehearsed_at = now() where status = 'requested'`,
  )
  await signAll(scene.signer)
}

/** What waits is out of his way. */
const giveUp = (scene: Scene) =>
  scene.sql(`update withdrawals set status = 'failed', failed_at = now() where status = 'requested'`)

/** All that his user may write to make the past look empty, the fees dear and the nonces free. */
async function rewriteThePast(scene: Scene): Promise<void> {
  for (const statement of [
    `update withdrawals set status = 'requested', refused_reason = null, tx_hash = null, failed_at = null, completed_at = null`,
    `update signed_transactions set status = 'impossible'`,
    `update signed_transactions set sent_at = now(), bump_wanted = true`,
    'update nonces set next = 0',
    'delete from nonces',
    `update fee_rates set rate = rate * 1000, priority_rate = priority_rate * 1000, seen_at = now()`,
    `insert into sweeps (chain, id, address, series, position, asset, atoms, status)
     select 'ethereum', gen_random_uuid(), address, series, position, 'USDC', 1, 'planned'
     from addresses where chain = 'ethereum' and branch = 0 on conflict do nothing`,
    `update sweeps set status = 'planned'`,
    `update account_balances set atoms = atoms * 10`,
  ]) {
    await scene.sql(statement)
    await scene.sql(`update withdrawals set rehearsal = 'succeeds', rehearsed_gas = 0, rehearsed_at = now()`)
    await signAll(scene.signer)
  }
  await refusedToHim(scene)
}

/** What would make the past look empty, and his user may not write: `intruder.test.ts` plays it as the owner. */
async function refusedToHim(scene: Scene): Promise<void> {
  for (const statement of [
    'delete from signed_payouts',
    'delete from signed_transactions',
    `update withdrawals set created_at = created_at - interval '2 days'`,
    `update withdrawals set destination = '${HIS}'`,
    `update signed_transactions set created_at = created_at - interval '2 days'`,
    'update sweeps set gas_replacement_set = null, replacement_set = null',
    'delete from utxos',
  ])
    await assert.rejects(scene.sql(statement), { code: '42501' })
}

test('of ether too he drains the policy’s share to the atom, gas at its dearest included, and not an atom more', async (t) => {
  const hour = 10n ** 18n
  const scene = await openScene({ limits: readLimits('ETH=tx:0.9,hour:1,day:3') }, { users: 'apart' })
  const gone = async () => (await ethereumGone(scene)).ETH
  const first = 3n * 10n ** 17n
  await inventAndSign(scene, 'ETH', first)
  const gasAtoms = (await gone()) - first
  assert.ok(gasAtoms > 0n)
  const fits = hour - (await gone()) - gasAtoms

  await inventAndSign(scene, 'ETH', fits + 1n)
  assert.equal(await gone(), first + gasAtoms, 'an atom more waits')
  await giveUp(scene)
  await inventAndSign(scene, 'ETH', fits)
  assert.equal(await gone(), hour, 'all that the policy says')

  await rewriteThePast(scene)
  for (const atoms of [1n, fits, first]) await inventAndSign(scene, 'ETH', atoms)
  t.diagnostic(`${await gone()} of ${hour} atoms`)
  assert.equal(await gone(), hour)
})

test('of tokens he drains the policy’s share to the atom, and of the ether for their gas no more than its own', async (t) => {
  const hour = 1_000_000_000n
  const ether = 10n ** 18n
  const limits = readLimits('ETH=tx:0.9,hour:1,day:3;USDC=tx:700,hour:1000,day:3000')
  const scene = await openScene({ limits }, { users: 'apart' })
  const gone = () => ethereumGone(scene)
  await inventAndSign(scene, 'USDC', 700_000_001n)
  assert.equal((await gone()).USDC, 0n, 'more than one withdrawal may be')
  await giveUp(scene)
  await inventAndSign(scene, 'USDC', 400_000_000n)
  await inventAndSign(scene, 'USDC', 600_000_001n)
  assert.equal((await gone()).USDC, 400_000_000n, 'an atom more waits')
  await giveUp(scene)
  await inventAndSign(scene, 'USDC', 600_000_000n)
  assert.equal((await gone()).USDC, hour, 'all that the policy says')

  // What the gas left of the ether's own share goes too, and that is all.
  for (let share = 9n * 10n ** 17n; share > 10n ** 9n; share /= 2n) {
    await inventAndSign(scene, 'ETH', share)
    await giveUp(scene)
  }
  await rewriteThePast(scene)
  for (const atoms of [1n, 600_000_000n]) await inventAndSign(scene, 'USDC', atoms)
  await inventAndSign(scene, 'ETH', 10n ** 15n)
  const all = await gone()
  t.diagnostic(`${all.USDC} of ${hour} atoms of USDC, ${all.ETH} of ${ether} atoms of ETH`)
  assert.equal(all.USDC, hour)
  assert.ok(all.ETH <= ether, 'gas of bumps and sweeps counts as what it is')
  assert.ok(all.ETH > (ether * 9n) / 10n, 'the attack is no straw man')
})
