/** A wallet of many small UTXOs, and fees that rise and fall: on a real Litecoin node, with a rate that the worker is told. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { quoteWithdrawal } from '../../src/flows/withdrawals/price-withdrawal.ts'
import { storeFeeRates } from '../../src/treasury/fee-rates.sql.ts'
import { fillAddressPool } from '../../src/wallets/address-pool.sql.ts'
import { signAll, testSigner } from '../payouts.ts'
import { payoutRoad } from './payout-road.ts'

const COIN = 100_000_000n
const USUAL_RATE = 10_000n

const road = await payoutRoad('litecoin')
const { gateway, signer, account } = road

const rateIs = (rate: bigint) => storeFeeRates(gateway.db, 'litecoin', { rate, priorityRate: 0n })

async function sign(rate = USUAL_RATE): Promise<void> {
  await rateIs(rate)
  await signAll(signer)
}

/** Signs at a rate, sends, mines: until nothing is signed any more. */
async function finish(rate = USUAL_RATE): Promise<void> {
  for (let signed = -1; signed !== (await countSigned()); ) {
    signed = await countSigned()
    await sign(rate)
    await road.send()
    await road.node.mine(1)
    await road.follow()
  }
  await road.node.mine(road.depth)
  await road.send()
}

/** UTXOs of a hundredth of a coin each. */
async function earnSmall(count: number): Promise<void> {
  await fillAddressPool(gateway.db, gateway.secrets, { fresh: count + 8, change: 8 })
  for (let left = count; left > 0; left -= 100)
    await road.earn(...Array.from({ length: Math.min(left, 100) }, () => 1n))
}

async function countSigned(kind = '%'): Promise<number> {
  const { rows } = await gateway.db.query<{ count: bigint }>(
    'select count(*) from signed_transactions where kind like $1',
    [kind],
  )
  return Number(rows[0]?.count)
}

async function feesPaid(): Promise<bigint> {
  const { rows } = await gateway.db.query<{ atoms: bigint }>(
    'select coalesce(sum(fee_atoms), 0) as atoms from signed_transactions',
  )
  return rows[0]?.atoms ?? 0n
}

describe('a wallet of 1,000 small UTXOs', () => {
  afterEach(() => road.prove())

  it('pays a withdrawal that needs nearly all of them: they are gathered first, and it is charged what that costs', async () => {
    await earnSmall(1_000)
    const destination = await road.stranger()
    const amount = 9n * COIN
    await rateIs(USUAL_RATE)
    const quoted = await quoteWithdrawal(gateway, gateway.db, account, {
      asset: 'LTC',
      amount: '9',
      destination,
    })
    // 68 virtual bytes for each of the UTXOs that it takes, at ten a byte.
    assert.ok(quoted.networkFeeAtoms > 880n * 680n, `${quoted.networkFeeAtoms}`)
    const withdrawal = await road.request(amount, destination)
    await finish()
    const done = await road.now(withdrawal)
    assert.equal(done.status, 'completed')
    assert.deepEqual(await road.paid(done.txHash ?? '', destination), [withdrawal.netAtoms])
    assert.ok((await countSigned('consolidation')) >= 2)
    const paid = await feesPaid()
    assert.ok(paid <= withdrawal.networkFeeAtoms, `${paid} paid, ${withdrawal.networkFeeAtoms} charged`)
  })
})

describe('fees that jump a hundredfold', () => {
  afterEach(() => road.prove())

  it('make a small withdrawal wait, pass it when they fall, and never hold up what is worth them', async () => {
    await road.earn(3_000n)
    await rateIs(USUAL_RATE)
    const small = await road.request(COIN / 100n, await road.stranger())
    const large = await road.request(10n * COIN, await road.stranger())
    await sign(100n * USUAL_RATE)
    assert.equal((await road.replacementSet(small)).length, 0)
    assert.equal((await road.replacementSet(large)).length, 1)
    await road.send()
    await road.node.mine(1)
    await road.follow()
    await sign(100n * USUAL_RATE)
    assert.equal(
      (await road.replacementSet(small)).length,
      0,
      'what is sent for it would cost more than it pays',
    )
    await finish()
    for (const each of [small, large]) assert.equal((await road.now(each)).status, 'completed')
  })
})

describe('many UTXOs', () => {
  afterEach(() => road.prove())

  it('are gathered while fees are low and nobody waits, the largest left for payouts', async () => {
    await earnSmall(300)
    const before = await countSigned('consolidation')
    const fresh = await testSigner(gateway, ['litecoin'])
    await rateIs(30_000n)
    await signAll(fresh)
    assert.equal(await countSigned('consolidation'), before, 'not at 30 atoms a byte')
    const count = (await road.spendable()).size
    assert.ok(count > 200)
    const other = await testSigner(gateway, ['litecoin'])
    await rateIs(USUAL_RATE)
    await signAll(other)
    assert.equal(await countSigned('consolidation'), before + 1)
    assert.equal((await road.spendable()).size, 50)
    await road.send()
    await road.node.mine(road.depth)
    await road.send()
    assert.equal((await road.spendable()).size, 51)
  })
})
