/** The simulated Ethereum sweeps as the main network does: by the same bytes, moving all that is there when its block is made. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import {
  GWEI,
  lookup,
  onBothStorages,
  send,
  type TestChain,
  transfer,
} from '../../../test/simulated-chains.ts'
import { type Signed, type SweptAccount, signDelegateCreation, signSweepBatch } from '../ethereum/sign.ts'
import { mine, reorganise } from './ledger.ts'
import { SIMULATED_ETHEREUM_CHAIN_ID, SIMULATED_TOKENS } from './network.ts'

const key = (fill: number) => new Uint8Array(32).fill(fill)
const accountOf = (fill: number) => privateKeyToAccount(`0x${Buffer.from(key(fill)).toString('hex')}`).address
const treasury = accountOf(0x11)
const [one, two] = [accountOf(0x33), accountOf(0x44)]

const envelope = (nonce: bigint, maxFeeWei = 2n * GWEI) => ({
  chainId: SIMULATED_ETHEREUM_CHAIN_ID,
  nonce,
  gasLimit: 1_000_000n,
  maxFeeWei,
  priorityFeeWei: GWEI / 10n,
  treasury,
})
const deployment = (nonce: bigint, maxFeeWei?: bigint) =>
  signDelegateCreation(envelope(nonce, maxFeeWei), key(0x11))
const batch = (nonce: bigint, accounts: readonly SweptAccount[], maxFeeWei?: bigint) =>
  signSweepBatch({ ...envelope(nonce, maxFeeWei), accounts }, key(0x11))
const part = (fill: number, nonce: bigint | null, token: 'USDC' | 'USDT' = 'USDC'): SweptAccount => ({
  account: accountOf(fill),
  token: SIMULATED_TOKENS[token],
  authorization: nonce === null ? null : { nonce, privateKey: key(fill) },
})

const tokens = async ({ port }: TestChain, address: string) =>
  (await port.holdings({ outpoints: [], addresses: [address] })).USDC
const send1 = async ({ port }: TestChain, { raw }: Signed) =>
  assert.deepEqual(await port.broadcast(raw), { kind: 'accepted' })
const accountsOf = async ({ port }: TestChain) => {
  const batching = await port.batchSweeping?.(treasury, [one, two])
  assert.ok(batching)
  return [batching.isDeployed, ...batching.accounts.flatMap(({ nonce, delegates }) => [nonce, delegates])]
}

onBothStorages((open) => {
  async function funded(): Promise<TestChain> {
    const chain = await open('sim-ethereum')
    await send(chain, treasury, 'ETH', parseEther('2'))
    await send(chain, one, 'USDC', 70n)
    await send(chain, two, 'USDC', 30n)
    await chain.change((store) => mine(store))
    return chain
  }

  test('a batch sweeps every account that authorised it, all it has, and says what it moved', async () => {
    const chain = await funded()
    assert.deepEqual(await accountsOf(chain), [false, 0n, false, 0n, false])
    await send1(chain, await deployment(0n))
    await chain.change((store) => mine(store))
    assert.deepEqual(await accountsOf(chain), [true, 0n, false, 0n, false])
    const sweep = await batch(1n, [part(0x33, 0n), part(0x44, 0n), part(0x33, null)])
    await send1(chain, sweep)
    // What comes meanwhile goes along.
    await send(chain, two, 'USDC', 5n)
    const before = await tokens(chain, treasury)
    const block = await chain.change((store) => mine(store))
    assert.equal(before, 0n)
    assert.deepEqual(await accountsOf(chain), [true, 1n, true, 1n, true])
    // What waited behind the batch is there after it.
    assert.deepEqual(
      [await tokens(chain, one), await tokens(chain, two), await tokens(chain, treasury)],
      [0n, 5n, 100n],
    )
    const found = await chain.port.findTransaction(sweep.txid)
    assert.deepEqual(found?.block, block)
    assert.deepEqual(found?.tokensMoved, [
      { from: lookup('sim-ethereum', one), asset: 'USDC', atoms: 70n },
      { from: lookup('sim-ethereum', two), asset: 'USDC', atoms: 30n },
    ])
    const { transactions } = await chain.port.readBlock(block.hash)
    const shown = transactions.find((transaction) => transaction.key === sweep.txid)
    assert.deepEqual(
      shown?.outputs.map(({ lookup: to, index, atoms }) => [Buffer.from(to).toString('hex'), index, atoms]),
      [70n, 30n].map((atoms, index) => [treasury.slice(2).toLowerCase(), index, atoms]),
    )
    assert.equal(shown?.inputs.length, 1, "a block shows its sender's nonce, as a real one does")

    // The second time nobody needs to authorise anything.
    await send1(chain, await batch(2n, [part(0x44, null)]))
    await chain.change((store) => mine(store))
    assert.deepEqual([await tokens(chain, two), await tokens(chain, treasury)], [0n, 105n])
  })

  test('a reorganisation takes the delegations with the sweep; the same bytes do the same again', async () => {
    const chain = await funded()
    await send1(chain, await deployment(0n))
    await chain.change((store) => mine(store))
    const sweep = await batch(1n, [part(0x33, 0n)])
    await send1(chain, sweep)
    await chain.change((store) => mine(store))
    await chain.change((store) => reorganise(store, 2))
    assert.deepEqual(await accountsOf(chain), [false, 0n, false, 0n, false])
    assert.deepEqual([await tokens(chain, one), await tokens(chain, treasury)], [70n, 0n])
    assert.deepEqual(await chain.port.findTransaction(sweep.txid), { block: null })
    await chain.change((store) => mine(store))
    assert.deepEqual(await accountsOf(chain), [true, 1n, true, 0n, false])
    assert.equal(await tokens(chain, treasury), 70n)
  })

  test('a batch without its contract, and one whose authorisation is stale, move nothing and cost gas', async () => {
    const chain = await funded()
    const early = await batch(0n, [part(0x33, 0n)])
    await send1(chain, early)
    await chain.change((store) => mine(store))
    const found = await chain.port.findTransaction(early.txid)
    assert.deepEqual(found?.tokensMoved, [])
    assert.equal(found?.feeAtoms, 62_500n * (GWEI + GWEI / 10n))
    await send1(chain, await deployment(1n))
    await chain.change((store) => mine(store))
    await send1(chain, await batch(2n, [part(0x44, 7n)]))
    await chain.change((store) => mine(store))
    assert.equal(await tokens(chain, two), 30n)
    // The first delegation holds, now that there is code.
    await send1(chain, await batch(3n, [part(0x33, null)]))
    await chain.change((store) => mine(store))
    assert.equal(await tokens(chain, one), 0n)
  })

  test('a dearer batch takes the place of its own nonce, and only the treasury sweeps', async () => {
    const chain = await funded()
    await send1(chain, await deployment(0n))
    await chain.change((store) => mine(store))
    await send1(chain, await batch(1n, [part(0x33, 0n)]))
    await send1(chain, await batch(1n, [part(0x33, 0n), part(0x44, 0n)], 3n * GWEI))
    await chain.change((store) => mine(store))
    assert.equal(await tokens(chain, treasury), 100n)
    const stranger = signSweepBatch({ ...envelope(0n), accounts: [part(0x44, null)] }, key(0x55))
    assert.equal((await chain.port.broadcast(stranger.raw)).kind, 'refused')
    assert.equal(
      (await chain.port.broadcast(await transfer({ to: one, data: '0x12', nonce: 2 }))).kind,
      'accepted',
    )
  })

  test('nonces are used in their order, also where a replacement came after the next one', async () => {
    const chain = await funded()
    await send1(chain, await deployment(0n))
    await send1(chain, await batch(1n, [part(0x33, 0n)]))
    await send1(chain, await deployment(0n, 4n * GWEI))
    await chain.change((store) => mine(store))
    assert.deepEqual([await tokens(chain, one), await tokens(chain, treasury)], [0n, 70n])
  })
})
