import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { startAnvil } from '../../../test/anvil.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { type Block, nonceAsOutpoint, WrongChain } from '../chain.ts'
import { createEthereumChain, type EthereumChainOptions } from './ethereum-chain.ts'

const ETHER = 10n ** 18n

const anvil = await startAnvil()
const usdc = await anvil.deploy('UsdCoin')
const usdt = await anvil.deploy('TetherToken')

describe('the port to Ethereum, on a real Anvil', () => {
  const open = (options: Partial<EthereumChainOptions> = {}) =>
    createEthereumChain({
      rpcUrl: anvil.url,
      network: 'dev',
      usdcContract: usdc,
      usdtContract: usdt,
      log: SILENT,
      ...options,
    })
  const readTip = async (accounts: readonly string[] = []) =>
    chain.readBlock((await chain.tip()).hash, { accounts })

  const chain = open()

  it('names the chain by its id and its genesis block', async () => {
    const genesis = await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
    assert.equal(await chain.identity(), `31337:${genesis.hash}`)
  })

  for (const network of ['mainnet', 'sepolia'] as const) {
    it(`refuses a node that is not on ${network}`, async () => {
      await assert.rejects(open({ network }).identity(), WrongChain)
    })
  }

  it('shows the tip, its hash by height, and nothing above it', async () => {
    const tip = await chain.tip()
    assert.equal(tip.height, await anvil.height())
    assert.equal(await chain.blockHash(tip.height), tip.hash)
    assert.equal(await chain.blockHash(tip.height + 1), null)
    assert.equal(await chain.lookAtMempool(1n), null)
  })

  it('shows a transfer of ether as output -1 of its transaction', async () => {
    const buyer = address()
    const hash = await anvil.send({ to: buyer, value: 5n })
    await anvil.mine()
    const block = await readTip()
    assert.deepEqual(paymentsTo(block, buyer), [{ key: hash, hash, index: -1, asset: 'ETH', atoms: 5n }])
    assert.equal(block.parentHash, await chain.blockHash(block.height - 1))
    assert.ok(Math.abs(block.timeMs - Date.now()) < 3_600_000)
  })

  it('shows no ether of a call that reverted, nor of one that reverted inside a transaction', async () => {
    const payer = await anvil.deploy('Payer')
    const buyer = address()
    const reverted = await anvil.call(payer, 'payAndRevert', [buyer], { value: ETHER })
    const caught = await anvil.call(payer, 'tryToPay', [buyer], { value: ETHER })
    await anvil.mine()
    assert.equal((await chain.findTransaction(reverted))?.reverted, true)
    assert.equal((await chain.findTransaction(caught))?.reverted, false)
    const block = await readTip([buyer])
    assert.deepEqual(paymentsTo(block, buyer), [])
    assert.equal(block.missedAccounts, undefined)
    assert.equal(await anvil.balance(buyer), 0n)
    // It used its sender's nonce all the same: nothing else can use that one any more.
    const sender = anvil.accounts[0] ?? ''
    const next = Number(await anvil.rpc<string>('eth_getTransactionCount', [sender, 'latest']))
    const [first, second] = [reverted, caught].map((hash) =>
      block.transactions.find(({ key }) => key === hash),
    )
    assert.deepEqual(first?.inputs, [nonceAsOutpoint(sender, next - 2)])
    assert.deepEqual(second?.inputs, [nonceAsOutpoint(sender, next - 1)])
  })

  it('shows the tokens of both contracts, numbered by their place in their own transaction', async () => {
    const buyer = address()
    const first = await anvil.call(usdc, 'transfer', [buyer, 1_500_000n])
    const second = await anvil.call(usdt, 'transfer', [buyer, 2_000_000n])
    await anvil.mine()
    assert.deepEqual(paymentsTo(await readTip(), buyer), [
      { key: first, hash: first, index: 0, asset: 'USDC', atoms: 1_500_000n },
      { key: second, hash: second, index: 0, asset: 'USDT', atoms: 2_000_000n },
    ])
  })

  it('shows nothing of a fake token of the same symbol', async () => {
    const fake = await anvil.deploy('UsdCoin')
    const buyer = address()
    await anvil.call(fake, 'transfer', [buyer, 1_500_000n])
    await anvil.mine()
    assert.deepEqual(paymentsTo(await readTip([buyer]), buyer), [])
  })

  it('shows nothing of a zero-value transferFrom that somebody made in our name', async () => {
    const buyer = address()
    await anvil.call(usdc, 'transferFrom', [buyer, address(), 0n], { from: anvil.accounts[3] ?? '' })
    const spoofed = await anvil.call(usdc, 'transferFrom', [address(), buyer, 0n], {
      from: anvil.accounts[3] ?? '',
    })
    await anvil.mine()
    assert.equal((await chain.findTransaction(spoofed))?.reverted, false)
    assert.deepEqual(outputsOf(await readTip()), [])
  })

  it('shows nothing of logs that only look like transfers, even from the configured contract', async () => {
    const odd = await anvil.deploy('OddLogs')
    const buyer = address()
    await anvil.call(odd, 'emitOdd', [buyer])
    await anvil.mine()
    const own = open({ usdcContract: odd })
    const block = await own.readBlock((await chain.tip()).hash)
    assert.deepEqual(outputsOf(block), [])
  })

  it('shows nothing of an account that pays itself, in ether or in tokens', async () => {
    const self = anvil.accounts[0] ?? ''
    await anvil.send({ from: self, to: self, value: ETHER })
    await anvil.call(usdc, 'transfer', [self, 7n], { from: self })
    await anvil.mine()
    assert.deepEqual(outputsOf(await readTip([self])), [])
  })

  it('finds ether that contracts sent three calls deep, and its transaction by tracing', async () => {
    const hops = [await anvil.deploy('Hop'), await anvil.deploy('Hop'), await anvil.deploy('Hop')]
    const buyer = address()
    const hash = await anvil.call(hops[0] ?? '', 'pass', [[...hops.slice(1), buyer]], { value: ETHER })
    await anvil.mine()
    const block = await readTip([address(), buyer, address()])
    assert.deepEqual(paymentsTo(block, buyer), [
      { key: `internal:${block.hash}:${buyer}`, hash, index: -2, asset: 'ETH', atoms: ETHER },
    ])
    assert.deepEqual(
      paymentsTo(await readTip(), buyer),
      [],
      'accounts that are not asked for are not compared',
    )
  })

  it('finds what a contract leaves when it destroys itself', async () => {
    const buyer = address()
    await anvil.deploy('Bequest', [buyer], { value: 3n })
    const block = await readTip([buyer])
    assert.deepEqual(
      paymentsTo(block, buyer).map(({ index, atoms }) => [index, atoms]),
      [[-2, 3n]],
    )
    assert.equal(block.transactions.find((one) => one.key.startsWith('internal:'))?.hash !== null, true)
  })

  it('tells a top-level transfer and ether of contracts apart when both reach one address in one block', async () => {
    const payer = await anvil.deploy('Payer')
    const buyer = address()
    const direct = await anvil.send({ to: buyer, value: 5n })
    await anvil.call(payer, 'payAll', [[buyer]], { value: 7n })
    await anvil.call(payer, 'payAll', [[buyer]], { value: 11n, from: anvil.accounts[1] ?? '' })
    await anvil.mine()
    const block = await readTip([buyer])
    assert.deepEqual(paymentsTo(block, buyer), [
      { key: direct, hash: direct, index: -1, asset: 'ETH', atoms: 5n },
      // Two transactions paid: no single one is the source.
      { key: `internal:${block.hash}:${buyer}`, hash: null, index: -2, asset: 'ETH', atoms: 18n },
    ])
  })

  it('adds back what an address spent itself, gas included, whether its call succeeded or not', async () => {
    const payer = await anvil.deploy('Payer')
    const spender = anvil.accounts[5] ?? ''
    await anvil.send({ from: spender, to: address(), value: ETHER })
    await anvil.call(payer, 'payAndRevert', [address()], { from: spender, value: ETHER })
    await anvil.send({ from: spender, to: spender, value: ETHER })
    await anvil.call(payer, 'payAll', [[spender, address()]], { value: 8n })
    await anvil.mine()
    assert.deepEqual(
      paymentsTo(await readTip([spender]), spender).map(({ index, atoms }) => [index, atoms]),
      [[-2, 4n]],
    )
  })

  it('counts the reward of a block as ether that no transaction sent', async () => {
    const proposer = address()
    await anvil.rpc('anvil_setCoinbase', [proposer])
    await anvil.send({ to: address(), value: 1n })
    await anvil.mine()
    await anvil.rpc('anvil_setCoinbase', [`0x${'0'.repeat(40)}`])
    const earned = await anvil.balance(proposer)
    assert.ok(earned > 0n)
    assert.deepEqual(
      paymentsTo(await readTip([proposer]), proposer).map(({ hash, atoms }) => [hash, atoms]),
      [[null, earned]],
    )
  })

  it('reads 50 payments of one block, of every kind, each once', async () => {
    const payer = await anvil.deploy('Payer')
    const buyers = Array.from({ length: 50 }, address)
    const kinds = [buyers.slice(0, 15), buyers.slice(15, 30), buyers.slice(30, 40), buyers.slice(40)] as const
    for (const buyer of kinds[0]) await anvil.send({ to: buyer, value: 9n })
    for (const buyer of kinds[1]) await anvil.call(usdc, 'transfer', [buyer, 9n])
    for (const buyer of kinds[2]) await anvil.call(usdt, 'transfer', [buyer, 9n])
    await anvil.call(payer, 'payAll', [kinds[3]], { value: 90n })
    await anvil.mine()
    const block = await readTip(buyers)
    for (const buyer of buyers) {
      assert.deepEqual(
        paymentsTo(block, buyer).map(({ atoms }) => atoms),
        [9n],
      )
    }
  })

  it('reads more accounts than one call to the node holds', async () => {
    const accounts = Array.from({ length: 1_600 }, address)
    const last = accounts.at(-1) ?? ''
    const payer = await anvil.deploy('Payer')
    await anvil.call(payer, 'payAll', [[last]], { value: 2n })
    await anvil.mine()
    const block = await readTip(accounts)
    assert.deepEqual(
      paymentsTo(block, last).map(({ atoms }) => atoms),
      [2n],
    )
    const tip = await chain.tip()
    assert.equal((await chain.etherAt?.(tip.hash, accounts))?.at(-1), 2n)
  })

  it('follows a reorganisation by hash, and gives a transaction that comes back the same key and index', async () => {
    const buyer = address()
    const other = anvil.accounts[1] ?? ''
    await anvil.call(usdc, 'transfer', [other, 1n])
    await anvil.mine()
    const hash = await anvil.call(usdc, 'transfer', [buyer, 3n])
    await anvil.mine()
    const old = await readTip()
    const resend = await anvil.reorganise(1)
    assert.notEqual(await chain.blockHash(old.height), old.hash)
    assert.equal(await chain.findTransaction(hash), null)
    await assert.rejects(chain.readBlock(old.hash), OutsideFailure)

    // Another transaction comes before it now, so its log has another index within the block.
    await anvil.call(usdc, 'transfer', [address(), 1n], { from: other })
    await resend()
    await anvil.mine()
    const found = await chain.findTransaction(hash)
    assert.equal(found?.block?.height, old.height + 1)
    const block = await readTip()
    assert.equal(block.transactions.length, 2)
    assert.deepEqual(paymentsTo(block, buyer), paymentsTo(old, buyer))
  })

  it('holds what its addresses hold, of every asset, at one block', async () => {
    const addresses = [address(), address()]
    await anvil.send({ to: addresses[0] ?? '', value: 5n })
    await anvil.call(usdc, 'transfer', [addresses[0] ?? '', 6n])
    await anvil.call(usdc, 'transfer', [addresses[1] ?? '', 7n])
    await anvil.call(usdt, 'transfer', [addresses[1] ?? '', 8n])
    await anvil.mine()
    assert.deepEqual(await chain.holdings({ addresses, outpoints: [] }), { ETH: 5n, USDC: 13n, USDT: 8n })
    assert.deepEqual(await chain.holdings({ addresses: [], outpoints: [] }), { ETH: 0n, USDC: 0n, USDT: 0n })
    const withoutTokens = open({ usdcContract: address(), usdtContract: address() })
    assert.deepEqual(await withoutTokens.holdings({ addresses, outpoints: [] }), {
      ETH: 5n,
      USDC: 0n,
      USDT: 0n,
    })
  })
})

const outputsOf = (block: Block) => block.transactions.flatMap(({ outputs }) => outputs)

/** What a block pays an address, flattened for comparison. */
function paymentsTo(block: Block, address: string) {
  return block.transactions.flatMap(({ key, hash, outputs }) =>
    outputs
      .filter((output) => `0x${Buffer.from(output.lookup).toString('hex')}` === address)
      .map(({ index, asset, atoms }) => ({ key, hash, index, asset, atoms })),
  )
}

const address = (): string => `0x${randomBytes(20).toString('hex')}`
