/**
 * Coins at an address for deposits that no payment has, on a real Anvil: a restored database forgot whom it was handed out to.
 * They are the operator's, as soon as they are where he can be paid from.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Asset } from '../../src/core/assets.ts'
import { readOwnBalances, requestOwnPayout } from '../../src/flows/withdrawals/request-own-payout.ts'
import { listFreezes } from '../../src/ledger/freezes.sql.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { sumCapitalOutside } from '../../src/treasury/unexpected-deposits.sql.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

const ETHER = 10n ** 18n
const DOLLARS = 1_000_000n
const STRANGER = `0x${'5'.repeat(40)}`
const OPERATOR = `0x${'6'.repeat(40)}`

for (const [hardfork, how] of [
  ['cancun', 'each alone'],
  ['prague', 'in batches'],
] as const)
  describe(`what reaches an address that no payment has, where tokens are swept ${how}`, async () => {
    const payouts = await ethereumPayouts({ confirmations: 2, hardfork })
    const { anvil, gateway, port } = payouts
    const address = await withhold(payouts)

    it('can not be taken out while the hot wallet does not have it: what merchants have is paid', async () => {
      const earned = await payouts.earn('USDC', 500n)
      await payouts.finish()
      const before = await own('ETH')
      await anvil.send({ to: address, value: ETHER })
      await anvil.call(payouts.usdc, 'transfer', [address, 700n * DOLLARS])
      await payouts.confirm()
      await payouts.turn()

      const [ether, tokens] = [await own('ETH'), await own('USDC')]
      assert.equal(ether.capital - before.capital, ETHER)
      assert.equal(await sumCapitalOutside(gateway.db, 'ethereum', 'ETH'), ETHER)
      assert.ok(ether.keptAtoms >= ETHER)
      assert.equal(tokens.capital, 700n * DOLLARS)
      assert.equal(tokens.keptAtoms, 700n * DOLLARS)
      assert.equal(tokens.payable.capital, tokens.fees)
      await assert.rejects(takeOut('USDC', '700'), { reason: 'insufficient_balance' })

      const available = earned - tokens.fees
      const asked = await payouts.request('USDC', `${available / DOLLARS}`, STRANGER)
      await payouts.finish()
      assert.equal((await payouts.now(asked)).status, 'completed')
    })

    it('is swept like a deposit, and paid to the operator then', async () => {
      await payouts.finish()
      assert.equal(await payouts.tokensOf('USDC', address), 0n)
      const { gifts, unswept, differences } = await reconcile(gateway.db, [port])
      assert.deepEqual([differences, unswept], [[], []])
      // What a token's own sweep did not use of its gas is known.
      assert.deepEqual(gifts, [])
      if (hardfork === 'prague') assert.equal(await anvil.balance(address), 0n)
      assert.equal((await own('USDC')).payable.capital, 700n * DOLLARS)
      const taken = await takeOut('USDC', '700')
      await payouts.finish()
      assert.equal((await payouts.now(taken)).status, 'completed')
      assert.equal(await payouts.tokensOf('USDC', OPERATOR), taken.netAtoms)
      assert.deepEqual((await reconcile(gateway.db, [port])).differences, [])
    })

    it('is missed by the proof of every address when it is gone', async () => {
      await anvil.send({ to: await withhold(payouts, 1), value: ETHER / 10_000n })
      await payouts.confirm()
      const second = await withhold(payouts, 1)
      assert.deepEqual((await reconcile(gateway.db, [port])).differences, [])
      await anvil.rpc('anvil_setBalance', [second, '0x0'])
      await anvil.mine()
      await payouts.follow()
      const { differences } = await reconcile(gateway.db, [port])
      assert.deepEqual(
        differences.map(({ asset, subject }) => [asset, subject]),
        [['ETH', `address ${second}`]],
      )
    })

    async function own(asset: Asset) {
      const [balance] = await readOwnBalances(gateway.db, { chain: 'ethereum', asset })
      return balance ?? assert.fail(`nothing of ${asset} is the gateway's own`)
    }

    const takeOut = (asset: Asset, amount: string) =>
      gateway.db.transaction((tx) =>
        requestOwnPayout(gateway, tx, {
          kind: 'capital',
          mode: 'live',
          asset,
          amount,
          destination: OPERATOR,
        }),
      )
  })

describe('what reached an address that no payment has, and a reorganisation took after it was swept', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway, port } = payouts
  const address = await withhold(payouts)
  const payable = async () => (await readOwnBalances(gateway.db, { chain: 'ethereum', asset: 'ETH' }))[0]

  it('can be taken out again once it has come back and is swept', async () => {
    const before = await anvil.height()
    await anvil.send({ to: address, value: ETHER })
    await payouts.confirm()
    await payouts.finish()
    assert.equal(await anvil.balance(address), 0n)
    const swept = await payable()
    assert.ok(swept)

    const sendAgain = await anvil.reorganise((await anvil.height()) - before)
    await payouts.follow()
    await payouts.turn()
    const gone = await payable()
    assert.ok(gone && gone.capital === swept.capital)
    assert.equal(await sumCapitalOutside(gateway.db, 'ethereum', 'ETH'), ETHER)
    assert.ok(gone.keptAtoms >= ETHER)

    // The deposit comes first; its sweep was taken with it, and Beck sends that again.
    await assert.rejects(sendAgain(), /Insufficient funds/)
    await payouts.confirm()
    await payouts.finish()
    await payouts.turn()
    assert.equal(await anvil.balance(address), 0n)
    const back = await payable()
    assert.deepEqual([back?.capital, back?.keptAtoms], [swept.capital, swept.keptAtoms])
    const { differences, unswept } = await reconcile(gateway.db, [port])
    assert.deepEqual([differences, unswept], [[], []])
    assert.deepEqual(await listFreezes(gateway.db), [])
  })

  it('pays for what comes there later when it never comes back', async () => {
    const before = await anvil.height()
    await anvil.send({ to: address, value: ETHER })
    await payouts.confirm()
    await payouts.turn()
    await payouts.sign()
    await anvil.reorganise((await anvil.height()) - before)
    await payouts.follow()
    const lost = await payable()
    await anvil.send({ to: address, value: ETHER / 2n })
    await payouts.confirm()
    await payouts.turn()
    await payouts.pass(61)
    await payouts.turn()
    await payouts.finish()
    await payouts.turn()
    assert.equal(await anvil.balance(address), 0n)
    const { unswept, differences } = await reconcile(gateway.db, [port])
    assert.deepEqual([differences, unswept], [[], []])
    const now = await payable()
    assert.ok(lost && now)
    assert.equal(now.capital - lost.capital, ETHER / 2n)
    // What is gone stays booked, and can not be taken out.
    assert.ok(now.payable.capital <= now.capital - ETHER)
  })
})

/** An address that buyers may have been told, and no payment has. */
async function withhold({ gateway }: EthereumPayouts, index = 0): Promise<string> {
  const { rows } = await gateway.db.query<{ address: string }>(
    `with chosen as (
       select lookup from addresses where chain = 'ethereum' and branch = 0 and issued_at is null order by position offset $1 limit 1)
     update addresses a set withheld = true from chosen where a.chain = 'ethereum' and a.lookup = chosen.lookup
     returning a.address`,
    [index],
  )
  return rows[0]?.address ?? assert.fail('the pool has addresses')
}
