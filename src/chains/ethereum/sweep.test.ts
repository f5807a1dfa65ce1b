import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { encodeFunctionData, parseAbi } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { startAnvil } from '../../../test/anvil.ts'
import { SILENT } from '../../core/log.ts'
import { delegateDeployment } from './delegate.ts'
import { createEthereumChain } from './ethereum-chain.ts'
import { isDelegatedTo, type Sweep, sweepCall } from './sweep.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const anvil = await startAnvil({ hardfork: 'prague' })
const usdc = await anvil.deploy('UsdCoin')
const usdt = await anvil.deploy('TetherToken')
const chain = createEthereumChain({
  rpcUrl: anvil.url,
  network: 'dev',
  usdcContract: usdc,
  usdtContract: usdt,
  log: SILENT,
})
const treasury = privateKeyToAccount(generatePrivateKey())
await anvil.send({ to: treasury.address, value: 10n * ETHER })
const deployed = await anvil.send({ data: delegateDeployment(treasury.address) })
await anvil.mine()
const { contractAddress: delegate } = await receiptOf(deployed)
assert.ok(delegate)

describe('the sweep delegate', () => {
  it('brings ether and both tokens of many addresses to the treasury in one transaction', async () => {
    const accounts = Array.from({ length: 6 }, newAccount)
    for (const [i, account] of accounts.entries()) {
      if (i % 3 === 0) await anvil.send({ to: account.address, value: ETHER })
      else await anvil.call(i % 3 === 1 ? usdc : usdt, 'transfer', [account.address, 5_000_000n])
    }
    await anvil.mine()
    const before = await holdingsOf(treasury.address)
    const { gasWei, status } = await sweep(
      accounts.map((account, i) => ({ account: account.address, token: [null, usdc, usdt][i % 3] ?? null })),
      accounts,
    )
    assert.equal(status, '0x1')
    assert.deepEqual(await holdingsOf(treasury.address), {
      ETH: before.ETH + 2n * ETHER - gasWei,
      USDC: before.USDC + 10_000_000n,
      USDT: before.USDT + 10_000_000n,
    })
    for (const account of accounts) {
      assert.deepEqual(await holdingsOf(account.address), { ETH: 0n, USDC: 0n, USDT: 0n })
      assert.ok(isDelegatedTo(await anvil.rpc('eth_getCode', [account.address, 'latest']), delegate))
    }
  })

  it('goes on when one address does not delegate and when a token refuses another', async () => {
    const [good, other, blocked] = [newAccount(), newAccount(), newAccount()]
    for (const account of [good, other]) await anvil.send({ to: account.address, value: ETHER })
    await anvil.call(usdt, 'transfer', [blocked.address, 5_000_000n])
    await anvil.call(usdt, 'addBlackList', [blocked.address])
    await anvil.mine()
    const { status, logs } = await sweep(
      [
        { account: blocked.address, token: usdt },
        { account: other.address, token: null },
        { account: good.address, token: null },
      ],
      [blocked, good],
    )
    assert.equal(status, '0x1')
    assert.equal(logs.length, 3)
    assert.equal(await anvil.balance(good.address), 0n)
    assert.equal(await anvil.balance(other.address), ETHER)
    assert.equal((await holdingsOf(blocked.address)).USDT, 5_000_000n)
  })

  it('obeys nobody but the treasury, not even through an address that delegates', async () => {
    const account = newAccount()
    await sweep([], [account])
    await anvil.send({ to: account.address, value: ETHER })
    await anvil.mine()
    const thief = anvil.accounts[7] ?? ''
    const sweepOne = encodeFunctionData({
      abi: parseAbi(['function sweep(address token)']),
      args: [`0x${'0'.repeat(40)}`],
    })
    for (const [to, data] of [
      [delegate, sweepCall([{ account: account.address, token: null }])],
      [account.address, sweepCall([{ account: account.address, token: null }])],
      [account.address, sweepOne],
      [delegate, sweepOne],
    ] as const) {
      const hash = await anvil.send({ from: thief, to, data })
      await anvil.mine()
      assert.equal((await receiptOf(hash)).status, '0x0')
    }
    assert.equal(await anvil.balance(account.address), ETHER)
  })

  it('lets an address take ether as before: plain, with data, and from a contract with little gas', async () => {
    const account = newAccount()
    await sweep([], [account])
    const payer = await anvil.deploy('Payer')
    const hops = await anvil.deploy('Hop')
    await anvil.send({ to: account.address, value: 1n })
    await anvil.send({ to: account.address, value: 2n, data: '0xdeadbeef00' })
    await anvil.call(payer, 'payAll', [[account.address]], { value: 4n })
    await anvil.call(hops, 'pass', [[account.address]], { value: 8n })
    await anvil.call(payer, 'payFrugally', [account.address], { value: 16n })
    await anvil.mine()
    assert.equal(await anvil.balance(account.address), 31n)
  })

  it('is a cost of the chain that readers of blocks see through: ether swept hides no ether received', async () => {
    const account = newAccount()
    const payer = await anvil.deploy('Payer')
    await anvil.send({ to: account.address, value: ETHER })
    await anvil.mine()
    await anvil.call(payer, 'payAll', [[account.address]], { value: 7n })
    await sweep([{ account: account.address, token: null }], [account])
    const { hash } = await chain.tip()
    const block = await chain.readBlock(hash, { accounts: [account.address] })
    const credit = block.transactions.find((one) => one.key.startsWith('internal:'))
    assert.deepEqual(
      credit?.outputs.map((output) => output.atoms),
      [7n],
    )
  })

  it('is not deployed for a treasury that is nobody', async () => {
    const hash = await anvil.send({ data: delegateDeployment(`0x${'0'.repeat(40)}`) })
    await anvil.mine()
    assert.equal((await receiptOf(hash)).status, '0x0')
  })
})

interface Receipt {
  readonly status: string
  readonly contractAddress: string | null
  readonly gasUsed: string
  readonly effectiveGasPrice: string
  readonly logs: readonly unknown[]
}

function receiptOf(hash: string): Promise<Receipt> {
  return anvil.rpc('eth_getTransactionReceipt', [hash])
}

/** Signs and mines one sweep by the treasury, with authorisations of the accounts that do not delegate yet. */
async function sweep(sweeps: readonly Sweep[], delegating: readonly PrivateKeyAccount[]) {
  assert.ok(delegate)
  const to = delegate as `0x${string}`
  const raw = await treasury.signTransaction({
    type: 'eip7702',
    chainId: 31_337,
    to,
    data: sweepCall(sweeps),
    nonce: Number(await chain.nextNonce?.(treasury.address)),
    gas: 3_000_000n,
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: GWEI,
    authorizationList: await Promise.all(
      delegating.map((account) => account.signAuthorization({ address: to, chainId: 31_337, nonce: 0 })),
    ),
  })
  const hash = await anvil.rpc<string>('eth_sendRawTransaction', [raw])
  await anvil.mine()
  const receipt = await receiptOf(hash)
  return { ...receipt, gasWei: BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice) }
}

async function holdingsOf(address: string) {
  const { ETH = 0n, USDC = 0n, USDT = 0n } = await chain.holdings({ addresses: [address], outpoints: [] })
  return { ETH, USDC, USDT }
}

function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`)
}
