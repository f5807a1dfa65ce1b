/** The adapter on real nodes: litecoind, and bitcoind too where one is installed. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Address, OutScript } from '@scure/btc-signer'
import { installedChains, type Node, startNode } from '../../../test/litecoind.ts'
import { suspend } from '../../../test/suspend.ts'
import { until } from '../../../test/wait-for.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { AT_ONCE, type SpareTime } from '../../core/spare-time.ts'
import {
  type ChainPort,
  type ChainTransaction,
  type Mempool,
  NUMBERS_PER_PIECE,
  type Pieces,
  WrongChain,
} from '../chain.ts'
import { createBitcoinChain } from './bitcoin-chain.ts'
import { type BitcoinLike, bitcoinNetwork } from './networks.ts'

function adapter(
  node: Node,
  options: { chain?: BitcoinLike; network?: string; rpcUrl?: string } = {},
): ChainPort {
  const port = createBitcoinChain({
    chain: node.chain,
    network: node.network,
    rpcUrl: node.rpcUrl,
    log: SILENT,
    ...options,
  })
  after(() => port.close())
  return port
}

/** The scriptPubKey of an address, as another library makes it. */
function scriptOf(node: Node, address: string): string {
  const { bech32, pubKeyHash, scriptHashes } = bitcoinNetwork(node.chain, node.network)
  const network = { bech32, pubKeyHash, scriptHash: scriptHashes[0] ?? 0, wif: 0 }
  return Buffer.from(OutScript.encode(Address(network).decode(address))).toString('hex')
}

const paidTo = (
  transactions: readonly ChainTransaction[],
  script: string,
): readonly (readonly [string, number, bigint])[] =>
  transactions.flatMap(({ key, outputs }) =>
    outputs
      .filter(({ lookup }) => Buffer.from(lookup).toString('hex') === script)
      .map(({ index, atoms }) => [key, index, atoms] as const),
  )

async function look(
  port: ChainPort,
  ledSince = 1n,
): Promise<{ mempool: Mempool; added: readonly ChainTransaction[] }> {
  const mempool = await port.lookAtMempool(ledSince)
  assert.ok(mempool)
  return { mempool, added: (await Array.fromAsync(mempool.added)).flat() }
}

const byKey = (transactions: readonly ChainTransaction[]): string[] =>
  transactions.map(({ key }) => key).sort()

interface NodeTransaction {
  txid: string
  vin: { txid?: string; vout?: number }[]
  vout: { n: number; value: number; scriptPubKey: { hex: string } }[]
}

/** Every transaction of a block, as the node itself decodes it, in the shape of the port. */
async function decodedByNode(node: Node, hash: string): Promise<unknown> {
  const block = await node.call<{
    tx: NodeTransaction[]
    height: number
    time: number
    previousblockhash: string
  }>('getblock', hash, 2)
  return {
    hash,
    height: block.height,
    parentHash: block.previousblockhash,
    timeMs: block.time * 1000,
    transactions: block.tx.map(({ txid, vin, vout }) => ({
      key: txid,
      hash: txid,
      inputs: vin.flatMap((input) => (input.txid ? [{ txid: input.txid, index: input.vout }] : [])),
      outputs: vout
        .filter(({ value, scriptPubKey }) => value > 0 && !scriptPubKey.hex.startsWith('6a'))
        .map(({ n, value, scriptPubKey }) => ({
          index: n,
          asset: node.chain === 'bitcoin' ? 'BTC' : 'LTC',
          atoms: BigInt(Math.round(value * 1e8)),
          lookup: scriptPubKey.hex,
        })),
    })),
    pieces: {
      lookups: block.tx.flatMap(({ vout }, place) =>
        vout.flatMap(({ scriptPubKey: { hex } }) => (/^(6a|$)/.test(hex) ? [] : [[hex, place]])),
      ),
      spent: block.tx.flatMap(({ vin }, place) => vin.flatMap(({ txid }) => (txid ? [[txid, place]] : []))),
    },
  }
}

async function readByPort(port: ChainPort, hash: string): Promise<unknown> {
  const spareTime: SpareTime = {
    ...AT_ONCE,
    async step(work) {
      const result = await work()
      await setImmediate()
      return result
    },
  }
  const { pieces, ...block } = await port.readBlock(hash, { spareTime })
  assert.ok(pieces)
  return {
    ...block,
    transactions: block.transactions.map(({ key, hash: name, inputs, outputs }) => ({
      key,
      hash: name,
      inputs,
      outputs: outputs.map((output) => ({ ...output, lookup: Buffer.from(output.lookup).toString('hex') })),
    })),
    pieces: {
      lookups: piecesOf(pieces.lookups).map(([bytes, place]) => [bytes.toString('hex'), place]),
      spent: piecesOf(pieces.spent).map(([bytes, place]) => [bytes.toString(), place]),
    },
  }
}

function piecesOf({ bytes, ranges }: Pieces): (readonly [bytes: Buffer, place: number])[] {
  const found: (readonly [Buffer, number])[] = []
  for (let i = 0; i < ranges.length; i += NUMBERS_PER_PIECE)
    found.push([Buffer.from(bytes.subarray(ranges[i], ranges[i + 1])), Number(ranges[i + 2])])
  return found
}

// All of them before any test is named: the runner may be done with those of the first while the second starts.
const nodes = await Promise.all((await installedChains()).map((chain) => startNode({ chain })))
for (const node of nodes) {
  const { chain } = node
  const port = adapter(node)

  test(`${chain}: identity, tip and block hashes are the node's`, async () => {
    assert.equal(await port.identity(), bitcoinNetwork(chain, 'regtest').genesisHash)
    const tip = await port.tip()
    assert.deepEqual(tip, await node.tip())
    assert.equal(await port.blockHash(tip.height), tip.hash)
    assert.equal(await port.blockHash(tip.height + 1), null)
  })

  test(`${chain}: fee rates have the node's floor, and no estimate on a young chain`, async () => {
    const { minrelaytxfee } = await node.call<{ minrelaytxfee: number }>('getmempoolinfo')
    assert.deepEqual(await port.feeRates(), {
      kind: 'vbyte',
      atomsPerKvb: null,
      mayGuess: true,
      floorAtomsPerKvb: BigInt(Math.round(minrelaytxfee * 1e8)),
    })
  })

  test(`${chain}: a node on another network, or of another coin, is refused by name`, async () => {
    await assert.rejects(adapter(node, { network: 'mainnet' }).identity(), WrongChain)
    await assert.rejects(adapter(node, { network: 'mainnet' }).tip(), WrongChain)
    const other = adapter(node, { chain: chain === 'bitcoin' ? 'litecoin' : 'bitcoin' })
    await assert.rejects(other.identity(), (error: WrongChain) => {
      assert.equal(error.retryable, false)
      assert.match(error.message, /wrong chain: expected [0-9a-f]{64}, got [0-9a-f]{64}/)
      return true
    })
  })

  test(`${chain}: a payment is seen once in the mempool, then in its block, as the node decodes it`, async () => {
    await look(port)
    const [first, second] = [await node.address(), await node.address()]
    const txid = await node.pay([
      [first, '1.5'],
      [second, '0.00012345'],
    ])
    const { mempool, added } = await look(port)
    assert.deepEqual(byKey(added), [txid])
    assert.deepEqual(paidTo(added, scriptOf(node, first)), [[txid, 0, 150_000_000n]])
    assert.deepEqual(paidTo(added, scriptOf(node, second)), [[txid, 1, 12_345n]])
    assert.equal(mempool.has(txid), true)
    assert.deepEqual((await look(port)).added, [], 'what was shown once is not shown again')
    assert.deepEqual(await port.findTransaction(txid), { block: null })

    const [hash = ''] = await node.mine()
    const block = await port.readBlock(hash)
    assert.deepEqual(paidTo(block.transactions, scriptOf(node, second)), [[txid, 1, 12_345n]])
    assert.deepEqual(await readByPort(port, hash), await decodedByNode(node, hash))
    assert.equal((await look(port)).mempool.has(txid), false)
    assert.deepEqual(await port.findTransaction(txid), { block: await node.tip() })
  })

  test(`${chain}: what was shown is shown again when somebody else led meanwhile`, async () => {
    const port = adapter(node)
    const txid = await node.pay([[await node.address(), '1']])
    for (const [ledSince, shown] of [
      [1n, [txid]],
      [1n, []],
      [4n, [txid]],
      [4n, []],
    ] as const)
      assert.deepEqual(byKey((await look(port, ledSince)).added), shown, `since ${ledSince}`)
    await node.mine()
    await port.close()
  })

  test(`${chain}: transactions that the caller did not take in are shown again`, async () => {
    const txid = await node.pay([[await node.address(), '1']])
    const taken = async () => {
      const mempool = await port.lookAtMempool(1n)
      for await (const _ of mempool?.added ?? []) throw new Error('the database is away')
    }
    await assert.rejects(taken, /the database is away/)
    assert.deepEqual(byKey((await look(port)).added), [txid])
    await node.mine()
  })

  test(`${chain}: a replacement shows what it spends, and what it replaced is gone`, async () => {
    const replaced = await node.pay([[await node.address(), '2']])
    const before = await look(port)
    const replacing = await node.replace(replaced)
    const { mempool, added } = await look(port)
    assert.deepEqual(byKey(added), [replacing])
    assert.deepEqual(added[0]?.inputs, before.added[0]?.inputs)
    assert.deepEqual([mempool.has(replaced), mempool.has(replacing)], [false, true])
    assert.equal(await port.findTransaction(replaced), null)
    await node.mine()
  })

  test(`${chain}: a transaction that left between list and reading is passed over`, async () => {
    const txid = await node.pay([[await node.address(), '1']])
    const mempool = await port.lookAtMempool(1n)
    await node.mine()
    assert.deepEqual(await Array.fromAsync(mempool?.added ?? []), [])
    assert.equal((await look(port)).mempool.has(txid), false)
  })

  test(`${chain}: after a reorganisation the height has another block and the transaction waits again`, async () => {
    const txid = await node.pay([[await node.address(), '3']])
    await node.mine(2)
    const before = await port.tip()
    const first = await node.rollBack(2)
    assert.deepEqual(await port.findTransaction(txid), { block: null })
    assert.deepEqual(byKey((await look(port)).added), [txid])
    for (let i = 0; i < 3; i++) await node.mineEmpty()
    const tip = await port.tip()
    assert.equal(tip.height, before.height + 1)
    assert.notEqual(await port.blockHash(before.height), before.hash)
    assert.equal(
      (await port.readBlock(first)).height,
      before.height - 1,
      'a block off the chain is still read',
    )
    await node.mine()
  })

  test(`${chain}: a transaction whose outputs are all spent is found in the block where it was seen, and no other block is read`, async () => {
    const { height } = await port.tip()
    const target = await node.address()
    const txid = await node.pay([[target, '1']])
    await node.mine()
    const holder = await port.tip()
    const unspent = await node.call<{ txid: string; vout: number; amount: number }[]>('listunspent', 0)
    const own = unspent.filter((output) => output.txid === txid)
    assert.equal(own.length, 2)
    const raw = await node.call<string>(
      'createrawtransaction',
      own.map(({ txid: spent, vout }) => ({ txid: spent, vout })),
      [{ [await node.address()]: (own.reduce((sum, output) => sum + output.amount, 0) - 0.01).toFixed(8) }],
    )
    const { hex } = await node.call<{ hex: string }>('signrawtransactionwithwallet', raw)
    assert.deepEqual(await port.broadcast(hex), { kind: 'accepted' })
    await node.mine()
    assert.equal(await port.findTransaction(txid), null)
    assert.deepEqual(await port.findTransaction(txid, holder.height), { block: holder })
    assert.equal(await port.findTransaction(txid, height), null)
    assert.equal(await port.findTransaction('00'.repeat(32), holder.height), null)
  })

  test(`${chain}: broadcasting again is success, in the mempool and in a block; a conflict is refused`, async () => {
    const raw = await node.sign([[await node.address(), '1']])
    assert.deepEqual(await port.broadcast(raw), { kind: 'accepted' })
    assert.ok(['accepted', 'already_known'].includes((await port.broadcast(raw)).kind))
    await node.mine()
    assert.deepEqual(await port.broadcast(raw), { kind: 'already_known' })

    const spent = await node.sign([[await node.address(), '1']])
    const conflicting = await node.sign([[await node.address(), '1']])
    await port.broadcast(spent)
    const conflict = await port.broadcast(conflicting)
    assert.equal(conflict.kind, 'refused')
    await node.mine()
    assert.deepEqual(await port.broadcast(conflicting), {
      kind: 'refused',
      reason: 'bad-txns-inputs-missingorspent',
    })
    assert.equal((await port.broadcast('00')).kind, 'refused')
    assert.equal((await port.broadcast('not hex')).kind, 'refused')
  })

  test(`${chain}: holdings count unspent outputs of blocks, to the atom`, async () => {
    const to = await node.address()
    const amounts = ['0.00012345', '0.1', '20.99999999']
    const txids: string[] = []
    for (const amount of amounts) txids.push(await node.pay([[to, amount]]))
    const outpoints = txids.map((txid) => ({ txid, index: 0 }))
    const asset = chain === 'bitcoin' ? 'BTC' : 'LTC'
    const query = { outpoints: [...outpoints, { txid: '00'.repeat(32), index: 0 }], addresses: [] }
    assert.deepEqual(await port.holdings(query), { [asset]: 0n })
    await node.mine()
    assert.deepEqual(await port.holdings(query), { [asset]: 2_110_012_344n })
    assert.deepEqual(await port.holdings({ outpoints: [], addresses: [] }), { [asset]: 0n })
  })

  test(`${chain}: of coins that are found the young that a block minted are told apart`, async () => {
    const [minted, sent] = [await node.address(), await node.address()]
    await node.call('generatetoaddress', 1, minted)
    await node.pay([[sent, '1']])
    await node.mine()
    const scripts = [minted, sent].map((address) => scriptOf(node, address))
    const found = async () => {
      const { funds } = (await port.findFunds?.(scripts.map((script) => Buffer.from(script, 'hex')))) ?? {
        funds: [],
      }
      return scripts.map((script) =>
        funds
          .filter(({ lookup }) => Buffer.from(lookup).toString('hex') === script)
          .map(({ utxo }) => utxo?.isCoinbase),
      )
    }
    assert.deepEqual(await found(), [[true], [false]])
  })

  test(`${chain}: many transactions are handed over in batches, each once`, async () => {
    await node.fanOut(150, '0.1')
    const sent = new Set<string>()
    for (let i = 0; i < 150; i++) sent.add(await node.pay([[await node.address(), '0.01']]))
    const mempool = await port.lookAtMempool(1n)
    const batches = await Array.fromAsync(mempool?.added ?? [])
    assert.ok(batches.length >= 2)
    assert.deepEqual(byKey(batches.flat()), [...sent].sort())
    const [hash = ''] = await node.mine()
    assert.deepEqual(await readByPort(port, hash), await decodedByNode(node, hash))
  })

  test(`${chain}: an unknown block is a failure that says so`, async () => {
    await assert.rejects(port.readBlock('00'.repeat(32)), (error: Error) => {
      assert.ok(error instanceof OutsideFailure)
      assert.match(error.message, /Block not found/)
      return true
    })
  })

  test(`${chain}: wrong credentials are named as such and never shown`, async () => {
    const rpcUrl = node.rpcUrl.replace(encodeURIComponent(node.password), 'wrong-password')
    await assert.rejects(adapter(node, { rpcUrl }).tip(), (error: Error) => {
      assert.match(error.message, /refuses the user or password/)
      assert.doesNotMatch(`${error.message}${JSON.stringify(error)}`, /wrong-password|tester/)
      return true
    })
  })

  test(`${chain}: a block hints where the node publishes, and the absence of hints is no trouble`, async () => {
    // Debian's litecoind is built without ZeroMQ and does not know the method.
    const publishers = await node.call<unknown[]>('getzmqnotifications').catch(() => [])
    let isHinted = publishers.length === 0
    const stop = port.onHint(() => {
      isHinted = true
    })
    // The subscription takes its time, and what was published before is lost.
    await until('a block hints', async () => {
      await node.mine()
      return isHinted
    })
    stop()
  })

  test(`${chain}: a node that hangs fails within the time limit, and a stopped one at once; then all goes on`, async () => {
    await suspend(node.process())
    const began = performance.now()
    await assert.rejects(
      port.tip(),
      (error: OutsideFailure) => error.retryable && /within 5 s/.test(error.message),
    )
    assert.ok(performance.now() - began < 6_000)
    node.process().kill('SIGCONT')
    const before = await port.tip()

    const txid = await node.pay([[await node.address(), '1']])
    await node.stop()
    await assert.rejects(port.tip(), (error: OutsideFailure) => {
      assert.equal(error.retryable, true)
      assert.ok(!error.message.includes(node.password))
      return /cannot be reached/.test(error.message)
    })
    await assert.rejects(port.broadcast('00'), OutsideFailure)
    await node.start()
    assert.deepEqual(await port.tip(), before)
    assert.equal((await look(port)).mempool.has(txid), true)
  })

  test(`${chain}: a node of no block, that relays blocks only and prunes, has no estimate and shows its genesis`, async () => {
    const bare = await startNode({ chain, wallet: false, arguments: ['-blocksonly', '-prune=550'] })
    const first = adapter(bare)
    assert.equal((await first.feeRates()).kind, 'vbyte')
    const tip = await first.tip()
    assert.deepEqual(tip, { height: 0, hash: bitcoinNetwork(chain, 'regtest').genesisHash })
    const genesis = await first.readBlock(tip.hash)
    assert.deepEqual([genesis.height, genesis.parentHash], [0, '00'.repeat(32)])
    assert.deepEqual((await look(first)).added, [])
  })

  test(`${chain}: a node that still syncs its public network is a failure worth another try`, async () => {
    const bare = await startNode({ chain, network: 'testnet' })
    const behind = adapter(bare)
    assert.equal(await behind.identity(), bitcoinNetwork(chain, 'testnet').genesisHash)
    await assert.rejects(
      behind.tip(),
      (error: OutsideFailure) => error.retryable && /still syncs/.test(error.message),
    )
  })
}

test('litecoin: blocks and mempool with MWEB parts read like others; what leaves the MWEB is seen in its block', async () => {
  const node = await startNode()
  const port = adapter(node)
  const pegIn = await node.approachMweb()
  const entering = (await look(port)).added
  assert.deepEqual(byKey(entering), [pegIn])
  assert.equal(entering[0]?.inputs.length, 1, 'a peg-in spends an output outside the MWEB')
  await node.mine()
  const plain = await node.address()
  const out = await node.address()
  const paying = await node.pay([[plain, '0.5']])
  const inside = await node.call<string>('sendtoaddress', await node.call('getnewaddress', '', 'mweb'), '1')
  const pegOut = await node.pegOut(out, '0.7')

  const { mempool, added } = await look(port)
  assert.deepEqual(paidTo(added, scriptOf(node, plain)), [[paying, 0, 50_000_000n]])
  assert.deepEqual([mempool.has(inside), mempool.has(pegOut)], [true, true])
  assert.deepEqual(byKey(added), [paying], 'what moves within the MWEB, or will leave it, pays nobody yet')

  const [hash = ''] = await node.mine()
  const block = await port.readBlock(hash)
  const hogEx = block.transactions.at(-1)?.key
  assert.deepEqual(
    paidTo(block.transactions, scriptOf(node, out)).map(([key, , atoms]) => [key, atoms]),
    [[hogEx, 70_000_000n]],
  )
  assert.deepEqual(await readByPort(port, hash), await decodedByNode(node, hash))
  assert.deepEqual(byKey((await look(port)).added), [])
})
