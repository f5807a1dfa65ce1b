/** No sequence of events breaks a simulated chain, and both storages make the same one. */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../../test/database.ts'
import {
  emptyChain,
  memoryChain,
  owner,
  send,
  spend,
  type TestChain,
  transfer,
  wallet,
} from '../../../test/simulated-chains.ts'
import { type Balances, claimKey, holdingKey, type SimulatedTransaction } from './chain-store.ts'
import { mine, reorganise, replace } from './ledger.ts'

type Happening =
  | { readonly kind: 'send'; readonly atoms: bigint }
  | { readonly kind: 'mine'; readonly count: number }
  | { readonly kind: 'reorganise'; readonly depth: number }
  /** The nth waiting transaction, counted round. */
  | { readonly kind: 'replace'; readonly nth: number }
  /** Bitcoin: the nth UTXO that was ever sent here. Ethereum: the nth nonce. */
  | { readonly kind: 'spend'; readonly nth: number; readonly fee: bigint }

const happenings = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('send' as const), atoms: fc.bigInt(10_000n, 10n ** 18n) }),
    fc.record({ kind: fc.constant('mine' as const), count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('reorganise' as const), depth: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant('replace' as const), nth: fc.nat(5) }),
    fc.record({ kind: fc.constant('spend' as const), nth: fc.nat(4), fee: fc.bigInt(0n, 2_000n) }),
  ),
  { maxLength: 20 },
)

/** Lets things happen; returns what each led to, in words that hold no hash. */
async function tell(chain: TestChain, story: readonly Happening[]): Promise<string[]> {
  const bitcoin = chain.port.chain === 'sim-bitcoin'
  const ours = wallet('sim-bitcoin', 1)
  const utxos: { txid: string; index: number; atoms: bigint }[] = []
  const told: string[] = []
  for (const event of story) {
    if (event.kind === 'send') {
      const txid = await send(
        chain,
        bitcoin ? ours.address : owner.address,
        bitcoin ? 'BTC' : 'ETH',
        event.atoms,
      )
      utxos.push({ txid, index: 0, atoms: event.atoms })
      told.push('sent')
    } else if (event.kind === 'mine') {
      const tip = await chain.change((store) => mine(store, event.count))
      told.push(`height ${tip.height}`)
    } else if (event.kind === 'reorganise') {
      const tip = await chain.change((store) => reorganise(store, event.depth)).catch(() => null)
      told.push(tip ? `reorganised to ${tip.height}` : 'too short')
    } else if (event.kind === 'replace') {
      const waiting = await chain.storage.reads.mempoolIds()
      const txid = waiting[event.nth % Math.max(1, waiting.length)] ?? 'none'
      told.push((await chain.change((store) => replace(store, txid))) ? 'replaced' : 'nothing to replace')
    } else {
      const utxo = utxos[event.nth % Math.max(1, utxos.length)]
      const outcome = await chain.port.broadcast(
        bitcoin
          ? spendBack(ours, utxo, event.fee)
          : await transfer({
              nonce: event.nth,
              value: event.fee,
              maxFeePerGas: 10n ** 9n + event.fee * 10n ** 6n,
            }),
      )
      told.push(outcome.kind)
    }
    await assertWhole(chain)
  }
  return told
}

const spendBack = (
  from: ReturnType<typeof wallet>,
  utxo: { txid: string; index: number; atoms: bigint } | undefined,
  fee: bigint,
): string =>
  utxo ? spend('sim-bitcoin', { from, utxos: [utxo], to: from.address, atoms: utxo.atoms - fee }).raw : ''

/** Blocks link, nothing is used twice, parents come first, and balances are what the blocks moved. */
async function assertWhole({ port, storage: { reads } }: TestChain): Promise<void> {
  const tip = await port.tip()
  const used = new Map<string, { parent: string; child: string }>()
  const place = new Map<string, number>()
  const moved: Balances = new Map()
  let parentHash = ''
  for (let height = 0; height <= tip.height; height++) {
    const hash = await port.blockHash(height)
    assert.ok(hash)
    const block = await reads.block(hash)
    assert.ok(block)
    if (height > 0) assert.equal(block.parentHash, parentHash)
    parentHash = block.hash
    for (const transaction of block.transactions) {
      assert.deepEqual((await port.findTransaction(transaction.txid))?.block, { height, hash })
      for (const debit of transaction.debits) {
        moved.set(holdingKey(debit), (moved.get(holdingKey(debit)) ?? 0n) - debit.atoms)
        assert.ok((moved.get(holdingKey(debit)) ?? 0n) >= 0n, 'nobody pays what he does not have')
      }
      for (const output of transaction.outputs) {
        moved.set(holdingKey(output), (moved.get(holdingKey(output)) ?? 0n) + output.atoms)
      }
      note(transaction)
    }
  }
  for (const transaction of await reads.mempool()) {
    assert.deepEqual((await port.findTransaction(transaction.txid))?.block, null)
    note(transaction)
  }
  for (const { parent, child } of used.values()) {
    assert.ok((place.get(parent) ?? -1) < (place.get(child) ?? -1), 'a parent comes before its child')
  }
  if (port.chain === 'sim-ethereum') {
    const balances = await reads.balances([
      Buffer.from(owner.address.slice(2), 'hex'),
      new Uint8Array(20).fill(0xde),
    ])
    for (const [key, atoms] of balances) assert.equal(atoms, moved.get(key) ?? 0n)
  }

  function note({ txid, claims }: SimulatedTransaction): void {
    assert.ok(!place.has(txid), 'a transaction is in one place')
    place.set(txid, place.size)
    for (const claim of claims) {
      assert.ok(!used.has(claimKey(claim)), 'nothing is used twice')
      used.set(claimKey(claim), { parent: claim.txid, child: txid })
    }
  }
}

for (const name of ['sim-bitcoin', 'sim-ethereum'] as const) {
  test(`${name}: no sequence of events breaks the chain`, async () => {
    await fc.assert(
      fc.asyncProperty(happenings, async (story) => {
        await tell(memoryChain(name), story)
      }),
      { numRuns: 100 },
    )
  })

  test(`${name}: memory and PostgreSQL tell every story alike`, async () => {
    const db = await testDatabase()
    await fc.assert(
      fc.asyncProperty(happenings, async (story) => {
        const [remembered, stored] = [
          await tell(memoryChain(name), story),
          await tell(await emptyChain(db, name), story),
        ]
        assert.deepEqual(stored, remembered)
      }),
      { numRuns: 8 },
    )
  })
}
