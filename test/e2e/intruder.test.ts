/**
 * Somebody owns the database, and in the second half the server with its BECK_SECRET_KEY as well; not the signer's
 * directory. What he changes is refused; what he makes the signer sign never exceeds the policy, to the atom. All that
 * was ever signed counts as gone, sent or not, for he may have kept the bytes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invariant } from '../../src/core/errors.ts'
import { HOUR_MS } from '../../src/core/time.ts'
import { createPayment } from '../../src/flows/payments/create-payment.ts'
import { allowAddress } from '../../src/signer/policy.ts'
import { paidBy } from '../../src/treasury/signed-entry.ts'
import { DEPOSIT_BRANCH, type NetworkMode, readAccountKey } from '../../src/wallets/derivation.ts'
import { readLimits } from '../../src/withdrawals/limits.ts'
import { COIN, OURS, openScene } from '../live-scene.ts'
import { signAll } from '../payouts.ts'
import { bitcoinGone, ethereumGone } from './what-leaves.ts'

const HIS = {
  bitcoin: 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080',
  ethereum: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
} as const

/** Each changes what was requested, as the owner of the database could. */
const TAMPERINGS: Readonly<Record<string, string>> = {
  'another destination': `update withdrawals set destination = '${HIS.bitcoin}'`,
  'a larger net amount': 'update withdrawals set net_atoms = net_atoms + fee_atoms, fee_atoms = 0',
  'a larger amount altogether':
    'update withdrawals set amount_atoms = amount_atoms * 10, net_atoms = amount_atoms * 10 - fee_atoms - network_fee_atoms',
  'another coin': `update withdrawals set asset = 'LTC', chain = 'litecoin'`,
  'another account': `with other as (insert into accounts (id, name, email, mode, currency)
      values (gen_random_uuid(), 'x', 'x@example.com', 'live', 'USD') returning id)
    update withdrawals set account_id = other.id from other`,
  'a new id': 'update withdrawals set id = gen_random_uuid()',
  'a MAC of its own': `update withdrawals set mac = sha256('guess')`,
  'no hold': `update journal_entries set subject_id = 'gone' where kind = 'hold'`,
  'a hold of another amount': `update transfers set amount_atoms = amount_atoms - 1 where credit = 'held'`,
}

for (const [what, statement] of Object.entries(TAMPERINGS))
  test(`the signer refuses a request with ${what}`, async () => {
    const scene = await openScene()
    await scene.request('0.5')
    await scene.sql(statement)
    await signAll(scene.signer)
    assert.deepEqual(await scene.signed(), [])
    const { rowCount } = await scene.sql(
      'select from withdrawals where refused_reason is null and chain = $1',
      ['bitcoin'],
    )
    assert.equal(rowCount, 0)
  })

test('a paid withdrawal that is copied under a new id, with a hold, is refused', async () => {
  const scene = await openScene()
  await scene.request('0.5')
  await signAll(scene.signer)
  await scene.sql(
    `with copied as (
       insert into withdrawals (account_id, id, kind, status, chain, asset, amount_atoms, fee_atoms, network_fee_atoms,
         net_atoms, destination, asked_by, mac)
       select account_id, gen_random_uuid(), kind, 'requested', chain, asset, amount_atoms, fee_atoms, network_fee_atoms,
         net_atoms, destination, asked_by, mac from withdrawals returning account_id, id, amount_atoms
     ), entry as (
       insert into journal_entries (account_id, id, kind, subject_id, number)
       select account_id, gen_random_uuid(), 'hold', id::text, 1 from copied returning account_id, id
     )
     insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms)
     select e.account_id, e.id, 0, 'bitcoin', 'BTC', 'available', 'held', c.amount_atoms from entry e, copied c`,
  )
  await signAll(scene.signer)
  assert.equal((await scene.signed()).length, 1)
})

test('signed rows that are deleted or rolled back, with status, coins and ledger, bring no second signature', async () => {
  const scene = await openScene()
  const withdrawal = await scene.request('0.5')
  await signAll(scene.signer)
  const [first] = await scene.signed()
  for (const rollBack of [
    ['delete from signed_payouts'],
    ['delete from signed_payouts', `update utxos set reserved_by = null`, 'delete from signed_transactions'],
    [
      'delete from signed_payouts',
      `update utxos set reserved_by = null, spent_by = 'his', spent_height = 950`,
      'delete from signed_transactions',
      `update withdrawals set status = 'requested', refused_reason = null, tx_hash = null, failed_at = null, completed_at = null`,
    ],
    [
      `update withdrawals set status = 'requested', refused_reason = 'his', tx_hash = null`,
      'delete from signed_payouts',
      `update withdrawals set refused_reason = null`,
    ],
  ]) {
    for (const statement of rollBack) await scene.sql(statement)
    await signAll(scene.signer)
    await signAll(scene.signer)
  }
  assert.deepEqual(await scene.signed(), [first])
  const { refusedReason } = await scene.now(withdrawal)
  assert.equal(refusedReason, null, 'its hold is not given back either')
})

test('a changed deposit address and a changed xpub are never handed out', async () => {
  const scene = await openScene()
  const { gateway, account } = scene
  const price = {
    asset: 'BTC',
    fiatMinor: 10_000n,
    fiatCurrency: 'USD',
    reference: null,
    customerEmail: null,
    metadata: null,
  } as const
  const pay = () => gateway.db.transaction((tx) => createPayment(gateway, tx, account, price))
  await scene.sql(`update chains set polled_at = now()`)
  const payment = await pay()
  await scene.sql(`update addresses set address = $1 where chain = 'bitcoin' and issued_at is null`, [
    HIS.bitcoin,
  ])
  await assert.rejects(pay(), { name: 'InvariantBroken', message: /tampered/ })
  const [known] = await scene.gateway.db
    .query<{ mode: NetworkMode; xpub: string; position: bigint }>(
      `select w.network as mode, w.xpub, a.position from wallets w join addresses a on a.chain = w.chain
       where w.chain = 'bitcoin' and a.payment_id = $1`,
      [payment.id],
    )
    .then(({ rows }) => rows)
  invariant(known, 'the payment has an address of the wallet')
  const key = readAccountKey('bitcoin', known.mode, known.xpub)
  assert.equal(payment.address, key.derive(DEPOSIT_BRANCH, known.position).address)
  await scene.sql(
    `update wallets set xpub = (select xpub from wallets where chain = 'ethereum') where chain = 'bitcoin'`,
  )
  await assert.rejects(scene.request('0.1'), { name: 'InvariantBroken', message: /tampered/ })
})

test('a coin that is moved to another script, or said to be ours, is not signed for', async () => {
  const scene = await openScene()
  await scene.request('0.5')
  await scene.sql(`update addresses set position = position + 1000 where chain = 'bitcoin' and branch = 0`)
  await signAll(scene.signer)
  assert.deepEqual(await scene.signed(), [])
})

/** What waits is out of his way. */
const FORGET_WAITING = `update withdrawals set status = 'failed', failed_at = now() where status = 'requested'`

test('who owns the server drains no more bitcoin than the limits of hour and day, fees and bumps included', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const scene = await openScene({ limits: readLimits('BTC=tx:0.6,hour:1,day:3') })
  const gone = () => bitcoinGone(scene)
  const limits = { hour: COIN, day: 3n * COIN }
  // More than one withdrawal may be, or than an hour allows with its fee: never.
  await scene.invent('bitcoin', 'BTC', (6n * COIN) / 10n + 1n, HIS.bitcoin)
  await signAll(scene.signer)
  assert.equal(await gone(), 0n)
  const rounds: { at: number; atoms: bigint }[] = []
  for (const [round, restHours] of RESTS.entries()) {
    const before = await gone()
    // The dearest fees that the signer offers, many small and large ones, and what just fits.
    await scene.sql(`update fee_rates set rate = $1, seen_at = now() where chain = 'bitcoin'`, [
      round % 2 ? 10n ** 12n : 5_000n,
    ])
    for (const share of [30n, 59n, 60n, 3n])
      await scene.invent('bitcoin', 'BTC', (share * COIN) / 100n, HIS.bitcoin)
    await signAll(scene.signer)
    const left = limits.hour - ((await gone()) - before)
    for (const slack of [400n, 5_000n])
      if (left > slack + 1_000n) await scene.invent('bitcoin', 'BTC', left - slack, HIS.bitcoin)
    await signAll(scene.signer)
    // Bumps, again and again; rows of replacement sets changed to his liking before.
    for (let bump = 0; bump < 3; bump++) {
      await scene.sql(`update withdrawals set net_atoms = net_atoms + 1, fee_atoms = 0 where fee_atoms = 1`)
      await scene.sql(
        `update signed_transactions set sent_at = now(), bump_wanted = true
         where txid = (select txid from signed_transactions order by created_at desc limit 1)`,
      )
      await signAll(scene.signer)
    }
    // The past made older, and looked at; coins and signed rows forgotten; what waited goes on waiting.
    await scene.sql(`update withdrawals set created_at = created_at - interval '2 days'`)
    await scene.sql(`update signed_transactions set created_at = created_at - interval '2 days'`)
    await signAll(scene.signer)
    await scene.sql('delete from signed_payouts')
    await scene.sql('update utxos set reserved_by = null')
    await scene.sql('delete from utxos where block_height is null')
    await scene.sql('delete from signed_transactions')
    await signAll(scene.signer)
    rounds.push({ at: Date.now(), atoms: (await gone()) - before })
    await scene.sql(FORGET_WAITING)
    t.mock.timers.tick(restHours * HOUR_MS + 1)
  }
  requireWithin(rounds, limits)
  const most = rounds.reduce((max, { atoms }) => (atoms > max ? atoms : max), 0n)
  t.diagnostic(`the most in an hour: ${most} of ${limits.hour} atoms`)
  assert.ok(most > (limits.hour * 99n) / 100n, 'the attack is no straw man: it comes close to the limit')
})

/** Hours from one raid to the next: the limits of the hour and of the day come into play. */
const RESTS = [1, 1, 1, 1, 19, 1, 1, 1]

/** Of everything that left, no hour and no day holds more than its limit. */
function requireWithin(
  rounds: readonly { at: number; atoms: bigint }[],
  limits: { readonly hour: bigint; readonly day: bigint },
): void {
  for (const { at: end } of rounds)
    for (const [span, limit] of [
      [HOUR_MS, limits.hour],
      [24 * HOUR_MS, limits.day],
    ] as const) {
      const within = rounds.filter(({ at }) => at <= end && at > end - span)
      const sum = within.reduce((total, { atoms }) => total + atoms, 0n)
      assert.ok(sum <= limit, `${sum} left within ${span / HOUR_MS} hours, and the limit is ${limit}`)
    }
}

test('nor more ether and tokens: gas, invented sweeps and nonces included', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const limits = readLimits('ETH=tx:1,hour:2,day:3;USDC=tx:500,hour:1000,day:1500')
  const scene = await openScene({ limits })
  const series = scene.signer.vault.get('ethereum')?.series
  const rounds: { at: number; gone: { ETH: bigint; USDC: bigint } }[] = []
  for (const [round, restHours] of RESTS.entries()) {
    const before = await ethereumGone(scene)
    await scene.sql(
      `update fee_rates set rate = $1, priority_rate = $1, seen_at = now() where chain = 'ethereum'`,
      [round % 2 ? 10n ** 30n : 10n ** 9n],
    )
    for (let count = 0; count < 4; count++) {
      await scene.invent('ethereum', 'ETH', 9n * 10n ** 17n, HIS.ethereum)
      await scene.invent('ethereum', 'USDC', 400n * 10n ** 6n, HIS.ethereum)
    }
    await scene.sql(
      `insert into sweeps (chain, id, address, series, position, asset, atoms, status)
       select 'ethereum', gen_random_uuid(), address, series, position, 'USDC', 1, 'planned'
       from addresses where chain = 'ethereum' and branch = 0 and series = $1 on conflict do nothing`,
      [series],
    )
    // No node was asked; he says it was.
    await scene.sql(
      `update withdrawals set rehearsal = 'succeeds', rehearsed_gas = 0, rehearsed_at = now() where status = 'requested'`,
    )
    for (let bump = 0; bump < 2; bump++) {
      await signAll(scene.signer)
      await scene.sql(
        `update signed_transactions set sent_at = now(), bump_wanted = true
         where status not in ('confirmed', 'reverted', 'displaced', 'impossible')`,
      )
      await signAll(scene.signer)
    }
    // Everything signed is forgotten, and the nonces with it.
    await scene.sql(
      `update sweeps set gas_replacement_set = null, replacement_set = null, status = 'planned'`,
    )
    await scene.sql('delete from signed_payouts')
    await scene.sql('delete from signed_transactions')
    const after = await ethereumGone(scene)
    await scene.sql(FORGET_WAITING)
    rounds.push({ at: Date.now(), gone: { ETH: after.ETH - before.ETH, USDC: after.USDC - before.USDC } })
    t.mock.timers.tick(restHours * HOUR_MS + 1)
  }
  for (const asset of ['ETH', 'USDC'] as const) {
    const own = rounds.map(({ at, gone }) => ({ at, atoms: gone[asset] }))
    requireWithin(own, { hour: limits[asset]?.hour ?? 0n, day: limits[asset]?.day ?? 0n })
    t.diagnostic(`${asset}: ${own.map(({ atoms }) => atoms).join(', ')} atoms per raid`)
  }
  assert.ok(rounds.some(({ gone }) => gone.ETH > 10n ** 18n && gone.USDC === 800_000_000n))
})

test('with an allowlist, only addresses that stood on it long enough are paid, whoever asks', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const scene = await openScene({ allowlistWaitMs: 24 * HOUR_MS })
  await allowAddress(scene.signer.config.folder, 'bitcoin', OURS)
  await scene.invent('bitcoin', 'BTC', COIN, HIS.bitcoin)
  const waiting = await scene.request('0.5')
  await signAll(scene.signer)
  assert.deepEqual(await scene.signed(), [])
  const { rowCount } = await scene.sql(`select from withdrawals where refused_reason = 'not_on_allowlist'`)
  assert.equal(rowCount, 1)
  t.mock.timers.tick(24 * HOUR_MS + 1)
  await scene.sql(`update fee_rates set seen_at = now()`)
  await signAll(scene.signer)
  const [entry, ...others] = await scene.signed()
  assert.equal(others.length, 0)
  assert.deepEqual(entry && paidBy(entry), [`${waiting.accountId}/${waiting.id}`])
})
