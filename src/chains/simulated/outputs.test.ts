import assert from 'node:assert/strict'
import test from 'node:test'
import {
  addedTo,
  lookup,
  onBothStorages,
  type Spending,
  send,
  spend,
  wallet,
} from '../../../test/simulated-chains.ts'
import { OutsideFailure, Refusal } from '../../core/errors.ts'
import { signOutputs } from '../bitcoin/sign.ts'
import { mine, reorganise, replace } from './ledger.ts'

onBothStorages((open) => {
  for (const name of ['sim-bitcoin', 'sim-litecoin'] as const) {
    const asset = name === 'sim-bitcoin' ? 'BTC' : 'LTC'
    const ours = wallet(name, 1)
    const theirs = wallet(name, 2)

    test(`${name}: a payment is seen in the mempool once, then in a block that links to the last`, async () => {
      const chain = await open(name)
      const { port } = chain
      assert.match(ours.address, name === 'sim-bitcoin' ? /^tb1q/ : /^tltc1q/)
      const before = await port.tip()
      const txid = await send(chain, ours.address, asset, 1_000n)

      const look = await port.lookAtMempool(1n)
      const [seen, ...more] = await addedTo(look)
      assert.deepEqual(more, [])
      assert.equal(seen?.hash, txid)
      assert.deepEqual(seen?.outputs, [
        { lookup: lookup(name, ours.address), index: 0, asset, atoms: 1_000n },
      ])
      assert.equal(look?.has(txid), true)
      assert.deepEqual(await addedTo(await port.lookAtMempool(1n)), [])
      assert.deepEqual(await port.findTransaction(txid), { block: null })

      const tip = await chain.change((store) => mine(store, 3))
      assert.equal(tip.height, before.height + 3)
      assert.equal((await port.lookAtMempool(1n))?.has(txid), false)
      let parentHash = before.hash
      for (let height = before.height + 1; height <= tip.height; height++) {
        const hash = await port.blockHash(height)
        assert.ok(hash)
        const block = await port.readBlock(hash)
        assert.deepEqual([block.height, block.parentHash], [height, parentHash])
        assert.equal(block.transactions.length, height === before.height + 1 ? 1 : 0)
        parentHash = hash
      }
      assert.equal(await port.blockHash(tip.height + 1), null)
      assert.equal((await port.findTransaction(txid))?.block?.height, before.height + 1)
    })

    test(`${name}: a replaced payment leaves the mempool for one that spends the same`, async () => {
      const chain = await open(name)
      const { port } = chain
      const txid = await send(chain, ours.address, asset, 1_000n)
      const [seen] = await addedTo(await port.lookAtMempool(1n))
      const replacement = await chain.change((store) => replace(store, txid))
      assert.ok(replacement)

      const look = await port.lookAtMempool(1n)
      const [other] = await addedTo(look)
      assert.equal(other?.hash, replacement)
      assert.deepEqual(other?.inputs, seen?.inputs)
      assert.equal(look?.has(txid), false)
      assert.equal(await port.findTransaction(txid), null)
      await chain.change((store) => mine(store))
      assert.equal(await chain.change((store) => replace(store, replacement)), null)
      assert.equal(await chain.change((store) => replace(store, txid)), null)
    })

    test(`${name}: a reorganisation takes blocks away for a longer branch, and their transactions wait again`, async () => {
      const chain = await open(name)
      const { port } = chain
      await chain.change((store) => mine(store, 5))
      const txid = await send(chain, ours.address, asset, 1_000n)
      const lost = await chain.change((store) => mine(store))
      await addedTo(await port.lookAtMempool(1n))
      const fork = await port.blockHash(lost.height - 2)
      const tip = await chain.change((store) => reorganise(store, 2))

      assert.equal(tip.height, lost.height + 1)
      await assert.rejects(port.readBlock(lost.hash), OutsideFailure)
      assert.notEqual(await port.blockHash(lost.height), lost.hash)
      assert.equal(await port.blockHash(lost.height - 2), fork)
      assert.deepEqual(await port.findTransaction(txid), { block: null })
      assert.deepEqual(
        (await addedTo(await port.lookAtMempool(1n))).map((transaction) => transaction.hash),
        [txid],
      )
      const replacement = await chain.change((store) => replace(store, txid))
      const next = await chain.change((store) => mine(store))
      const block = await port.readBlock(next.hash)
      assert.deepEqual(
        block.transactions.map((transaction) => transaction.hash),
        [replacement],
      )
    })

    test(`${name}: a reorganisation deeper than the chain is refused`, async () => {
      const chain = await open(name)
      const { height } = await chain.port.tip()
      await assert.rejects(
        chain.change((store) => reorganise(store, height + 1)),
        (error) => error instanceof Refusal && error.reason === 'chain_too_short',
      )
    })

    test(`${name}: signed bytes are accepted, known, mined, and nothing spends the same again`, async () => {
      const chain = await open(name)
      const { port } = chain
      const first = { txid: await send(chain, ours.address, asset, 100_000n), index: 0, atoms: 100_000n }
      const second = { txid: await send(chain, ours.address, asset, 50_000n), index: 0, atoms: 50_000n }
      await chain.change((store) => mine(store))
      const utxos = [first, second]
      const payout = spend(name, { from: ours, utxos, to: theirs.address, atoms: 149_000n })

      assert.deepEqual(await port.broadcast(payout.raw), { kind: 'accepted' })
      assert.deepEqual(await port.broadcast(payout.raw), { kind: 'already_known' })
      const outpoints = [...utxos, { txid: payout.txid, index: 0 }]
      assert.deepEqual(await port.holdings({ outpoints, addresses: [] }), { [asset]: 150_000n })
      await chain.change((store) => mine(store))
      assert.deepEqual(await port.broadcast(payout.raw), { kind: 'already_known' })
      assert.deepEqual(await port.holdings({ outpoints, addresses: [] }), { [asset]: 149_000n })

      const again = spend(name, { from: ours, utxos: [first], to: theirs.address, atoms: 90_000n })
      assert.deepEqual(await port.broadcast(again.raw), {
        kind: 'refused',
        reason: 'bad-txns-inputs-missingorspent',
      })
    })

    test(`${name}: what a node would not relay is refused with the node's reason`, async () => {
      const chain = await open(name)
      const utxo = { txid: await send(chain, ours.address, asset, 100_000n), index: 0, atoms: 100_000n }
      const reasonFor = async (change: Partial<Spending>): Promise<string> => {
        const { raw } = spend(name, {
          from: ours,
          utxos: [utxo],
          to: theirs.address,
          atoms: 90_000n,
          ...change,
        })
        const outcome = await chain.port.broadcast(raw)
        return outcome.kind === 'refused' ? outcome.reason : outcome.kind
      }
      assert.match(await reasonFor({ utxos: [{ ...utxo, index: 1 }] }), /missingorspent/)
      assert.match(await reasonFor({ utxos: [{ ...utxo, txid: 'ab'.repeat(32) }] }), /missingorspent/)
      assert.match(await reasonFor({ from: theirs }), /script-verify/)
      assert.match(await reasonFor({ utxos: [{ ...utxo, atoms: 200_000n }] }), /script-verify/)
      assert.match(await reasonFor({ atoms: 100_000n }), /min relay fee/)
      assert.match(await reasonFor({ atoms: 200n }), /dust/)
      const tooMany = signOutputs(
        [{ ...utxo, script: ours.script, privateKey: ours.key }],
        Array.from({ length: 3_300 }, () => ({ script: ours.script, atoms: 1n })),
      )
      assert.ok(tooMany.vbytes > 100_000)
      assert.deepEqual(await chain.port.broadcast(tooMany.raw), { kind: 'refused', reason: 'tx-size' })
      assert.equal((await chain.port.broadcast('00')).kind, 'refused')
      assert.equal((await chain.port.broadcast('')).kind, 'refused')
      assert.equal(await reasonFor({}), 'accepted')
    })

    test(`${name}: a conflict in the mempool ${name === 'sim-bitcoin' ? 'gives way to a higher fee' : 'stands'}`, async () => {
      const chain = await open(name)
      const { port } = chain
      const utxo = { txid: await send(chain, ours.address, asset, 100_000n), index: 0, atoms: 100_000n }
      const slow = spend(name, { from: ours, utxos: [utxo], to: theirs.address, atoms: 99_000n })
      const child = spend(name, {
        from: theirs,
        utxos: [{ txid: slow.txid, index: 0, atoms: 99_000n }],
        to: ours.address,
        atoms: 98_000n,
      })
      assert.equal((await port.broadcast(slow.raw)).kind, 'accepted')
      assert.equal((await port.broadcast(child.raw)).kind, 'accepted')
      const tooLow = spend(name, { from: ours, utxos: [utxo], to: theirs.address, atoms: 98_050n })
      const bump = spend(name, { from: ours, utxos: [utxo], to: theirs.address, atoms: 97_000n })
      assert.equal((await port.broadcast(tooLow.raw)).kind, 'refused')
      const outcome = await port.broadcast(bump.raw)
      if (name === 'sim-litecoin') {
        assert.deepEqual(outcome, { kind: 'refused', reason: 'txn-mempool-conflict' })
      } else {
        assert.deepEqual(outcome, { kind: 'accepted' })
        assert.equal(await port.findTransaction(slow.txid), null)
        assert.equal(await port.findTransaction(child.txid), null)
      }
    })

    test(`${name}: what builds on a double-spent payment goes with it`, async () => {
      const chain = await open(name)
      const { port } = chain
      const utxo = { txid: await send(chain, ours.address, asset, 100_000n), index: 0, atoms: 100_000n }
      const payout = spend(name, { from: ours, utxos: [utxo], to: theirs.address, atoms: 90_000n })
      assert.equal((await port.broadcast(payout.raw)).kind, 'accepted')
      const replacement = await chain.change((store) => replace(store, utxo.txid))
      assert.ok(replacement)
      assert.equal(await port.findTransaction(payout.txid), null)
      assert.equal((await port.broadcast(payout.raw)).kind, 'refused')
    })
  }

  test('a block that never was, and a transaction that never was, are not found', async () => {
    for (const name of ['sim-bitcoin', 'sim-ethereum'] as const) {
      const { port } = await open(name)
      await assert.rejects(port.readBlock('no such hash'), OutsideFailure)
      assert.equal(await port.findTransaction('no such transaction'), null)
      assert.equal(await port.blockHash(-1), null)
    }
  })

  test('a hint follows accepted bytes', async () => {
    const chain = await open('sim-bitcoin')
    const ours = wallet('sim-bitcoin', 1)
    const utxo = { txid: await send(chain, ours.address, 'BTC', 10_000n), index: 0, atoms: 10_000n }
    let hints = 0
    const stop = chain.port.onHint(() => hints++)
    const { raw } = spend('sim-bitcoin', { from: ours, utxos: [utxo], to: ours.address, atoms: 9_000n })
    await chain.port.broadcast(raw)
    assert.equal(hints, 1)
    stop()
    await chain.port.broadcast(raw)
    assert.equal(hints, 1)
  })
})
