/** What sweeps leave of the gas that their addresses were given, on a chain without EIP-7702; the books proven after every turn. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { reconcile } from '../../src/proof/reconcile.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const GWEI = 10n ** 9n
const payouts = await ethereumPayouts({ confirmations: 2, hardfork: 'cancun' })
const { anvil, gateway, port } = payouts
/** Of the payment whose address most of this is about. */
let address = ''

describe('what a sweep leaves of its gas', () => {
  it('lies at its address while it is not worth a sweep of its own, and is shown', async () => {
    await baseFee(50n)
    const payment = await payouts.pay('USDC', 5_000n)
    address = payment.address
    await turnAt(50n)
    assert.deepEqual(await kindsOf(), { gas: 1, sweep: 1 })
    assert.equal(await payouts.tokensOf('USDC', address), 0n)
    assert.ok((await anvil.balance(address)) > 0n)
    assert.deepEqual(await gasLeft(), [
      { chain: 'ethereum', addresses: 1n, atoms: await anvil.balance(address) },
    ])
  })

  it('pays for the next sweep of the address, which is given only what is missing', async () => {
    const left = await anvil.balance(address)
    await deposit(2_000_000_000n)
    await turnAt(50n)
    assert.equal(await payouts.tokensOf('USDC', address), 0n)
    assert.deepEqual(await kindsOf(), { gas: 2, sweep: 2 })
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      'select atoms from gas_funding order by block_height',
    )
    const [first, second] = rows
    assert.ok(first && second && left > 0n && second.atoms < first.atoms)
    assert.equal(second.atoms + left, first.atoms, 'what is missing, and no more')
  })

  it('is all that a next sweep needs when gas is cheaper', async () => {
    await baseFee(10n)
    await deposit(2_000_000_000n)
    await turnAt(10n)
    assert.equal(await payouts.tokensOf('USDC', address), 0n)
    assert.deepEqual(await kindsOf(), { gas: 2, sweep: 3 })
  })

  it('goes to the hot wallet with a deposit of ether', async () => {
    const before = await anvil.balance(payouts.hotWallet)
    const left = await anvil.balance(address)
    await anvil.send({ to: address, value: 10n ** 18n })
    await anvil.mine()
    await turnAt(50n)
    assert.equal(await anvil.balance(address), 0n)
    const { rows } = await gateway.db.query<{ fee: bigint }>(
      "select paid_fee_atoms as fee from signed_transactions where asset = 'ETH' and kind = 'sweep'",
    )
    assert.equal((await anvil.balance(payouts.hotWallet)) - before, 10n ** 18n + left - (rows[0]?.fee ?? 0n))
    assert.deepEqual(await gasLeft(), [])
  })

  it('goes to the hot wallet alone when gas is so cheap that it is worth it', async () => {
    await baseFee(50n)
    const { address: other } = await payouts.pay('USDC', 5_000n)
    await turnAt(50n)
    const left = await anvil.balance(other)
    assert.ok(left > 0n)
    assert.equal((await gasLeft())[0]?.atoms, left)
    await baseFee(1n)
    await payouts.finish()
    await payouts.finish()
    assert.equal(await anvil.balance(other), 0n)
    assert.deepEqual(await gasLeft(), [])
    const { rows } = await gateway.db.query('select from deposits where sweep is null')
    assert.equal(rows.length, 0)
  })
})

async function deposit(atoms: bigint): Promise<void> {
  await anvil.call(payouts.usdc, 'transfer', [address, atoms])
  await anvil.mine()
}

const baseFee = (gwei: bigint) => payouts.setBaseFee(gwei * GWEI)

/** Turns while gas costs so much, until all that is worth it moved. */
async function turnAt(gwei: bigint): Promise<void> {
  for (let block = 0; block < 8; block++) {
    await baseFee(gwei)
    await payouts.turn()
  }
}

const gasLeft = async () => (await reconcile(gateway.db, [port])).gasLeft

async function kindsOf(): Promise<Record<string, number>> {
  const { rows } = await gateway.db.query<{ kind: string; count: bigint }>(
    'select kind, count(*) as count from signed_transactions group by kind order by kind',
  )
  return Object.fromEntries(rows.map(({ kind, count }) => [kind, Number(count)]))
}
