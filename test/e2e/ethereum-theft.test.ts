/** Who has the key of a deposit address empties it, on a real Anvil: the block that shows it is the block whose proof finds it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { encodeFunctionData, parseAbi } from 'viem/utils'
import type { Payment } from '../../src/payments/payment.ts'
import { listFundedAddresses } from '../../src/proof/holdings.sql.ts'
import { proveBlock } from '../../src/proof/prove-block.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const GWEI = 10n ** 9n
const THIEF = `0x${'7e'.repeat(20)}` as const
const ERC20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
])
const payouts = await ethereumPayouts({ confirmations: 2 })
const { anvil, gateway, port, signer } = payouts
const chainId = Number(await anvil.rpc<string>('eth_chainId', []))

/** A transaction of the payment's address, in a block. */
async function send({ address }: Payment, call: { to: `0x${string}`; value?: bigint; data?: `0x${string}` }) {
  const { rows } = await gateway.db.query<{ position: bigint }>(
    'select position from addresses where chain = $1 and address = $2',
    ['ethereum', address],
  )
  const key = signer.vault.get('ethereum')?.privateKey(0, rows[0]?.position ?? -1n)
  assert.ok(key)
  const raw = await privateKeyToAccount(`0x${Buffer.from(key).toString('hex')}`).signTransaction({
    type: 'eip1559',
    chainId,
    nonce: Number(await port.nextNonce?.(address)),
    gas: 100_000n,
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: GWEI,
    ...call,
  })
  await anvil.rpc('eth_sendRawTransaction', [raw])
  await anvil.mine()
}

/** What the proof of the last block asks the chain about, the walk over old addresses aside. */
async function movedLately(): Promise<string[]> {
  const { rows } = await gateway.db.query<{ height: bigint }>('select tip_height as height from chains')
  return listFundedAddresses(gateway.db, 'ethereum', {
    aboveHeight: Number(rows[0]?.height) - 1,
    after: '',
    limit: 100,
  })
}

async function requireFound(asset: 'ETH' | 'USDC', { address }: Payment): Promise<void> {
  await payouts.follow()
  assert.deepEqual(await movedLately(), [address])
  assert.equal(await proveBlock(gateway, port), 'unlike')
  const { rows } = await gateway.db.query<{ reason: string }>('select reason from freezes where asset = $1', [
    asset,
  ])
  assert.match(rows[0]?.reason ?? '', new RegExp(`address ${address}`))
}

describe('a theft with the key of an old deposit address', () => {
  it('of its ether is found by the proof of its block', async () => {
    const payment = await payouts.pay('ETH', 100n)
    await anvil.mine(20)
    await payouts.follow()
    await payouts.prove()
    assert.deepEqual(await movedLately(), [])
    await send(payment, { to: THIEF, value: payment.dueAtoms / 2n })
    await requireFound('ETH', payment)
  })

  it('of its tokens by somebody whom it approved too: their owner is in the log', async () => {
    const payment = await payouts.pay('USDC', 100n)
    const [stranger] = await anvil.rpc<`0x${string}`[]>('eth_accounts', [])
    assert.ok(stranger)
    await anvil.rpc('anvil_setBalance', [payment.address, `0x${(10n ** 18n).toString(16)}`])
    const usdc = payouts.usdc as `0x${string}`
    const approve = encodeFunctionData({ abi: ERC20, functionName: 'approve', args: [stranger, 2n ** 200n] })
    await send(payment, { to: usdc, data: approve })
    await anvil.mine(20)
    await payouts.follow()
    await payouts.follow()
    assert.deepEqual(await movedLately(), [])
    const address = payment.address as `0x${string}`
    const args = [address, THIEF, payment.dueAtoms] as const
    const data = encodeFunctionData({ abi: ERC20, functionName: 'transferFrom', args })
    await anvil.send({ to: usdc, data })
    await anvil.mine()
    await requireFound('USDC', payment)
  })

  it('is forgotten with its block: a reorganisation takes what the block showed', async () => {
    await anvil.reorganise(3)
    await payouts.follow()
    const { rows } = await gateway.db.query<{ spends: bigint }>(
      'select count(*) as spends from address_spends where block_height >= (select tip_height - 3 from chains)',
    )
    assert.equal(rows[0]?.spends, 0n)
  })
})
