import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { storeFeeRates } from '../../src/treasury/fee-rates.sql.ts'
import { wishBump } from '../../src/treasury/signed-transactions.sql.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { payoutRoad } from './payout-road.ts'

const road = await payoutRoad('bitcoin')
const { node, gateway } = road
const COIN = 100_000_000n
const LIFE = ['payment.created', 'payment.confirming', 'payment.completed']

/**
 * Half a coin sent from one coin of our own, and its bump, which the node took in its place.
 *
 * @param rate - What the network asks for meanwhile, in atoms per 1,000 virtual bytes; as before when left out.
 */
async function bumped(
  atoms: bigint,
  rate?: bigint,
): Promise<{ withdrawal: Withdrawal; first: string; second: string }> {
  const withdrawal = await road.request(atoms, await road.stranger())
  await road.turn()
  const first = (await road.now(withdrawal)).txHash
  assert.ok(first)
  assert.deepEqual(await road.waiting(), [first])
  assert.ok(await wishBump(gateway.db, 'bitcoin', first))
  if (rate) await storeFeeRates(gateway.db, 'bitcoin', { rate, priorityRate: 0n })
  await road.turn()
  const second = (await road.now(withdrawal)).txHash
  assert.ok(second && second !== first)
  assert.deepEqual(await road.waiting(), [second])
  await road.prove()
  return { withdrawal, first, second }
}

/** Mines a block of these of our transactions alone. */
async function mineOnly(...txids: readonly string[]): Promise<void> {
  const raws = []
  for (const txid of txids) raws.push(await road.raw(txid))
  await node.call('generateblock', await node.address(), raws)
  await road.follow()
  await road.turn()
}

async function completedOnce(withdrawal: Withdrawal, txid: string): Promise<void> {
  const done = await road.now(withdrawal)
  assert.deepEqual([done.status, done.txHash], ['completed', txid])
  assert.deepEqual(await road.paid(txid, withdrawal.destination), [withdrawal.netAtoms])
  assert.deepEqual(await road.announced(withdrawal), ['payout.completed'])
}

describe('a payment on a real Bitcoin node', () => {
  afterEach(() => road.prove())

  it('is seen at a regtest address, and completed at the second block', async () => {
    const payment = await road.create('BTC', 650n)
    assert.match(payment.address, /^bcrt1q/)
    assert.equal(payment.dueAtoms, 1_000_000n)
    await road.pay(payment)
    await road.follow()
    assert.deepEqual(await road.statusOf(payment), ['detected', ['seen']])
    await road.mine(1)
    assert.equal((await road.show(payment)).confirmations, 1)
    await road.mine(1)
    assert.deepEqual(await road.statusOf(payment), ['completed', ['confirmed']])
    assert.deepEqual(await road.events(payment), LIFE)
  })

  it('that is replaced gives the quote back; one that a reorganisation takes confirms anew', async () => {
    const replaced = await road.create('BTC', 650n)
    const txid = await road.pay(replaced)
    await road.follow()
    await node.replace(txid)
    await road.follow()
    assert.deepEqual(await road.statusOf(replaced), ['pending', ['replaced']])

    const moved = await road.create('BTC', 650n)
    await road.pay(moved)
    await road.mine(2)
    await node.rollBack(2)
    for (let count = 0; count < 3; count++) await node.mineEmpty()
    await road.follow()
    assert.deepEqual(await road.statusOf(moved), ['detected', ['seen']])
    await road.mine(2)
    assert.deepEqual(await road.statusOf(moved), ['completed', ['confirmed']])
    assert.deepEqual(await road.events(moved), LIFE)
  })
})

describe('a payment whose fee the buyer raises', () => {
  afterEach(() => road.prove())

  it('stays detected and counts once, whichever of the two a miner takes', async () => {
    for (const taken of ['replacement', 'original'] as const) {
      const payment = await road.create('BTC', 650n)
      const first = await road.pay(payment)
      const { hex } = await node.call<{ hex: string }>('gettransaction', first)
      await road.follow()
      const { txid: second } = await node.call<{ txid: string }>('bumpfee', first)
      node.forget()
      await road.follow()
      assert.deepEqual(await road.statusOf(payment), ['detected', ['replaced', 'seen']])
      const raw =
        taken === 'original' ? hex : (await node.call<{ hex: string }>('gettransaction', second)).hex
      await node.call('generateblock', await node.address(), [raw])
      await node.mine(1)
      await road.follow()
      const { status, deposits } = await road.show(payment)
      assert.equal(status, 'completed')
      assert.deepEqual(
        deposits.filter((deposit) => deposit.status === 'confirmed').map((deposit) => deposit.tx_hash),
        [taken === 'original' ? first : second],
      )
      assert.deepEqual(await road.events(payment), LIFE)
    }
  })
})

describe('a withdrawal on a real Bitcoin node', () => {
  afterEach(() => road.prove())

  it('arrives to the atom, together with those that waited with it', async () => {
    await road.earn(65_000n)
    const asked = []
    // A litecoind has no wallet of taproot addresses.
    const taproot = node.chain === 'bitcoin' ? ['bech32m'] : []
    for (const kind of ['legacy', 'p2sh-segwit', 'bech32', ...taproot])
      asked.push(await road.request(COIN / 10n, await road.stranger(kind)))
    await road.turn()
    assert.equal((await road.waiting()).length, 1)
    await road.mine(2)
    for (const each of asked) await completedOnce(each, (await road.now(each)).txHash ?? '')
  })

  it('that is stuck is replaced at a higher fee, and paid once by the replacement', async () => {
    await road.earn(65_000n)
    const { withdrawal, second } = await bumped(COIN / 2n)
    await road.mine(1)
    assert.equal((await road.now(withdrawal)).status, 'broadcast')
    await road.mine(1)
    await completedOnce(withdrawal, second)
    assert.deepEqual(
      (await road.replacementSet(withdrawal)).map(({ status }) => status),
      ['displaced', 'confirmed'],
    )
  })

  it('that the node refuses because fees have risen is bumped to what it asks for', async () => {
    await road.earn(65_000n)
    const withdrawal = await road.request(COIN / 2n, await road.stranger())
    await road.sign()
    await node.stop()
    await node.start('-minrelaytxfee=0.0005')
    await road.send()
    assert.equal((await road.now(withdrawal)).status, 'requested')
    await gateway.db.query(
      "update signed_transactions set created_at = created_at - interval '31 minutes' where status not in ('confirmed', 'reverted', 'displaced', 'impossible')",
    )
    await road.turn()
    await road.turn()
    const { status, txHash } = await road.now(withdrawal)
    assert.equal(status, 'broadcast')
    assert.deepEqual(await road.waiting(), [txHash])
    await node.stop()
    await node.start()
    await road.mine(2)
    await completedOnce(withdrawal, txHash ?? '')
    assert.deepEqual(
      (await road.replacementSet(withdrawal)).map(({ kind, status }) => [kind, status]),
      [
        ['payout', 'displaced'],
        ['replacement', 'confirmed'],
      ],
    )
  })

  it('is paid once by the original when a miner takes that after the replacement was sent', async () => {
    await road.earn(65_000n)
    const { withdrawal, first } = await bumped(COIN / 2n)
    await mineOnly(first)
    assert.deepEqual(await road.waiting(), [])
    await road.mine(1)
    await completedOnce(withdrawal, first)
    assert.deepEqual(
      (await road.replacementSet(withdrawal)).map(({ status }) => status),
      ['confirmed', 'displaced'],
    )
  })

  it('gets the coin back that its replacement added, when the original is mined', async () => {
    await road.earn(650n, 1_300n)
    const coins = await atomsOfCoins()
    // Of 1,000,000 atoms 4,590 are left as change: enough to pay twice the fee of 1,410, and not six times as much.
    const { withdrawal, first } = await bumped(997_208n, 60_000n)
    assert.equal(withdrawal.netAtoms, 994_000n)
    assert.equal((await atomsOfCoins()).length, coins.length - 2, 'the bump takes a coin more')
    await mineOnly(first)
    await road.mine(1)
    await completedOnce(withdrawal, first)
    const left = coins.toSpliced(coins.indexOf(1_000_000n), 1)
    assert.deepEqual(await atomsOfCoins(), [4_590n, ...left])
  })

  it('waits for a minted coin to mature, when no other can pay it', async () => {
    // What is left then are the gateway's fees.
    await spendEverything()
    const payment = await road.create('BTC', 650_000n)
    await road.mineTo(payment.address)
    await node.mine(1)
    await road.follow()
    assert.equal((await road.show(payment)).status, 'overpaid')
    const withdrawal = await road.request(9n * COIN, await road.stranger())
    await road.turn()
    assert.equal((await road.now(withdrawal)).status, 'requested')
    await road.mine(97)
    assert.equal((await road.now(withdrawal)).status, 'requested')
    await road.mine(1)
    assert.equal((await road.now(withdrawal)).status, 'broadcast', 'the node takes it, too')
    await road.mine(2)
    await completedOnce(withdrawal, (await road.now(withdrawal)).txHash ?? '')
  })

  it('whose change came from a payout that a reorganisation replaced by its bump gets its hold back', async () => {
    await spendEverything()
    await road.earn(65_000n)
    const { withdrawal, first, second } = await bumped(COIN / 4n)
    await mineOnly(first)
    const next = await road.request(COIN / 4n, await road.stranger())
    await road.turn()
    const spending = (await road.now(next)).txHash
    assert.deepEqual(await road.waiting(), [spending], 'it spends the change of the original')
    const available = await road.balance('BTC', 'available')

    await node.rollBack(1)
    await mineOnly(second)
    await node.mineEmpty()
    await road.follow()
    await road.turn()
    await completedOnce(withdrawal, second)
    assert.equal((await road.now(next)).status, 'broadcast', 'a block may still bring the original back')
    await road.mine(4)
    await road.prove()
    await road.turn()
    const { status, refusedReason } = await road.now(next)
    assert.deepEqual([status, refusedReason], ['failed', 'coins_spent'])
    assert.equal((await road.balance('BTC', 'available')) - available, COIN / 4n)
    const again = await road.request(COIN / 4n, next.destination)
    await road.turn()
    await road.mine(2)
    await completedOnce(again, (await road.now(again)).txHash ?? '')
  })
})

const atomsOfCoins = async (): Promise<bigint[]> =>
  [...(await road.spendable()).values()].sort((a, b) => Number(a - b))

/** Leaves no coins but the fees that the gateway earned. */
async function spendEverything(): Promise<void> {
  const withdrawal = await road.request(await road.balance('BTC', 'available'), await road.stranger())
  await road.turn()
  await road.mine(2)
  assert.equal((await road.now(withdrawal)).status, 'completed')
}
