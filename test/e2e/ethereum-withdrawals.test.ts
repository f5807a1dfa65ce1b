/** Withdrawals of ether and tokens on a real Ethereum node, with the real signer; the books are proven after every turn. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { formatDecimal } from '../../src/core/money.ts'
import { quoteWithdrawal } from '../../src/flows/withdrawals/price-withdrawal.ts'
import { readOwnBalances, requestOwnPayout } from '../../src/flows/withdrawals/request-own-payout.ts'
import { withdrawalResource } from '../../src/withdrawals/withdrawal-resource.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const payouts = await ethereumPayouts({ confirmations: 4 })
const { anvil, gateway, account } = payouts
for (const asset of ['ETH', 'USDC', 'USDT'] as const) await payouts.earn(asset, 5_000n)

const stranger = () => `0x${randomBytes(20).toString('hex')}`

describe('withdrawals on a real Ethereum node', () => {
  it('of every coin wait for the sweeps that feed the hot wallet, and arrive to the atom', async () => {
    const orders = [
      { asset: 'ETH', amount: '0.123456789012345678' },
      { asset: 'USDC', amount: '1234.567891' },
      { asset: 'USDT', amount: '1000.000001' },
    ] as const
    const asked = []
    for (const { asset, amount } of orders) {
      const destination = stranger()
      const quote = await quoteWithdrawal(gateway, gateway.db, account, { asset, amount, destination })
      const withdrawal = await payouts.request(asset, amount, destination)
      assert.deepEqual(
        [withdrawal.feeAtoms, withdrawal.networkFeeAtoms, withdrawal.netAtoms],
        [quote.feeAtoms, quote.networkFeeAtoms, quote.netAtoms],
      )
      asked.push(withdrawal)
    }
    await payouts.finish()
    for (const withdrawal of asked) {
      const now = await payouts.now(withdrawal)
      assert.equal(now.status, 'completed')
      assert.equal(await payouts.announced(withdrawal), 1)
      const held = await payouts.port.holdings({ outpoints: [], addresses: [withdrawal.destination] })
      assert.equal(held[withdrawal.asset], withdrawal.netAtoms)
    }
  })

  it('of fees and capital go out as the others do, and ether stays for gas', async () => {
    const take = (kind: 'fees' | 'capital', asset: 'ETH' | 'USDC', amount: string, destination: string) =>
      gateway.db.transaction((tx) =>
        requestOwnPayout(gateway, tx, { kind, mode: 'live', asset, amount, destination }),
      )
    const balance = async (asset: 'ETH' | 'USDC') => {
      const [row] = await readOwnBalances(gateway.db, { chain: 'ethereum', asset })
      return row ?? assert.fail()
    }
    const [ether, usdc] = [await balance('ETH'), await balance('USDC')]
    assert.ok(ether.capital >= 10n ** 19n && usdc.fees > 0n && ether.keptAtoms > 0n)
    await assert.rejects(take('capital', 'ETH', '11', stranger()), { reason: 'insufficient_balance' })
    const asked = [
      await take('fees', 'USDC', formatDecimal(usdc.payable.fees, 6), stranger()),
      await take('capital', 'ETH', '1.5', stranger()),
    ]
    await payouts.finish()
    for (const withdrawal of asked) {
      assert.equal((await payouts.now(withdrawal)).status, 'completed')
      const held = await payouts.port.holdings({ outpoints: [], addresses: [withdrawal.destination] })
      assert.equal(held[withdrawal.asset], withdrawal.netAtoms)
    }
    assert.deepEqual([(await balance('USDC')).fees, (await balance('USDC')).owed], [0n, usdc.owed])
  })

  it('ten at once of all coins go out under ten nonces in one block', async () => {
    const before = await nonceOfHotWallet()
    const asked = []
    for (let count = 0; count < 10; count++) {
      const asset = (['ETH', 'USDC', 'USDT'] as const)[count % 3] ?? 'ETH'
      asked.push(await payouts.request(asset, asset === 'ETH' ? '0.05' : '20', stranger()))
    }
    await payouts.turn()
    for (const withdrawal of asked) assert.equal((await payouts.now(withdrawal)).status, 'broadcast')
    await anvil.mine()
    assert.equal((await nonceOfHotWallet()) - before, 10n)
    await payouts.follow()
    await payouts.finish()
    for (const withdrawal of asked) {
      assert.equal((await payouts.now(withdrawal)).status, 'completed')
      const held = await payouts.port.holdings({ outpoints: [], addresses: [withdrawal.destination] })
      assert.equal(held[withdrawal.asset], withdrawal.netAtoms)
    }
  })

  for (const asset of ['USDC', 'ETH'] as const) {
    it(`of ${asset} that revert are never booked as paid: the hold is given back, less their gas`, async () => {
      const destination = asset === 'USDC' ? stranger() : await anvil.deploy('OddLogs')
      await anvil.call(payouts.usdc, 'addBlackList', [destination])
      await anvil.mine()
      await payouts.follow()
      const before = await payouts.balance(asset, 'available')
      const costBefore = await networkFees()
      // It began to refuse between the node's answer and the block.
      const refused = await payouts.rehearsed(
        await payouts.request(asset, asset === 'ETH' ? '0.5' : '50', destination),
      )
      const good = await payouts.request('USDT', '30', stranger())
      await payouts.turn()
      await payouts.finish()
      const now = await payouts.now(refused)
      assert.deepEqual([now.status, now.refusedReason], ['failed', 'reverted'])
      assert.equal(await payouts.announced(refused), 0)
      assert.equal(await payouts.balance(asset, 'held'), 0n)
      assert.equal((await payouts.now(good)).status, 'completed', 'what came after it is paid')

      // The merchant is shown why and by what; what the gateway paid for its gas, he did.
      const view = withdrawalResource(now)
      assert.deepEqual([view.failure_reason, view.completed_at], ['reverted', null])
      const { rows } = await gateway.db.query<{ fee: bigint; kind: string }>(
        `select t.paid_fee_atoms as fee, t.status as kind from signed_transactions t join signed_payouts p using (chain, replacement_set)
         where t.txid = $1 or p.withdrawal_id = $2 order by t.status desc`,
        [view.tx_hash, good.id],
      )
      assert.deepEqual(
        rows.map(({ kind }) => kind),
        ['reverted', 'confirmed'],
      )
      const cost = rows.reduce((sum, { fee }) => sum + fee, 0n)
      assert.equal((await networkFees()) - costBefore, cost)
      const kept = asset === 'ETH' ? (rows[0]?.fee ?? 0n) : refused.networkFeeAtoms
      assert.ok(kept > 0n)
      assert.equal(await payouts.balance(asset, 'available'), before - kept)
      const { rows: alerts } = await gateway.db.query<{ message: string }>(
        "select message from alerts where kind = 'payout_reverted' and subject = $1",
        [`ethereum:${view.tx_hash}`],
      )
      assert.match(alerts[0]?.message ?? '', new RegExp(`${view.id} of ${asset} to ${destination} reverted`))
      const { rowCount: released } = await gateway.db.query(
        "select from journal_entries where kind = 'release' and subject_id = $1::text",
        [refused.id],
      )
      assert.equal(released, 1)
      // Nobody can have the gateway pay for that again and again.
      await assert.rejects(payouts.request(asset, '0.5', destination), { reason: 'destination_reverts' })
    })
  }

  it('to contracts that burn all gas cost the gateway nothing, and after some of a day no more are taken', async () => {
    const costOf = async () => {
      const { rows } = await gateway.db.query<{ atoms: bigint }>(
        `select coalesce(sum(case when debit = 'network_fees' then amount_atoms else -amount_atoms end), 0) as atoms
         from transfers where 'network_fees' in (debit, credit) and asset = 'ETH'`,
      )
      return rows[0]?.atoms ?? 0n
    }
    const before = await costOf()
    const available = await payouts.balance('ETH', 'available')
    // One that takes nothing but what its call uses, and others that are worth more.
    const { minimum } = await leastOf()
    for (const amount of [minimum, '0.01', '0.02', '0.03', '0.04', '0.05'])
      await payouts.rehearsed(await payouts.request('ETH', amount, await anvil.deploy('Burner')))
    await payouts.finish()
    const { rows } = await gateway.db.query<{ status: string; reason: string; kept: bigint; paid: bigint }>(
      `select w.status, w.refused_reason as reason, w.kept_atoms as kept, t.paid_fee_atoms as paid from withdrawals w
       join signed_payouts p on p.withdrawal_id = w.id
       join signed_transactions t on t.chain = p.chain and t.replacement_set = p.replacement_set and t.status = 'reverted'
       order by w.created_at desc, w.id desc limit 6`,
    )
    assert.equal(rows.length, 6)
    for (const { status, reason, kept, paid } of rows)
      assert.deepEqual([status, reason, kept], ['failed', 'reverted', paid])
    assert.ok((await costOf()) <= before, 'the gateway paid nothing of its own')
    const kept = rows.reduce((sum, row) => sum + row.kept, 0n)
    assert.equal(await payouts.balance('ETH', 'available'), available - kept)
    await assert.rejects(payouts.request('ETH', '0.05', stranger()), { reason: 'withdrawals_revert' })
    await gateway.db.query(
      "update withdrawals set failed_at = failed_at - interval '25 hours' where status = 'failed'",
    )

    /** The least that is taken: fee and network fee, and a little for the receiver. */
    async function leastOf(): Promise<{ minimum: string }> {
      const quote = await quoteWithdrawal(gateway, gateway.db, account, {
        asset: 'ETH',
        amount: '0.01',
        destination: stranger(),
      })
      return { minimum: formatDecimal((quote.networkFeeAtoms * 11n) / 10n, 18) }
    }
  })

  it('more than the hot wallet holds wait without holding up others, and are paid once it holds enough', async () => {
    const available = await payouts.balance('USDC', 'available')
    await payouts.earn('USDC', 2_000n)
    const large = await payouts.request('USDC', String((available + 1_000_000_000n) / 1_000_000n), stranger())
    const small = await payouts.request('USDT', '10', stranger())
    await payouts.turn()
    assert.equal((await payouts.now(small)).status, 'broadcast')
    assert.equal((await payouts.now(large)).status, 'requested')
    await payouts.finish()
    assert.equal((await payouts.now(large)).status, 'completed')
  })

  it('ether that a contract sends to the hot wallet is capital of the operator', async () => {
    const payer = await anvil.deploy('Payer')
    await anvil.call(payer, 'payAll', [[payouts.hotWallet]], { value: 3n * 10n ** 18n })
    await payouts.mineAndTurn(5)
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      "select sum(amount_atoms) as atoms from transfers where credit = 'capital' and asset = 'ETH'",
    )
    assert.equal(rows[0]?.atoms, 13n * 10n ** 18n)
  })

  it('tokens that somebody sends to the hot wallet are capital of the operator', async () => {
    await anvil.call(payouts.usdt, 'transfer', [payouts.hotWallet, 70_000_000n])
    await payouts.mineAndTurn(5)
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      "select sum(amount_atoms) as atoms from transfers where credit = 'capital' and asset = 'USDT'",
    )
    assert.equal(rows[0]?.atoms, 70_000_000n)
  })
})

/** What the gateway paid for gas so far, in wei. */
async function networkFees(): Promise<bigint> {
  const { rows } = await gateway.db.query<{ atoms: bigint | null }>(
    "select sum(amount_atoms) as atoms from transfers where debit = 'network_fees' and asset = 'ETH'",
  )
  return rows[0]?.atoms ?? 0n
}

async function nonceOfHotWallet(): Promise<bigint> {
  return (await payouts.port.nextNonce?.(payouts.hotWallet)) ?? 0n
}
