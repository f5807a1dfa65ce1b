/**
 * Gas per swept deposit, on a real Anvil with the rules of Prague: each address sending by itself (tokens after we
 * funded its gas), against one EIP-7702 transaction of the treasury for many. Checks that everything arrived before it
 * prints. The tokens are plain ones: mainnet's USDC costs about 15,000 gas more per transfer, either way.
 *
 *   node bench/sweep-gas.ts
 */
import assert from 'node:assert/strict'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { encodeFunctionData } from 'viem/utils'
import { delegateDeployment, sweepCall } from '../src/chains/ethereum/sweep.ts'
import { CONTRACT_ABI, launchAnvil } from '../test/anvil.ts'

const DEPOSITS = 50
const CHAIN = { chainId: 31_337, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
const TRANSFER_GAS = 21_000n

const anvil = await launchAnvil({ hardfork: 'prague' })
try {
  const token = await anvil.deploy('UsdCoin')
  const treasury = privateKeyToAccount(generatePrivateKey())
  await anvil.send({ to: treasury.address, value: 10n ** 20n })
  await anvil.call(token, 'transfer', [treasury.address, 1n])
  const deployment = await anvil.send({ data: delegateDeployment(treasury.address) })
  await anvil.mine()
  const delegate = (await receiptOf(deployment)).contractAddress
  assert.ok(delegate)

  for (const asset of ['ether', 'token'] as const) {
    const alone = await sweepAlone(asset, await deposit(asset))
    const accounts = await deposit(asset)
    const first = await sweepBatch(asset, accounts, true)
    await deposit(asset, accounts)
    const again = await sweepBatch(asset, accounts, false)
    const figures = { [alone.name]: alone.gas, 'one batch, new addresses': first, 'one batch, again': again }
    for (const [name, gas] of Object.entries(figures)) {
      const ratio = Number(gas) / Number(alone.gas)
      process.stdout.write(
        `${asset.padEnd(6)} ${name.padEnd(28)} ${String(gas).padStart(7)} gas per deposit  ${ratio.toFixed(2)} of sending alone\n`,
      )
    }
  }

  async function deposit(asset: 'ether' | 'token', accounts = Array.from({ length: DEPOSITS }, newAccount)) {
    for (const account of accounts) {
      if (asset === 'ether') await anvil.send({ to: account.address, value: 10n ** 18n })
      else await anvil.call(token, 'transfer', [account.address, 1_000_000n])
    }
    await mineAll()
    return accounts
  }

  async function sweepAlone(asset: 'ether' | 'token', accounts: readonly PrivateKeyAccount[]) {
    const before = await treasuryHas(asset)
    let gas = 0n
    const hashes: string[] = []
    if (asset === 'token') {
      // Funding costs a transfer of its own.
      for (const account of accounts) {
        hashes.push(await anvil.send({ to: account.address, value: 10n ** 16n }))
      }
      await mineAll()
    }
    for (const account of accounts) {
      const call =
        asset === 'ether'
          ? { to: treasury.address, value: 10n ** 18n - TRANSFER_GAS * CHAIN.maxFeePerGas, gas: TRANSFER_GAS }
          : {
              to: token,
              data: encodeFunctionData({
                abi: CONTRACT_ABI,
                functionName: 'transfer',
                args: [treasury.address, 1_000_000n],
              }),
              gas: 100_000n,
            }
      hashes.push(await send(await account.signTransaction({ type: 'eip1559', ...CHAIN, ...call, nonce: 0 })))
    }
    await mineAll()
    for (const hash of hashes) gas += (await receiptOf(hash)).gas
    assert.equal((await treasuryHas(asset)) > before, true)
    if (asset === 'token') assert.equal((await treasuryHas(asset)) - before, 1_000_000n * BigInt(DEPOSITS))
    const name = asset === 'ether' ? 'each alone' : 'each alone, gas funded first'
    return { name, gas: gas / BigInt(accounts.length) }
  }

  async function sweepBatch(
    asset: 'ether' | 'token',
    accounts: readonly PrivateKeyAccount[],
    delegating: boolean,
  ): Promise<bigint> {
    const before = await treasuryHas(asset)
    const to = delegate as `0x${string}`
    const call = {
      ...CHAIN,
      to,
      data: sweepCall(
        accounts.map((account) => ({ account: account.address, token: asset === 'token' ? token : null })),
      ),
      gas: 10_000_000n,
      nonce: Number(await anvil.rpc('eth_getTransactionCount', [treasury.address, 'latest'])),
    }
    const authorizationList = await Promise.all(
      accounts.map((account) => account.signAuthorization({ address: to, chainId: CHAIN.chainId, nonce: 0 })),
    )
    const raw = delegating
      ? await treasury.signTransaction({ type: 'eip7702', ...call, authorizationList })
      : await treasury.signTransaction({ type: 'eip1559', ...call })
    const hash = await send(raw)
    await mineAll()
    const receipt = await receiptOf(hash)
    const arrived = (await treasuryHas(asset)) - before + (asset === 'ether' ? receipt.feeWei : 0n)
    assert.equal(arrived, BigInt(DEPOSITS) * (asset === 'ether' ? 10n ** 18n : 1_000_000n))
    return receipt.gas / BigInt(accounts.length)
  }

  async function treasuryHas(asset: 'ether' | 'token'): Promise<bigint> {
    if (asset === 'ether') return anvil.balance(treasury.address)
    const data = `0x70a08231${treasury.address.slice(2).padStart(64, '0')}`
    return BigInt(await anvil.rpc<string>('eth_call', [{ to: token, data }, 'latest']))
  }
} finally {
  await anvil.remove()
}

function newAccount(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey())
}

function send(raw: string): Promise<string> {
  return anvil.rpc('eth_sendRawTransaction', [raw])
}

/** A block holds 30 million gas; what waits may need several. */
function mineAll(): Promise<void> {
  return anvil.mine(8)
}

async function receiptOf(hash: string) {
  const receipt = await anvil.rpc<{
    status: string
    gasUsed: string
    effectiveGasPrice: string
    contractAddress: string | null
  }>('eth_getTransactionReceipt', [hash])
  assert.equal(receipt.status, '0x1')
  const gas = BigInt(receipt.gasUsed)
  return { gas, feeWei: gas * BigInt(receipt.effectiveGasPrice), contractAddress: receipt.contractAddress }
}
