import assert from 'node:assert/strict'
import test from 'node:test'
import { keccak256, parseEther } from 'viem'
import {
  buyer,
  GWEI,
  lookup,
  onBothStorages,
  owner,
  send,
  type TestChain,
  tokenTransfer,
  transfer,
} from '../../../test/simulated-chains.ts'
import { mine, reorganise, replace } from './ledger.ts'

const balance = (chain: TestChain, address: string) =>
  chain.port.holdings({ outpoints: [], addresses: [address] })

onBothStorages((open) => {
  test('sim-ethereum: ether and tokens are shown in blocks only, and held once mined', async () => {
    const chain = await open('sim-ethereum')
    const { port } = chain
    const ether = await send(chain, buyer, 'ETH', 5n)
    const token = await send(chain, buyer, 'USDC', 7n)
    assert.equal(await port.lookAtMempool(1n), null)
    assert.deepEqual(await port.findTransaction(ether), { block: null })
    assert.deepEqual(await balance(chain, buyer), { ETH: 0n, USDC: 0n, USDT: 0n })
    const tip = await chain.change((store) => mine(store))
    const block = await port.readBlock(tip.hash)
    assert.deepEqual(
      block.transactions.map(({ hash, outputs }) => [hash, outputs]),
      [
        [ether, [{ lookup: lookup('sim-ethereum', buyer), index: -1, asset: 'ETH', atoms: 5n }]],
        [token, [{ lookup: lookup('sim-ethereum', buyer), index: 0, asset: 'USDC', atoms: 7n }]],
      ],
    )
    // Each uses up a nonce, and no two the same one.
    const nonces = block.transactions.map(({ inputs }) => inputs.map(({ txid, index }) => `${txid} ${index}`))
    assert.deepEqual([nonces.map(({ length }) => length), new Set(nonces.flat()).size], [[1, 1], 2])
    assert.deepEqual(await balance(chain, buyer), { ETH: 5n, USDC: 7n, USDT: 0n })
    assert.deepEqual(await balance(chain, buyer.toLowerCase()), { ETH: 5n, USDC: 7n, USDT: 0n })

    await chain.change((store) => reorganise(store, 1))
    assert.deepEqual(await balance(chain, buyer), { ETH: 0n, USDC: 0n, USDT: 0n })
    assert.ok(await chain.change((store) => replace(store, ether)))
    await chain.change((store) => mine(store))
    assert.deepEqual(await balance(chain, buyer), { ETH: 0n, USDC: 7n, USDT: 0n })
  })

  test('sim-ethereum: signed transfers move value and tokens and cost gas', async () => {
    const chain = await open('sim-ethereum')
    const { port } = chain
    await send(chain, owner.address, 'ETH', parseEther('2'))
    await send(chain, owner.address, 'USDT', 1_000n)
    await chain.change((store) => mine(store))
    const raw = await transfer()
    assert.deepEqual(await port.broadcast(raw), { kind: 'accepted' })
    assert.deepEqual(await port.broadcast(raw), { kind: 'already_known' })
    assert.deepEqual(await port.broadcast(await tokenTransfer('USDT', 400n, 1)), { kind: 'accepted' })
    assert.equal(await port.nextNonce?.(owner.address), 0n)
    const block = await chain.change((store) => mine(store))
    assert.equal(await port.nextNonce?.(owner.address), 2n)
    const feeAtoms = 21_000n * (GWEI + GWEI / 10n)
    assert.deepEqual(await port.findTransaction(keccak256(raw)), { block, feeAtoms, tokensMoved: [] })
    assert.deepEqual(await balance(chain, buyer), { ETH: parseEther('1'), USDC: 0n, USDT: 400n })
    const gas = (21_000n + 50_000n) * (GWEI + GWEI / 10n)
    assert.deepEqual(await balance(chain, owner.address), {
      ETH: parseEther('1') - gas,
      USDC: 0n,
      USDT: 600n,
    })

    await chain.change((store) => reorganise(store, 1))
    assert.equal(await port.nextNonce?.(owner.address), 0n)
    assert.deepEqual(await balance(chain, owner.address), { ETH: parseEther('2'), USDC: 0n, USDT: 1_000n })
    await chain.change((store) => mine(store))
    assert.deepEqual(await balance(chain, buyer), { ETH: parseEther('1'), USDC: 0n, USDT: 400n })
  })

  test("sim-ethereum: what a node would not relay is refused with the node's reason", async () => {
    const chain = await open('sim-ethereum')
    const { port } = chain
    const reasonFor = async (raw: string): Promise<string> => {
      const outcome = await port.broadcast(raw)
      return outcome.kind === 'refused' ? outcome.reason : outcome.kind
    }
    assert.match(await reasonFor(await transfer()), /insufficient funds/)
    await send(chain, owner.address, 'ETH', parseEther('1.5'))
    assert.match(await reasonFor(await transfer()), /insufficient funds/, 'coins that wait cannot be spent')
    await chain.change((store) => mine(store))
    assert.match(await reasonFor(await transfer({ nonce: 1 })), /nonce too high/)
    assert.match(await reasonFor(await transfer({ chainId: 1 })), /chain id/)
    assert.match(await reasonFor(await transfer({ gas: 20_999n })), /intrinsic gas/)
    assert.match(await reasonFor(await transfer({ maxFeePerGas: GWEI - 1n })), /base fee/)
    assert.match(await reasonFor(await tokenTransfer('USDC', 1n, 0)), /insufficient funds.*USDC/)
    assert.match(await reasonFor('0x1234'), /not supported/)
    assert.match(await reasonFor('0x02ff'), /decode failed/)
    assert.equal(await reasonFor(await transfer()), 'accepted')
    assert.match(
      await reasonFor(await transfer({ nonce: 1 })),
      /insufficient funds/,
      'the first one is counted',
    )
    const cheap = { value: 1n, maxPriorityFeePerGas: GWEI }
    assert.match(await reasonFor(await transfer({ ...cheap, maxFeePerGas: 2n * GWEI })), /underpriced/)
    assert.equal(await reasonFor(await transfer({ ...cheap, maxFeePerGas: 3n * GWEI })), 'accepted')
    await chain.change((store) => mine(store))
    assert.match(await reasonFor(await transfer()), /nonce too low/)
  })

  test('sim-ethereum: a sender whose coins were double-spent waits, and so does his next nonce', async () => {
    const chain = await open('sim-ethereum')
    const { port } = chain
    const funding = await send(chain, owner.address, 'ETH', parseEther('3'))
    await chain.change((store) => mine(store))
    await port.broadcast(await transfer())
    await port.broadcast(await transfer({ nonce: 1, value: 1n }))
    await chain.change((store) => mine(store))
    await chain.change((store) => reorganise(store, 2))
    assert.ok(await chain.change((store) => replace(store, funding)))
    await chain.change((store) => mine(store, 2))
    assert.deepEqual(await balance(chain, buyer), { ETH: 0n, USDC: 0n, USDT: 0n })
    await send(chain, owner.address, 'ETH', parseEther('3'))
    await chain.change((store) => mine(store, 1))
    await chain.change((store) => mine(store, 1))
    assert.deepEqual(await balance(chain, buyer), { ETH: parseEther('1') + 1n, USDC: 0n, USDT: 0n })
  })
})
