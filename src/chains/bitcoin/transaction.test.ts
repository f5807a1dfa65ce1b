import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RawTx, Transaction } from '@scure/btc-signer'
import fc from 'fast-check'
import { NUMBERS_PER_PIECE, type Pieces } from '../chain.ts'
import { parseBlock } from './block.ts'
import type { BitcoinLike } from './networks.ts'
import { piecesOf, ShownTransaction } from './shown.ts'
import { doubleSha256Hex, MalformedBytes, type ParsedTransaction, parseTransaction } from './transaction.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

/** What work gives that nobody rests in. */
function finished<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** BIP-143, "P2SH-P2WPKH": the signed transaction. */
const BIP143_P2SH_P2WPKH = hex(`
  01000000000101db6b1b20aa0fd7b23880be2ecbd4a98130974cf4748fb66092ac4d3ceb1a5477010000001716001479091972186c449eb1
  ded22b78e40d009bdf0089feffffff02b8b4eb0b000000001976a914a457b684d7f0d539a46a45bbc043f35b59d0d96388ac0008af2f00000
  0001976a914fd270b1ee6abcaea97fea7ad0402e8bd8ad6d77c88ac02473044022047ac8e878352d3ebbde1c94ce3a10d057c24175747116f
  8288e5d794d12d482f0220217f36a485cae903c713331d877c1f64677e3622ad4010726870540656fe9dcb012103ad1d8e89212f0b92c74d23
  bb710c00662ad1470198ac48c43f7d6f93a2a2687392040000`)

/** BIP-143, "Native P2WPKH": the unsigned transaction, in the format without witnesses. */
const BIP143_UNSIGNED = hex(`
  0100000002fff7f7881a8099afa6940d42d1e7f6362bec38171ea3edf433541db4e4ad969f0000000000eeffffffef51e1b804cc89d182d279
  655c3aa89e815b1b309fe287d9b2b55d57b90ec68a0100000000ffffffff02202cb206000000001976a9148280b37df378db99f66f85c95a783
  a76ac7a6d5988ac9093510d000000001976a9143bde42dbee7e4dbe6a21b2d50ce2f0167faa815988ac11000000`)

/** The first block of Bitcoin, whole. */
const BITCOIN_GENESIS = hex(`
  0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a
  51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c0101000000010000000000000000000000000000000000000000000000000000000000000
  000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66
  207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105c
  d6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000`)

/** A Litecoin regtest block of height 433, made by Litecoin Core 0.21.2.1: coinbase, HogEx, and an empty MWEB part. */
const LITECOIN_MWEB_BLOCK = hex(`
  000000201268b8246a84b59cb7538d20421b638819e02fb883c99544916764657fec5f4080dc54f4a55d6f735e12a3022faa0209d3c1e97f6327
  8cb915bbef2b2ba70e53754b016bffff7f200000000002020000000001010000000000000000000000000000000000000000000000000000000000
  000000ffffffff0502b1010101ffffffff02807c814a00000000160014615613a6e18251b1316579f9914db0433202d7c90000000000000000266a
  24aa21a9ed3fbcec5f99cfe21579d61f814bd378c8e12feb6410377c503408140c9edf9d090120000000000000000000000000000000000000000
  00000000000000000000000000000000002000000000801f0f6ff70e13bac9ffbf3ace1608d5cd8f775bebeb2be50a60cdcaa40af3afb11000000
  0000ffffffff01e666814a00000000225820a7449198b5acd45d5db006e168777982fd20eb413e6c02a7c0b8cfa521a2f5dc000000000001823164
  818f4ca08c06811cddca9e2cce0e9d74e2d54cc74f9362e434e6e23b3b6a1700000000000000000000000000000000000000000000000000000000
  00000000af2edc674154ff129d9e826727ada0828d3ba480924bbed84bf6dcae2e1f1db205cfa436eb496b05ecebe442b35cb728c137d8b4e0ea97
  f25499234f6cc13f0c00000000000000000000000000000000000000000000000000000000000000000200000000`)

test('BIP-143 P2SH-P2WPKH: the txid leaves the witness out, outputs and inputs are as published', () => {
  const parsed = parseTransaction(BIP143_P2SH_P2WPKH, 'bitcoin')
  assert.equal(parsed.txid, 'ef48d9d0f595052e0f8cdcf825f7a5e50b6a388a81f206f3f4846e5ecd7a0c23')
  assert.deepEqual(parsed.inputs, [
    { txid: '77541aeb3c4dac9260b68f74f44c973081a9d4cb2ebe8038b2d70faa201b6bdb', index: 1 },
  ])
  assert.deepEqual(
    parsed.outputs.map(({ script, atoms }) => [script.toString('hex'), atoms]),
    [
      ['76a914a457b684d7f0d539a46a45bbc043f35b59d0d96388ac', 199_996_600n],
      ['76a914fd270b1ee6abcaea97fea7ad0402e8bd8ad6d77c88ac', 800_000_000n],
    ],
  )
})

test('BIP-431 version 3 with a pay-to-anchor output of nothing reads like any other', () => {
  const anchor = '0000000000000000 04 51024e73'
  const paying = `e803000000000000 16 0014${'11'.repeat(20)}`
  const bytes = hex(`03000000 01 ${'ab'.repeat(32)} 05000000 00 fdffffff 02 ${anchor} ${paying} 00000000`)
  const parsed = parseTransaction(bytes, 'bitcoin')
  assert.equal(parsed.txid, doubleSha256Hex(bytes))
  assert.deepEqual(
    parsed.outputs.map(({ script, atoms }) => [script.toString('hex'), atoms]),
    [
      ['51024e73', 0n],
      [`0014${'11'.repeat(20)}`, 1_000n],
    ],
  )
})

test('BIP-143 native P2WPKH, unsigned: the format without witnesses reads the same as another library reads it', () => {
  const parsed = parseTransaction(BIP143_UNSIGNED, 'bitcoin')
  const other = Transaction.fromRaw(BIP143_UNSIGNED)
  assert.equal(parsed.txid, other.id)
  assert.deepEqual(
    parsed.outputs.map((output) => output.atoms),
    [112_340_000n, 223_450_000n],
  )
  assert.equal(parsed.inputs.length, 2)
})

test('the genesis block of Bitcoin has its known hash, time and transaction; a coinbase spends nothing', () => {
  const block = finished(parseBlock(BITCOIN_GENESIS, 'bitcoin'))
  assert.equal(block.hash, '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f')
  assert.equal(block.parentHash, '0'.repeat(64))
  assert.equal(new Date(block.timeMs).toISOString(), '2009-01-03T18:15:05.000Z')
  assert.deepEqual(
    block.transactions.map(({ txid, inputs, outputs }) => [
      txid,
      inputs,
      outputs.map((output) => output.atoms),
    ]),
    [['4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b', [], [5_000_000_000n]]],
  )
})

test('a Litecoin block with a HogEx and an MWEB part reads like any other', () => {
  const block = finished(parseBlock(LITECOIN_MWEB_BLOCK, 'litecoin'))
  assert.equal(block.hash, '2d1163318d3bb5421cc382942b04a3b07d2a291e3696a79c9a648f7465f2b086')
  assert.deepEqual(
    block.transactions.map(({ txid, isHogEx }) => [txid, isHogEx]),
    [
      ['d10206999757dd0a47f9e9d6dcddf3ce803ef896dcbd70ce83aa5e87a794f705', false],
      ['7dd1112bf5d7faac411aa6aec3c15945ba682775a8b19b4eedaf64fc9d20cb91', true],
    ],
  )
  assert.deepEqual(block.transactions[1]?.inputs, [
    { txid: '11fb3aaf40aadc0ca650beb2bebe75f7d85c8d60e1acf3fb9fac3be170fff6f0', index: 0 },
  ])
})

test('what only Litecoin may send is malformed on Bitcoin', () => {
  assert.throws(() => finished(parseBlock(LITECOIN_MWEB_BLOCK, 'bitcoin')), MalformedBytes)
})

const refused: readonly [name: string, bytes: Buffer][] = [
  ['nothing', Buffer.alloc(0)],
  ['a byte too few', BIP143_P2SH_P2WPKH.subarray(0, -1)],
  ['a byte too many', Buffer.concat([BIP143_P2SH_P2WPKH, Buffer.alloc(1)])],
  ['an unknown flag', Buffer.from(BIP143_P2SH_P2WPKH).fill(0x03, 5, 6)],
  ['no flag after the marker', Buffer.from(BIP143_P2SH_P2WPKH).fill(0x00, 5, 6)],
  ['a count of four billion inputs', hex('01000000 feffffffff')],
  ['a size of 64 bits', hex('01000000 ffffffffffffffffff')],
  ['a size in more bytes than it needs', Buffer.concat([hex('01000000fd0200'), BIP143_UNSIGNED.subarray(5)])],
  [
    'an amount beyond the supply',
    hex(`01000000 01 ${'11'.repeat(32)} 00000000 00 ffffffff 01 ffffffffffffffff 00 00000000`),
  ],
  ['no outputs', hex(`01000000 01 ${'11'.repeat(32)} 00000000 00 ffffffff 00 00000000`)],
]
for (const [name, bytes] of refused) {
  test(`malformed: ${name}`, () => {
    assert.throws(() => parseTransaction(bytes, 'bitcoin'), MalformedBytes)
  })
}

test('a block with bytes after its last transaction is malformed unless a HogEx announces them', () => {
  assert.throws(
    () => finished(parseBlock(Buffer.concat([BITCOIN_GENESIS, Buffer.alloc(1)]), 'bitcoin')),
    MalformedBytes,
  )
  assert.throws(
    () => finished(parseBlock(Buffer.concat([BITCOIN_GENESIS, Buffer.alloc(1)]), 'litecoin')),
    MalformedBytes,
  )
})

test('random transactions read the same as another library reads them', () => {
  const output = fc.record({
    amount: fc.bigInt({ min: 0n, max: 2_100_000_000_000_000n }),
    script: fc.uint8Array({ maxLength: 300 }),
  })
  const input = fc.record({
    txid: fc.uint8Array({ minLength: 32, maxLength: 32 }),
    index: fc.integer({ min: 0, max: 0xffff_fffe }),
    script: fc.uint8Array({ maxLength: 300 }),
    witness: fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(
      fc.array(input, { minLength: 1, maxLength: 5 }),
      fc.array(output, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (inputs, outputs, wantsWitness) => {
        const withWitness = wantsWitness && inputs.some(({ witness }) => witness.length > 0)
        const fields = {
          version: 2,
          segwitFlag: withWitness,
          inputs: inputs.map(({ txid, index, script }) => ({
            txid,
            index,
            finalScriptSig: script,
            sequence: 0xffff_fffe,
          })),
          outputs,
          witnesses: withWitness ? inputs.map(({ witness }) => witness) : undefined,
          lockTime: 500_000,
        }
        const bytes = Buffer.from(RawTx.encode(fields))
        const stripped = RawTx.encode({ ...fields, segwitFlag: false, witnesses: undefined })
        const parsed = parseTransaction(bytes, 'bitcoin')
        assert.equal(parsed.txid, doubleSha256Hex(Buffer.from(stripped)))
        assert.deepEqual(
          parsed.outputs.map(({ script, atoms }) => [atoms, script.toString('hex')]),
          outputs.map(({ amount, script }) => [amount, Buffer.from(script).toString('hex')]),
        )
        assert.deepEqual(
          parsed.inputs,
          inputs.map(({ txid, index }) => ({ txid: Buffer.from(txid).toString('hex'), index })),
        )
      },
    ),
  )
})

/** What is made when it is asked for is asked for. */
function whole({ txid, inputs, outputs }: ParsedTransaction): void {
  assert.match(txid, /^[0-9a-f]{64}$/)
  for (const input of inputs) assert.match(input.txid, /^[0-9a-f]{64}$/)
  for (const { atoms } of outputs) assert.ok(atoms >= 0n && atoms < 2n ** 53n)
}

const readAlone = (bytes: Buffer, chain: BitcoinLike): void => whole(parseTransaction(bytes, chain))

/** And its pieces are those of its transactions. */
function readInBlock(bytes: Buffer, chain: BitcoinLike): void {
  const block = finished(parseBlock(bytes, chain))
  block.transactions.forEach(whole)
  const { lookups, spent } = finished(piecesOf(block))
  const shown = block.transactions.map((transaction) => new ShownTransaction(transaction, 'BTC'))
  const textsOf = ({ bytes: of, ranges }: Pieces) =>
    Array.from({ length: ranges.length / NUMBERS_PER_PIECE }, (_, n) => {
      const [from, to, index] = [0, 1, 2].map((i) => Number(ranges[n * NUMBERS_PER_PIECE + i]))
      return `${index} ${Buffer.from(of.subarray(from, to)).toString('latin1')}`
    })
  const found = new Set(textsOf(lookups))
  for (const [index, { outputs }] of shown.entries())
    for (const { lookup } of outputs)
      assert.ok(lookup.length === 0 || found.has(`${index} ${Buffer.from(lookup).toString('latin1')}`))
  assert.deepEqual(
    textsOf(spent),
    shown.flatMap(({ inputs }, index) => inputs.map(({ txid }) => `${index} ${txid}`)),
  )
}

test('a large block is read in parts, and is what it is whole', () => {
  const [transaction] = finished(parseBlock(BITCOIN_GENESIS, 'bitcoin')).transactions
  assert.ok(transaction)
  const count = 2_000
  const bytes = Buffer.concat([
    BITCOIN_GENESIS.subarray(0, 80),
    Buffer.from([0xfd, count & 0xff, count >> 8]),
    ...Array.from({ length: count }, (_, n) => (n === 0 ? BITCOIN_GENESIS.subarray(81) : BIP143_UNSIGNED)),
  ])
  const reading = parseBlock(bytes, 'bitcoin')
  let parts = 1
  let read = reading.next()
  for (; !read.done; read = reading.next()) parts++
  assert.equal(parts, Math.floor(bytes.length / 250_000) + 1)
  const block = read.value
  assert.equal(block.transactions.length, count)
  assert.equal(block.transactions.at(-1)?.txid, parseTransaction(BIP143_UNSIGNED, 'bitcoin').txid)
  const gathering = piecesOf(block)
  parts = 1
  let pieces = gathering.next()
  for (; !pieces.done; pieces = gathering.next()) parts++
  assert.equal(parts, count / 500 + 1)
  const { lookups, spent } = pieces.value
  // A transaction of two inputs and two outputs each, behind the coinbase with its one output.
  assert.equal(lookups.ranges.length, NUMBERS_PER_PIECE * (2 * count - 1))
  assert.equal(spent.ranges.length, NUMBERS_PER_PIECE * 2 * (count - 1))
})

test('damaged bytes are read or refused, never anything else', () => {
  const samples = [BIP143_P2SH_P2WPKH, BIP143_UNSIGNED, BITCOIN_GENESIS, LITECOIN_MWEB_BLOCK]
  const damage = fc.record({
    sample: fc.constantFrom(...samples),
    length: fc.nat(),
    changes: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 8 }),
    chain: fc.constantFrom('bitcoin' as const, 'litecoin' as const),
  })
  fc.assert(
    fc.property(damage, ({ sample, length, changes, chain }) => {
      const bytes = Buffer.from(
        sample.subarray(0, sample.length - (length % 3 === 0 ? length % sample.length : 0)),
      )
      for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value
      for (const read of [readAlone, readInBlock]) {
        try {
          read(bytes, chain)
        } catch (error) {
          if (!(error instanceof MalformedBytes)) throw error
        }
      }
    }),
    { numRuns: 5_000 },
  )
})

test('random bytes are read or refused, never anything else', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (random) => {
      for (const bytes of [Buffer.from(random), Buffer.concat([BITCOIN_GENESIS.subarray(0, 80), random])]) {
        for (const read of [readAlone, readInBlock]) {
          try {
            read(bytes, 'litecoin')
          } catch (error) {
            if (!(error instanceof MalformedBytes)) throw error
          }
        }
      }
    }),
    { numRuns: 2_000 },
  )
})
