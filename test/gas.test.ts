/**
 * What Beck signs for Ethereum, run under each fork in an EVM that is not the node's of the other tests: every kind of
 * transaction keeps within the gas it may use, and payouts within what is quoted for them.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createBlock } from '@ethereumjs/block'
import { Common, Mainnet } from '@ethereumjs/common'
import { createTxFromRLP } from '@ethereumjs/tx'
import { Account, createAccount, createAddressFromString, hexToBytes } from '@ethereumjs/util'
import { createVM, runTx } from '@ethereumjs/vm'
import { fromPublicKey } from 'ox/Address'
import { getPublicKey } from 'ox/Secp256k1'
import { balanceAnswers, balanceCalls, readBalances } from '../src/chains/ethereum/balances.ts'
import { DEPLOYER } from '../src/chains/ethereum/delegate.ts'
import {
  delegateAddress,
  signDelegateCreation,
  signSweepBatch,
  signTransfer,
} from '../src/chains/ethereum/sign.ts'
import type { Hex } from '../src/chains/ethereum/wire.ts'
import { NodeError, type Rpc } from '../src/chains/json-rpc.ts'
import { FORKS, type Fork } from '../src/core/forks.ts'
import { batchGasMost, scheduleOf, TRANSACTION_GAS_MOST } from '../src/treasury/gas.ts'
import { compileFolder } from './solidity.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
/** The code of the deployment proxy at {@link DEPLOYER}. */
const PROXY =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3'
/** Beck's calls for balances have to stay far below what nodes allow for a call: 50 million by default. */
const CALL_GAS_MOST = 10_000_000n

const tokens = await compileFolder(new URL('contracts/', import.meta.url))

const keyOf = (number: number) => hexToBytes(`0x${number.toString(16).padStart(64, '0')}`)
const addressOf = (key: Uint8Array) =>
  fromPublicKey(getPublicKey({ privateKey: `0x${Buffer.from(key).toString('hex')}` }))
const nobody = (number: number): Hex => `0x${number.toString(16).padStart(40, 'a')}`
const HOT = keyOf(77)
const hot = addressOf(HOT)
const EXISTING = nobody(1)

/** A chain of this fork, with a hot wallet that has ether and a token of each kind. */
async function openChain(fork: Fork) {
  const common = new Common({ chain: Mainnet, hardfork: fork })
  const vm = await createVM({ common })
  const header = { gasLimit: 60_000_000n, baseFeePerGas: GWEI, number: 1n }
  const block = createBlock({ header }, { common, skipConsensusFormatValidation: true })
  const state = vm.stateManager
  const at = createAddressFromString
  const nonceOf = async (of: string) => ((await state.getAccount(at(of))) ?? new Account()).nonce
  await state.putAccount(at(hot), createAccount({ balance: 1_000n * ETHER }))
  await state.putAccount(at(EXISTING), createAccount({ balance: 1n }))
  await state.putAccount(at(DEPLOYER), createAccount({ nonce: 1n }))
  await state.putCode(at(DEPLOYER), hexToBytes(PROXY))

  return {
    state,
    envelope: async (gasLimit: bigint, from = hot) => ({
      chainId: 1,
      nonce: await nonceOf(from),
      gasLimit,
      maxFeeWei: 3n * GWEI,
      priorityFeeWei: GWEI,
    }),
    async deploy(bytecode: Hex): Promise<Hex> {
      const made = await vm.evm.runCall({
        data: hexToBytes(bytecode),
        caller: at(hot),
        gasLimit: 50_000_000n,
        block,
      })
      assert.ok(made.createdAddress && !made.execResult.exceptionError)
      return made.createdAddress.toString()
    },
    /** @returns The gas it used, and how many logs it left. @throws When it fails. */
    async run({ raw }: { readonly raw: string }) {
      const tx = createTxFromRLP(hexToBytes(raw as Hex), { common })
      const done = await runTx(vm, {
        tx,
        block,
        skipBlockGasLimitValidation: true,
        skipHardForkValidation: true,
      })
      assert.equal(done.execResult.exceptionError?.error, undefined)
      return { gas: done.totalGasSpent, logs: done.receipt.logs.length }
    },
    async call(data: Hex) {
      const { execResult } = await vm.evm.runCall({ data: hexToBytes(data), gasLimit: 50_000_000n, block })
      return { gas: execResult.executionGasUsed, reverted: execResult.returnValue }
    },
  }
}

for (const fork of FORKS)
  describe(`gas under ${fork}`, async () => {
    const gas = scheduleOf({ fork })
    const chain = await openChain(fork)
    const contracts = {
      USDC: await chain.deploy(tokens.UsdCoin?.bytecode ?? '0x'),
      USDT: await chain.deploy(tokens.TetherToken?.bytecode ?? '0x'),
    }
    const ether = (gasLimit: bigint, to: string, from = HOT) =>
      chain
        .envelope(gasLimit, addressOf(from))
        .then((envelope) =>
          signTransfer({ ...envelope, asset: 'ETH', contract: null, to, atoms: GWEI }, from),
        )
    const token = (gasLimit: bigint, to: string, asset: 'USDC' | 'USDT', from = HOT) =>
      chain
        .envelope(gasLimit, addressOf(from))
        .then((envelope) =>
          signTransfer({ ...envelope, asset, contract: contracts[asset], to, atoms: 1_000n }, from),
        )

    test('a payout of ether uses no more than is quoted, to an account that is new', async () => {
      const { gas: used } = await chain.run(await ether(gas.payoutMost.ETH, nobody(2)))
      assert.equal(used, gas.transfer + gas.newAccount)
      assert.ok(used <= gas.quoted.ETH)
    })

    for (const asset of ['USDC', 'USDT'] as const)
      test(`a payout of ${asset} uses no more than is quoted, to who never held it`, async () => {
        const { gas: used } = await chain.run(await token(gas.payoutMost.token, nobody(3), asset))
        assert.ok(used <= gas.quoted.token, `${used}`)
      })

    test('gas for a sweep, and a sweep of ether, are plain transfers', async () => {
      const [given, sender] = [nobody(4), keyOf(5)]
      await chain.run(await ether(gas.transfer + gas.newAccount, given))
      await chain.state.putAccount(
        createAddressFromString(addressOf(sender)),
        createAccount({ balance: ETHER }),
      )
      const { gas: used } = await chain.run(await ether(gas.transfer, EXISTING, sender))
      assert.equal(used, gas.transfer, 'nothing is left behind')
    })

    test('a token is swept by its own address to who never held it', async () => {
      const sender = keyOf(6)
      const address = createAddressFromString(addressOf(sender))
      await chain.state.putAccount(address, createAccount({ balance: ETHER }))
      await chain.run(await token(gas.payoutMost.token, addressOf(sender), 'USDT'))
      const { gas: used } = await chain.run(await token(gas.tokenSweepMost, nobody(7), 'USDT', sender))
      assert.ok(used <= gas.tokenSweepMost)
    })

    test('the delegate is deployed, and sweeps one address and as many as fit', async () => {
      const envelope = await chain.envelope(gas.deployment)
      await chain.run(signDelegateCreation({ ...envelope, treasury: hot }, HOT))
      const code = await chain.state.getCode(createAddressFromString(delegateAddress(hot)))
      assert.ok(code.length > 1_000)
      for (const [first, count] of [
        [1_000, 1],
        [2_000, gas.batchSweepsMost],
      ] as const) {
        const accounts = []
        for (const key of Array.from({ length: count }, (_, position) => keyOf(first + position))) {
          const account = addressOf(key)
          await chain.run(await token(gas.payoutMost.token, account, 'USDT'))
          accounts.push({ account, token: contracts.USDT, authorization: { nonce: 0n, privateKey: key } })
        }
        const sweeps = accounts.map(() => ({ authorizes: true, failures: 0n }))
        const gasLimit = batchGasMost(gas, sweeps)
        assert.ok(gasLimit <= TRANSACTION_GAS_MOST)
        const order = { ...(await chain.envelope(gasLimit)), treasury: hot, accounts }
        const { gas: used, logs } = await chain.run(signSweepBatch(order, HOT))
        assert.equal(logs, count, 'each moved its tokens')
        if (count === 1) assert.ok(used <= gas.tokenSweepPlanned, `${used}`)
      }
    })

    test('hundreds of balances are read in one call, for little gas', async () => {
      const rpc: Rpc = { call: async () => null, batch: async () => [], close() {} }
      const accounts = [hot, ...Array.from({ length: 749 }, (_, position) => nobody(9_000 + position))]
      const [call] = balanceCalls(rpc, accounts, [], 'latest')
      const { data } = (call?.params?.[0] ?? {}) as { data: Hex }
      const { gas: used, reverted } = await chain.call(data)
      assert.ok(used < CALL_GAS_MOST, `${used}`)
      const said = `0x${Buffer.from(reverted).toString('hex')}`
      const error = new NodeError('the node', 'eth_call', 3, 'execution reverted', true, said)
      const [[held] = []] = readBalances(balanceAnswers(rpc, [{ error }]), accounts.length, 0)
      assert.ok((held ?? 0n) > ETHER)
    })
  })
