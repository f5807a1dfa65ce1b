/** What the gateway earned and was given is the operator's: seen, taken out by the road of every withdrawal, never out of what merchants have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPayment } from '../../../test/gateway.ts'
import {
  DESTINATIONS,
  PAYOUT_CONFIRMATIONS,
  type PayoutStory,
  tellPayouts,
} from '../../../test/payout-story.ts'
import { signAll } from '../../../test/payouts.ts'
import { mint } from '../../chains/simulated/ledger.ts'
import type { SimulatedChainName } from '../../chains/simulated/network.ts'
import type { Asset } from '../../core/assets.ts'
import { formatAmount } from '../../core/money.ts'
import { walletAtoms } from '../../ledger/own-sums.ts'
import { post } from '../../ledger/post.sql.ts'
import { storeFeeRates } from '../../treasury/fee-rates.sql.ts'
import { forgetUnexpectedDepositsOf } from '../../treasury/unexpected-deposits.sql.ts'
import type { OwnKind } from '../../withdrawals/withdrawal.ts'
import { cancelWithdrawal } from './cancel-withdrawal.ts'
import { readOwnBalances, requestOwnPayout } from './request-own-payout.ts'

const CHAINS = [
  ['sim-bitcoin', 'BTC'],
  ['sim-litecoin', 'LTC'],
  ['sim-ethereum', 'ETH'],
  ['sim-ethereum', 'USDC'],
] as const satisfies readonly (readonly [SimulatedChainName, Asset])[]

function taking(story: PayoutStory, chain: SimulatedChainName, asset: Asset) {
  const { db } = story.gateway
  const balance = async () => {
    const [row] = await readOwnBalances(db, { chain, asset })
    return row ?? assert.fail('nothing is booked')
  }
  return {
    balance,
    take: (kind: OwnKind, atoms: bigint, destination: string = DESTINATIONS[chain]) =>
      db.transaction((tx) =>
        requestOwnPayout(story.gateway, tx, {
          kind,
          mode: 'test',
          asset,
          amount: formatAmount(atoms, asset),
          destination,
        }),
      ),
  }
}

for (const [chain, asset] of CHAINS)
  test(`${asset} that was earned in fees arrives to the atom, the books balance all the way, and nothing is left of it`, async () => {
    const story = await tellPayouts(chain)
    const { balance, take } = taking(story, chain, asset)
    // Gas for the sweep, and for the payout.
    if (asset === 'USDC') await story.earn('ETH', 5_000_000n)
    await story.earn(asset, 5_000_000n)
    for (let round = 0; chain === 'sim-ethereum' && round < 3; round++) await story.mineAndTurn(12)
    const before = await balance()
    assert.ok(before.fees > 0n)
    const { rows: has } = await story.gateway.db.query<{ atoms: bigint }>(
      "select atoms from balances where asset = $1 and kind = 'available'",
      [asset],
    )
    assert.equal(before.owed, has[0]?.atoms)
    const atoms = asset === 'ETH' ? before.payable.fees : before.fees
    assert.equal(before.payable.fees, atoms)
    const withdrawal = await take('fees', atoms)
    assert.equal(withdrawal.feeAtoms, 0n)
    const held = await balance()
    assert.deepEqual([held.fees, held.leaving], [before.fees - atoms, atoms])
    assert.equal(walletAtoms(held), walletAtoms(before))
    await story.proveBooks()
    await story.turn()
    await story.proveBooks()
    // Tokens wait for the sweep that feeds the hot wallet.
    for (let round = 0; round < 12 && (await story.now(withdrawal)).status !== 'completed'; round++)
      await story.mineAndTurn(PAYOUT_CONFIRMATIONS[chain])
    const { status, txHash, waitingFor } = await story.now(withdrawal)
    assert.equal(status, 'completed', `it waits for ${waitingFor}`)
    const outputs = await story.outputsOf(txHash ?? '')
    assert.equal(outputs.filter((output) => output.atoms === withdrawal.netAtoms).length, 1)
    const after = await balance()
    assert.deepEqual([after.leaving, after.owed], [0n, before.owed])
    await assert.rejects(take('fees', atoms), { reason: 'insufficient_balance' })
    await story.proveBooks()
    const { rowCount: told } = await story.gateway.db.query(
      "select from events where type in ('payout.completed', 'payout.failed')",
    )
    assert.equal(told, 0, 'no merchant hears of it')
  })

test('of several who take at once the books give each atom to one, and merchants keep theirs', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { balance, take } = taking(story, 'sim-litecoin', 'LTC')
  await story.earn('LTC', 5_000_000n)
  const { fees, owed } = await balance()
  const third = fees / 3n
  const asked = await Promise.allSettled(Array.from({ length: 6 }, () => take('fees', third)))
  const refused = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason.reason] : []))
  assert.deepEqual(refused, Array(3).fill('insufficient_balance'))
  await story.turn()
  for (let round = 0; round < 3; round++) await story.mineAndTurn(6)
  const after = await balance()
  assert.deepEqual([after.fees, after.leaving, after.owed], [fees - 3n * third, 0n, owed])
  await story.proveBooks()
})

test('what is cancelled or can not be paid comes back to where it was taken from', async () => {
  const story = await tellPayouts('sim-bitcoin')
  const { balance, take } = taking(story, 'sim-bitcoin', 'BTC')
  await story.earn('BTC', 5_000_000n)
  const before = await balance()
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 20_000n, priorityRate: 0n })
  const withdrawal = await take('fees', before.fees)
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 1_000_000n, priorityRate: 0n })
  await signAll(story.signer)
  const { accountId, id } = withdrawal
  assert.equal((await story.now(withdrawal)).waitingFor, 'network_fee')
  await story.gateway.db.transaction((tx) => cancelWithdrawal(tx, { id: accountId }, id))
  await signAll(story.signer)
  await story.turnPayer()
  assert.deepEqual(
    [(await story.now(withdrawal)).status, (await story.now(withdrawal)).refusedReason],
    ['failed', 'cancelled'],
  )
  assert.deepEqual([(await balance()).fees, (await balance()).leaving], [before.fees, 0n])
  await story.proveBooks()
  // One that somebody wrote into the database is refused by the signer, and given back.
  await storeFeeRates(story.gateway.db, 'sim-bitcoin', { rate: 10_000n, priorityRate: 0n })
  const forged = await take('fees', before.fees)
  await story.gateway.db.query('update withdrawals set destination = $2 where id = $1', [
    forged.id,
    'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7',
  ])
  await signAll(story.signer)
  await story.turnPayer()
  assert.equal((await story.now(forged)).refusedReason, 'not_authentic')
  assert.equal((await balance()).fees, before.fees)
  await story.proveBooks()
})

test('capital comes back as far as what merchants have, losses and gas leave it', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { balance, take } = taking(story, 'sim-litecoin', 'LTC')
  const hot = story.signer.vault.get('sim-litecoin')?.hotWallet ?? assert.fail()
  await story.earn('LTC', 5_000_000n)
  await story.storage.change((store) =>
    mint(store, { lookup: hot.lookup, asset: 'LTC', atoms: 300_000_000n }),
  )
  await story.mine(6)
  await story.look()
  await story.turn()
  const given = await balance()
  assert.deepEqual([given.fees, given.capital], [500_000_000n, 300_000_000n])
  await story.proveBooks()
  // A loss of the gateway's is nobody else's: it is taken off what the operator may have.
  await story.gateway.db.transaction((tx) =>
    post(tx, {
      accountId: story.account.id,
      chain: 'sim-litecoin',
      cause: { kind: 'settlement', subjectId: 'test:loss', number: 1 },
      transfers: [{ asset: 'LTC', debit: 'loss', credit: 'available', atoms: 600_000_000n }],
    }),
  )
  const lost = await balance()
  assert.deepEqual(lost.payable, { fees: 200_000_000n, capital: 200_000_000n })
  await assert.rejects(take('capital', 250_000_000n), { reason: 'insufficient_balance' })
  const withdrawal = await take('capital', lost.payable.capital)
  assert.equal((await balance()).payable.fees, 0n, 'what covers the loss is not paid as fees')
  await story.turn()
  for (let round = 0; round < 3; round++) await story.mineAndTurn(6)
  assert.equal((await story.now(withdrawal)).status, 'completed')
  const after = await balance()
  assert.ok(walletAtoms(after) >= after.owed)
  await story.proveBooks()
})

test('capital that turns out to be what we sent ourselves is not paid out: merchants have the coins', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { balance, take } = taking(story, 'sim-ethereum', 'USDC')
  const hot = story.signer.vault.get('sim-ethereum')?.hotWallet ?? assert.fail()
  const txKey = await story.storage.change((store) =>
    mint(store, { lookup: hot.lookup, asset: 'USDC', atoms: 7_000_000n }),
  )
  await story.mine(12)
  await story.look()
  await story.turn()
  const given = (await balance()).payable.capital
  assert.equal(given, 7_000_000n)
  await story.gateway.db.transaction((tx) => forgetUnexpectedDepositsOf(tx, 'sim-ethereum', txKey))
  const { capital, payable, keptAtoms } = await balance()
  assert.deepEqual([capital, payable.capital, keptAtoms], [7_000_000n, 0n, 7_000_000n])
  await assert.rejects(take('capital', 1_000_000n), { reason: 'insufficient_balance' })
})

test('capital whose block a reorganisation took is not paid out before it is in another', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { balance, take } = taking(story, 'sim-litecoin', 'LTC')
  const hot = story.signer.vault.get('sim-litecoin')?.hotWallet ?? assert.fail()
  await story.storage.change((store) =>
    mint(store, { lookup: hot.lookup, asset: 'LTC', atoms: 300_000_000n }),
  )
  await story.mine(6)
  await story.look()
  await story.turn()
  assert.equal((await balance()).payable.capital, 300_000_000n)
  await story.reorganise(6)
  await story.look()
  const { capital, payable, keptAtoms } = await balance()
  assert.deepEqual([capital, payable.capital, keptAtoms], [300_000_000n, 0n, 300_000_000n])
  await assert.rejects(take('capital', 10_000_000n), { reason: 'insufficient_balance' })
  await story.mineAndTurn(6)
  assert.equal((await balance()).payable.capital, 300_000_000n)
})

test('ether stays for the gas of what merchants have in tokens', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { balance } = taking(story, 'sim-ethereum', 'ETH')
  await story.earn('ETH', 5_000_000n)
  for (let round = 0; round < 3; round++) await story.mineAndTurn(12)
  await storeFeeRates(story.gateway.db, 'sim-ethereum', { rate: 10n ** 10n, priorityRate: 10n ** 9n })
  const before = await balance()
  await story.earn('USDC', 100_000n)
  const after = await balance()
  // Twice the base fee and the tip. Of a batch of one 180,000 gas: itself, the sweep and the authorisation.
  assert.equal(after.keptAtoms - before.keptAtoms, 21n * 10n ** 9n * (180_000n + 10n * 120_000n))
  assert.ok(after.payable.fees <= after.fees)
})

test('ether stays for the gas of what merchants have in ether: what lies at deposit addresses, what waits, and what may come', async () => {
  const story = await tellPayouts('sim-ethereum')
  const { balance } = taking(story, 'sim-ethereum', 'ETH')
  await storeFeeRates(story.gateway.db, 'sim-ethereum', { rate: 10n ** 10n, priorityRate: 10n ** 9n })
  // Twice the base fee and the tip: what is signed offers as much.
  const most = 21n * 10n ** 9n
  // One that somebody else deployed: no gas is needed for it.
  await story.gateway.db.query(
    "update sweep_delegates set replacement_set = null, wanted_since = null where chain = 'sim-ethereum'",
  )
  for (let count = 0; count < 3; count++) await story.earn('ETH', 5_000_000n)
  const ahead = 10n * 60_000n
  const { rows } = await story.gateway.db.query(
    "select from deposits where chain = 'sim-ethereum' and booked and sweep is null",
  )
  assert.equal(rows.length, 3)
  assert.equal((await balance()).keptAtoms, most * (3n * 21_000n + ahead))
  await story.request('ETH', '0.1')
  assert.equal((await balance()).keptAtoms, most * (3n * 21_000n + 60_000n + ahead))
})

test('what an account pays is agreed when a payment is made, whatever is set afterwards', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { gateway } = story
  const account = { ...story.account, feeBps: 50 }
  const payment = await testPayment(gateway, account, { fiatMinor: 100_000n })
  assert.deepEqual([payment.feeBps, payment.feeMinor, payment.netMinor], [50n, 500n, 99_500n])
  const free = await testPayment(gateway, { ...story.account, feeBps: 0 }, { fiatMinor: 100_000n })
  assert.deepEqual([free.feeMinor, free.netMinor], [0n, 100_000n])
  const usual = await testPayment(gateway, story.account, { fiatMinor: 100_000n })
  assert.equal(usual.feeMinor, 1_000n)
  await gateway.db.query('update accounts set fee_bps = 1000 where id = $1', [story.account.id])
  for (const each of [payment, free, usual]) await story.pay(each, each.dueAtoms)
  await story.mine(6)
  await story.look()
  const [row] = await readOwnBalances(gateway.db, { chain: 'sim-litecoin', asset: 'LTC' })
  assert.equal(row?.fees, (payment.dueAtoms * 50n) / 10_000n + (usual.dueAtoms * 100n) / 10_000n)
  await story.proveBooks()
  // A row that says less than was agreed is not believed.
  const tampered = await testPayment(gateway, account, { fiatMinor: 100_000n })
  await gateway.db.query('update payments set fee_bps = 0 where id = $1', [tampered.id])
  await assert.rejects(story.read(tampered), { message: /tampered with/ })
})

test('nobody but the gateway takes out fees, by the database too', async () => {
  const story = await tellPayouts('sim-litecoin')
  await story.earn('LTC', 5_000_000n)
  const { take } = taking(story, 'sim-litecoin', 'LTC')
  const { id } = await take('fees', 10_000_000n)
  for (const [change, values] of [
    ['account_id = $2', [story.account.id]],
    ["kind = 'payout'", []],
  ] as const)
    await assert.rejects(
      story.gateway.db.query(`update withdrawals set ${change} where id = $1`, [id, ...values]),
      { code: '23514' },
    )
})
