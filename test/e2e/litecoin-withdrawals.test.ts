import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { bech32, bech32m } from '@scure/base'
import { formatDecimal } from '../../src/core/money.ts'
import { quoteWithdrawal } from '../../src/flows/withdrawals/price-withdrawal.ts'
import { refundPayment } from '../../src/flows/withdrawals/refund-payment.ts'
import { readOwnBalances, requestOwnPayout } from '../../src/flows/withdrawals/request-own-payout.ts'
import { walletAtoms } from '../../src/ledger/own-sums.ts'
import { wishBump } from '../../src/treasury/signed-transactions.sql.ts'
import { payoutRoad } from './payout-road.ts'

const road = await payoutRoad('litecoin')
const { node, gateway, account } = road
const COIN = 100_000_000n

describe('a withdrawal on a real Litecoin node', () => {
  afterEach(() => road.prove())

  it('of each kind of address arrives to the atom, as quoted, and is announced once', async () => {
    await road.earn(500n, 300n)
    const program = (length: number) => new Uint8Array(length).fill(7)
    const destinations = [
      await node.call<string>('getnewaddress', '', 'legacy'),
      await node.call<string>('getnewaddress', '', 'p2sh-segwit'),
      await node.call<string>('getnewaddress', '', 'bech32'),
      bech32.encode('rltc', [0, ...bech32.toWords(program(32))]),
      bech32m.encode('rltc', [1, ...bech32m.toWords(program(32))]),
    ]
    const asked = []
    for (const [index, destination] of destinations.entries()) {
      const amount = COIN / 3n + BigInt(index)
      const order = { asset: 'LTC', amount: `0.3333333${3 + index}`, destination } as const
      const quoted = await quoteWithdrawal(gateway, gateway.db, account, order)
      const withdrawal = await road.request(amount, destination)
      assert.deepEqual([quoted.netAtoms, quoted.amountAtoms], [withdrawal.netAtoms, amount])
      asked.push(withdrawal)
    }
    await road.prove()
    await road.turn()
    await road.prove()
    const [first] = asked
    assert.ok(first)
    const { txHash } = await road.now(first)
    assert.ok(txHash)
    assert.deepEqual(await road.waiting(), [txHash], 'one transaction pays them all')
    for (const each of asked) assert.deepEqual([(await road.now(each)).status], ['broadcast'])
    for (let confirmations = 1; confirmations < 6; confirmations++) {
      await road.mine(1)
      assert.equal((await road.now(first)).status, 'broadcast')
      await road.prove()
    }
    await road.mine(1)
    for (const each of asked) {
      const done = await road.now(each)
      assert.deepEqual([done.status, done.txHash], ['completed', txHash])
      assert.ok(done.completedAt)
      assert.deepEqual(await road.paid(txHash, each.destination), [each.netAtoms])
      assert.deepEqual(await road.announced(each), ['payout.completed'])
    }
    await road.mine(1)
    assert.deepEqual(await road.announced(first), ['payout.completed'])
  })

  it('brings change back that pays the next one, before anything else was earned', async () => {
    const coins = [...(await road.spendable()).values()].sort((a, b) => Number(b - a))
    assert.equal(coins.length, 2)
    const one = await road.request(((coins[0] ?? 0n) * 102n) / 100n, await road.stranger())
    await road.turn()
    assert.equal((await road.spendable()).size, 0, 'what waits in no block is not spent')
    const two = await road.request(COIN, await road.stranger())
    await road.turn()
    assert.equal((await road.now(two)).status, 'requested')
    await road.mine(1)
    await road.send()
    assert.equal((await road.now(two)).status, 'broadcast', 'its change is spent once a block holds it')
    await road.mine(6)
    await road.mine(1)
    for (const each of [one, two]) assert.equal((await road.now(each)).status, 'completed')
  })

  it('of the fees that the gateway earned goes with a merchant’s in one transaction, and capital comes back', async () => {
    await road.earn(500n)
    const hot = road.signer.vault.get('litecoin')?.hotWallet.address
    await node.pay([[hot ?? '', '1']])
    await road.mine(6)
    const of = { chain: 'litecoin', asset: 'LTC' } as const
    const [before] = await readOwnBalances(gateway.db, of)
    assert.ok(before && before.fees > 0n && before.capital === COIN)
    const take = (kind: 'fees' | 'capital', atoms: bigint, destination: string) =>
      gateway.db.transaction((tx) =>
        requestOwnPayout(gateway, tx, {
          kind,
          mode: 'live',
          asset: 'LTC',
          amount: formatDecimal(atoms, 8),
          destination,
        }),
      )
    await assert.rejects(take('fees', before.payable.fees + 1n, await road.stranger()), {
      reason: 'insufficient_balance',
    })
    const fees = await take('fees', before.payable.fees, await road.stranger())
    const merchants = await road.request(COIN / 10n, await road.stranger())
    await road.prove()
    await road.turn()
    assert.equal((await road.waiting()).length, 1)
    await road.mine(6)
    await road.mine(1)
    const [between] = await readOwnBalances(gateway.db, of)
    const capital = await take('capital', between?.payable.capital ?? 0n, await road.stranger())
    await road.turn()
    await road.mine(6)
    await road.mine(1)
    for (const each of [fees, merchants, capital]) {
      const { status, txHash } = await road.now(each)
      assert.equal(status, 'completed')
      assert.deepEqual(await road.paid(txHash ?? '', each.destination), [each.netAtoms])
    }
    assert.deepEqual(await road.announced(fees), [])
    const [after] = await readOwnBalances(gateway.db, of)
    assert.ok(after && walletAtoms(after) >= after.owed)
  })

  it('goes out with nine others in one transaction', async () => {
    await road.earn(600n)
    const asked = []
    for (let count = 1n; count <= 10n; count++)
      asked.push(await road.request(count * 5_000_000n, await road.stranger()))
    await road.turn()
    assert.equal((await road.waiting()).length, 1)
    await road.mine(6)
    for (const each of asked) {
      const { status, txHash } = await road.now(each)
      assert.equal(status, 'completed')
      assert.deepEqual(await road.paid(txHash ?? '', each.destination), [each.netAtoms])
    }
  })

  it('keeps change to be bumped from, where another coin can give it', async () => {
    await road.earn(2n)
    // The coin of 0.02 LTC pays 1,996,799 atoms and the least fee, and 1,000 atoms are left: no child could pay from that.
    const withdrawal = await road.request(2_003_223n, await road.stranger())
    assert.equal(withdrawal.netAtoms, 1_996_799n)
    await road.turn()
    const { txHash } = await road.now(withdrawal)
    const { vin, vout } = await node.call<{ vin: unknown[]; vout: { value: number }[] }>(
      'getrawtransaction',
      txHash,
      true,
    )
    assert.deepEqual([vin.length, vout.length], [1, 2], 'a larger coin pays it')
    const values = vout.map(({ value }) => Math.round(value * 1e8)).sort((one, other) => one - other)
    assert.ok(values.includes(1_996_799) && values.every((value) => value > 1_500), values.join())
    await road.mine(6)
    assert.deepEqual(await road.paid(txHash ?? '', withdrawal.destination), [withdrawal.netAtoms])
  })

  it('returns to the buyer what he paid too much, and tells of it once it confirms', async () => {
    const payment = await road.create('LTC')
    const excess = 5_000_000n
    await node.pay([[payment.address, formatDecimal(payment.dueAtoms + excess, 8)]])
    await node.mine(6)
    await road.follow()
    assert.equal((await road.show(payment)).status, 'overpaid')
    const [available, unresolved] = [
      await road.balance('LTC', 'available'),
      await road.balance('LTC', 'unresolved'),
    ]
    const destination = await road.stranger()
    const refund = await gateway.db.transaction((tx) =>
      refundPayment(gateway, tx, account, payment.id, { destination, amount: null, askedBy: 'unknown' }),
    )
    assert.deepEqual([refund.kind, refund.amountAtoms, refund.feeAtoms], ['refund', excess, 0n])
    await road.turn()
    await road.prove()
    assert.ok(!(await road.events(payment)).includes('payment.refunded'))
    await road.mine(6)
    const { status, txHash } = await road.now(refund)
    assert.equal(status, 'completed')
    assert.deepEqual(await road.paid(txHash ?? '', destination), [refund.netAtoms])
    assert.deepEqual(
      (await road.events(payment)).filter((type) => type === 'payment.refunded'),
      ['payment.refunded'],
    )
    assert.equal(await road.balance('LTC', 'available'), available, 'the merchant keeps what he earned')
    assert.equal(unresolved - (await road.balance('LTC', 'unresolved')), excess)
  })

  it('offers between floor and ceiling, and no more than five times its quote, whatever rates the database holds', async () => {
    for (const [stored, least, most] of [
      [1n, 1_000n, 1_100n],
      // Quoted at 20,000 litoshi a thousand virtual bytes.
      [10n ** 12n, 99_000n, 101_000n],
    ] as const) {
      await road.earn(200n)
      const withdrawal = await road.request(COIN / 2n, await road.stranger())
      await gateway.db.query("update fee_rates set rate = $1 where chain = 'litecoin'", [stored])
      await road.sign()
      await road.send()
      const { txHash } = await road.now(withdrawal)
      const { fees, vsize } = await node.call<{ fees: { base: number }; vsize: number }>(
        'getmempoolentry',
        txHash,
      )
      const rate = BigInt(Math.floor((fees.base * 1e11) / vsize))
      assert.ok(least <= rate && rate <= most, `${rate} per thousand virtual bytes`)
      await road.mine(6)
      assert.deepEqual(await road.paid(txHash ?? '', withdrawal.destination), [withdrawal.netAtoms])
    }
  })

  it('that is stuck is paid for by a child; the two confirm together or one after the other, paid once', async () => {
    for (const together of [true, false]) {
      await road.earn(200n)
      const withdrawal = await road.request(COIN / 2n, await road.stranger())
      await road.turn()
      const parent = (await road.now(withdrawal)).txHash
      assert.ok(parent && (await wishBump(gateway.db, 'litecoin', parent)))
      await road.turn()
      const set = await road.replacementSet(withdrawal)
      assert.deepEqual(
        set.map(({ kind }) => kind),
        ['payout', 'child'],
      )
      const child = set[1]?.txid
      assert.deepEqual((await road.waiting()).sort(), [parent, child].sort())
      const entry = await node.call<{ fees: { ancestor: number }; ancestorsize: number }>(
        'getmempoolentry',
        child,
      )
      assert.ok((entry.fees.ancestor * 1e8) / entry.ancestorsize >= 25, 'the two offer a quarter more')
      await road.prove()
      if (!together) {
        await node.call('generateblock', await node.address(), [await road.raw(parent)])
        await road.follow()
        await road.turn()
        await road.prove()
        assert.deepEqual(await road.waiting(), [child])
      }
      await road.mine(6)
      const done = await road.now(withdrawal)
      assert.deepEqual([done.status, done.txHash], ['completed', parent])
      assert.deepEqual(await road.paid(parent, withdrawal.destination), [withdrawal.netAtoms])
      assert.deepEqual(await road.announced(withdrawal), ['payout.completed'])
      await road.mine(1)
      await road.prove()
    }
  })
})
