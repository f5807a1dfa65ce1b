import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { OutsideFailure } from '../../core/errors.ts'
import { clearSource, creditFromContracts } from './contract-ether.ts'
import { readCallTraces, readFlatTraces } from './traces.ts'
import { type ExecutedTransaction, shownOf, tokenTransferOf } from './transactions.ts'
import { type Hex, readReceipt, readWireBlock, type WireLog } from './wire.ts'

const USDC: Hex = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const TOKENS = new Map([[USDC, 'USDC' as const]])
const TRANSFER: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const hexOf = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((b): Hex => `0x${Buffer.from(b).toString('hex')}`)
const addresses = hexOf(20)
const wei = fc.bigInt(0n, 10n ** 27n)
const topicOf = (address: string): Hex => `0x${'0'.repeat(24)}${address.slice(2)}`
const wordOf = (value: bigint): Hex => `0x${value.toString(16).padStart(64, '0')}`

describe('the credit that a log shows', () => {
  it('is exactly the value of a well-formed transfer to somebody else', () => {
    fc.assert(
      fc.property(addresses, addresses, fc.bigInt(1n, 2n ** 256n - 1n), (from, to, value) => {
        fc.pre(from !== to)
        const log: WireLog = {
          address: USDC,
          topics: [TRANSFER, topicOf(from), topicOf(to)],
          data: wordOf(value),
          removed: false,
        }
        assert.deepEqual(tokenTransferOf(log, TOKENS), {
          from,
          lookup: Buffer.from(to.slice(2), 'hex'),
          asset: 'USDC',
          atoms: value,
        })
        assert.equal(tokenTransferOf({ ...log, removed: true }, TOKENS), null)
        assert.equal(tokenTransferOf({ ...log, address: to }, TOKENS), null)
        assert.equal(tokenTransferOf({ ...log, data: wordOf(0n) }, TOKENS), null)
        assert.equal(tokenTransferOf({ ...log, topics: log.topics.slice(0, 2) }, TOKENS), null)
        assert.equal(tokenTransferOf({ ...log, topics: [...log.topics, topicOf(to)] }, TOKENS), null)
      }),
    )
  })

  it('is nothing for any other shape, and reading one never fails', () => {
    const logs = fc.record({
      address: fc.oneof(fc.constant(USDC), addresses),
      topics: fc.array(fc.oneof(fc.constant(TRANSFER), hexOf(32)), { maxLength: 5 }),
      data: fc.oneof(hexOf(0), hexOf(31), hexOf(32), hexOf(33), hexOf(64)),
      removed: fc.boolean(),
    })
    fc.assert(
      fc.property(logs, (log) => {
        const transfer = tokenTransferOf(log, TOKENS)
        if (transfer === null) return
        assert.equal(log.topics.length, 3)
        assert.equal(log.topics[0], TRANSFER)
        assert.equal(log.data.length, 66)
        assert.equal(log.topics[2]?.slice(2, 26), '0'.repeat(24))
      }),
    )
  })
})

describe('ether that contracts sent', () => {
  const ACCOUNT: Hex = `0x${'aa'.repeat(20)}`
  const others = addresses.filter((address) => address !== ACCOUNT)
  const transactions = fc.record({
    from: fc.oneof(fc.constant(ACCOUNT), others),
    to: fc.oneof(fc.constant(ACCOUNT), others, fc.constant(null)),
    wei,
    fee: wei,
    succeeded: fc.boolean(),
  })

  it('is found whatever else an account received, sent and paid in the block', () => {
    fc.assert(
      fc.property(fc.array(transactions, { maxLength: 8 }), wei, wei, (given, before, sent) => {
        let after = before + sent
        for (const one of given) {
          if (one.from === ACCOUNT) after -= one.fee + (one.succeeded ? one.wei : 0n)
          if (one.to === ACCOUNT && one.succeeded) after += one.wei
        }
        const executed = given.map((one) => executedOf(one))
        assert.equal(creditFromContracts(ACCOUNT, before, after, executed), sent)
        // The top-level part is shown as outputs of their own, and only what others sent.
        const shown = executed
          .flatMap((one) => shownOf(one, TOKENS).outputs)
          .filter((output) => Buffer.from(output.lookup).toString('hex') === 'aa'.repeat(20))
          .reduce((sum, output) => sum + output.atoms, 0n)
        const received = given
          .filter((one) => one.to === ACCOUNT && one.from !== ACCOUNT && one.succeeded)
          .reduce((sum, one) => sum + one.wei, 0n)
        assert.equal(shown, received)
      }),
    )
  })

  it('is found beside what our own delegate swept out of the address, and is never below zero', () => {
    const swept = executedOf(
      { from: `0x${'bb'.repeat(20)}`, to: ACCOUNT, wei: 0n, fee: 1n, succeeded: true },
      [
        {
          address: ACCOUNT,
          topics: ['0x7f221332ee403570bf4d61630b58189ea566ff1635269001e9df6a890f413dd8'],
          data: wordOf(70n),
          removed: false,
        },
      ],
    )
    assert.equal(creditFromContracts(ACCOUNT, 70n, 5n, [swept]), 5n)
    assert.equal(creditFromContracts(ACCOUNT, 70n, 0n, []), 0n)
  })

  it('has a clear source only when one transaction alone paid exactly that much', () => {
    const credit = { account: ACCOUNT, atoms: 5n }
    const [a, b]: Hex[] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`]
    assert.ok(a && b)
    assert.equal(clearSource(credit, []), null)
    assert.equal(clearSource(credit, [{ transactionHash: a, to: ACCOUNT, wei: 5n }]), a)
    assert.equal(
      clearSource(credit, [
        { transactionHash: a, to: ACCOUNT, wei: 2n },
        { transactionHash: a, to: ACCOUNT, wei: 3n },
        { transactionHash: b, to: `0x${'cc'.repeat(20)}`, wei: 5n },
      ]),
      a,
    )
    assert.equal(clearSource(credit, [{ transactionHash: a, to: ACCOUNT, wei: 4n }]), null)
    assert.equal(
      clearSource(credit, [
        { transactionHash: a, to: ACCOUNT, wei: 2n },
        { transactionHash: b, to: ACCOUNT, wei: 3n },
      ]),
      null,
    )
  })
})

describe('traces of a block', () => {
  const block = { hash: `0x${'0b'.repeat(32)}` as const }
  const transactionHash: Hex = `0x${'0a'.repeat(32)}`
  const to: Hex = `0x${'cc'.repeat(20)}`

  it('as a flat list leave out the top, what failed with all below it, code that only ran, and other blocks', () => {
    const trace = (traceAddress: number[], more: object = {}) => ({
      type: 'call',
      action: { callType: 'call', to, value: '0x5' },
      transactionHash,
      blockHash: block.hash,
      traceAddress,
      ...more,
    })
    const traces = [
      trace([]),
      trace([0]),
      trace([1], { error: 'Reverted' }),
      trace([1, 0]),
      trace([2], { action: { callType: 'delegatecall', to, value: '0x5' } }),
      trace([3], { type: 'suicide', action: { refundAddress: to, balance: '0x7' } }),
      trace([4], { type: 'create', action: { value: '0x5' } }),
      { type: 'reward', action: { value: '0x9' }, blockHash: block.hash, traceAddress: [] },
    ]
    assert.deepEqual(
      readFlatTraces(traces, block).map((transfer) => transfer.wei),
      [5n, 7n],
    )
    assert.deepEqual(readFlatTraces(traces, { hash: `0x${'0c'.repeat(32)}` }), [])
  })

  it('as trees leave out the same', () => {
    const calls = [
      { type: 'CALL', to, value: '0x5' },
      { type: 'CALL', to, value: '0x0', calls: [{ type: 'SELFDESTRUCT', to, value: '0x7' }] },
      {
        type: 'CALL',
        to,
        value: '0x5',
        error: 'execution reverted',
        calls: [{ type: 'CALL', to, value: '0x5' }],
      },
      { type: 'DELEGATECALL', to, value: '0x5' },
    ]
    const traces = [{ txHash: transactionHash, result: { type: 'CALL', to, value: '0x5', calls } }]
    assert.deepEqual(
      readCallTraces(traces).map((transfer) => transfer.wei),
      [5n, 7n],
    )
  })
})

describe("a node's answers", () => {
  it('are read whole or refused, whatever they hold', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        for (const read of [readWireBlock, readReceipt]) {
          assert.throws(() => read(value), OutsideFailure)
        }
      }),
    )
  })
})

function executedOf(
  one: { from: Hex; to: Hex | null; wei: bigint; fee: bigint; succeeded: boolean },
  logs: readonly WireLog[] = [],
): ExecutedTransaction {
  const hash: Hex = `0x${'0a'.repeat(32)}`
  return {
    transaction: { hash, nonce: 0n, from: one.from, to: one.to, wei: one.wei },
    receipt: {
      transactionHash: hash,
      blockHash: `0x${'0b'.repeat(32)}`,
      height: 1,
      succeeded: one.succeeded,
      feeWei: one.fee,
      logs,
    },
  }
}
