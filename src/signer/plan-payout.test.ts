import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { testRoot } from '../../test/wallet.ts'
import { signOutputs } from '../chains/bitcoin/sign.ts'
import { STANDARD_VBYTES_MAX, sizesOf, vbytesOf } from '../core/vbytes.ts'
import { RATE_BOUNDS } from '../treasury/fees.ts'
import { feeMost } from '../treasury/payout-cost.ts'
import {
  bumpReserve,
  CHANGE_SCRIPT_LENGTH,
  INPUTS_MAX,
  isFull,
  PAYOUT_VBYTES_MAX,
  selectorOf,
} from '../treasury/select-utxos.ts'
import { INTERNAL_BRANCH } from '../wallets/derivation.ts'
import { type PayoutOutput, PayoutPlanner } from './plan-payout.ts'
import { chainKeys } from './vault.ts'

const DUST = 294n
/** Of P2WPKH, P2SH, P2PKH, and P2WSH or P2TR. */
const SCRIPT_LENGTHS = [22, 23, 25, 34]

const payableOf = (netAtoms: bigint, scriptLength = 22, networkFeeAtoms = 100_000n): PayoutOutput => ({
  request: { netAtoms, networkFeeAtoms },
  script: new Uint8Array(scriptLength),
})

const utxosOf = (atoms: readonly bigint[]) =>
  atoms.map((each, index) => ({ txid: 'a'.repeat(64), index, atoms: each }))

const sumNet = (payables: readonly PayoutOutput[]) =>
  payables.reduce((sum, { request }) => sum + request.netAtoms, 0n)

const sumFeeMost = (payables: readonly PayoutOutput[]) =>
  payables.reduce((sum, { request }) => sum + feeMost(request.networkFeeAtoms, request.netAtoms), 0n)

/** What a fee may take in more, where change would not be worth keeping: so far fewer outputs may cost more. */
const feeWithoutChange = (rateAtomsPerKvb: bigint) => DUST + (100n * rateAtomsPerKvb) / 1_000n + 3n

const given = fc.record({
  payables: fc.oneof(
    fc.array(
      fc
        .tuple(fc.bigInt(546n, 5_000_000n), fc.constantFrom(...SCRIPT_LENGTHS), fc.bigInt(0n, 200_000n))
        .map(([atoms, length, charged]) => payableOf(atoms, length, charged)),
      { minLength: 1, maxLength: 60 },
    ),
    // More than one transaction holds.
    fc
      .tuple(
        fc.integer({ min: 2_000, max: 4_000 }),
        fc.constantFrom(...SCRIPT_LENGTHS),
        fc.bigInt(546n, 50_000n),
      )
      .map(([count, length, atoms]) => Array.from({ length: count }, () => payableOf(atoms, length))),
  ),
  utxos: fc.oneof(
    fc.array(fc.bigInt(1n, 20_000_000n), { maxLength: 60 }),
    fc
      .tuple(fc.integer({ min: 300, max: 2_000 }), fc.bigInt(10_000n, 1_000_000n))
      .map(([count, atoms]) => Array.from({ length: count }, () => atoms)),
  ),
  rateAtomsPerKvb: fc.bigInt(RATE_BOUNDS.bitcoin.floor, 100_000n),
  limit: fc.bigInt(1n, 200_000_000n),
})

test('whatever waits and whatever there is to spend: a plan is relayed, within its limit, in proportion, and pays to the atom', () => {
  fc.assert(
    fc.property(given, ({ payables, utxos, rateAtomsPerKvb, limit }) => {
      const planner = new PayoutPlanner({
        utxos: utxosOf(utxos),
        rateAtomsPerKvb,
        dustAtoms: DUST,
        allowsFee: (feeAtoms, netAtoms) => feeAtoms + netAtoms <= limit,
      })
      const plan = planner.plan(payables)
      if (!plan) {
        assert.ok(payables.every((payable) => planner.whyNot(payable) !== null))
        // Nor can the oldest together, however many of them.
        for (let count = 1; count <= payables.length; count += count < 60 ? 1 : 200) {
          const oldest = payables.slice(0, count)
          const select = selectorOf(utxosOf(utxos), { rateAtomsPerKvb, dustAtoms: DUST })
          const spent = select(sumNet(oldest), sizesOf(oldest.map(({ script }) => script.length)))
          assert.ok(
            !spent ||
              spent.feeAtoms > sumFeeMost(oldest) ||
              sumNet(oldest) + spent.feeAtoms + feeWithoutChange(rateAtomsPerKvb) > limit,
            `the ${count} oldest can be paid`,
          )
        }
        return
      }
      const { paid, selection } = plan
      const lengths = paid.map(({ script }) => script.length)
      assert.ok(
        vbytesOf(selection.utxos.length, [...lengths, CHANGE_SCRIPT_LENGTH]) <= PAYOUT_VBYTES_MAX &&
          selection.utxos.length <= INPUTS_MAX,
      )
      const held = selection.utxos.reduce((sum, { atoms }) => sum + atoms, 0n)
      assert.equal(held, sumNet(paid) + selection.feeAtoms + selection.changeAtoms)
      assert.ok(sumNet(paid) + selection.feeAtoms <= limit)
      assert.ok(selection.feeAtoms <= sumFeeMost(paid))
      assert.equal(new Set(paid).size, paid.length)
      assert.deepEqual(
        payables.filter((payable) => paid.includes(payable)).map(({ request }) => request),
        paid.map(({ request }) => request),
      )
    }),
    { numRuns: 150 },
  )
})

test('nobody whom the UTXOs could pay beside the others is left out, and who is older is not left out for who is newer', () => {
  fc.assert(
    fc.property(given, ({ payables, utxos, rateAtomsPerKvb }) => {
      const planner = new PayoutPlanner({
        utxos: utxosOf(utxos),
        rateAtomsPerKvb,
        dustAtoms: DUST,
        allowsFee: () => true,
      })
      const charged = payables
        .slice(0, 60)
        .map(({ request, script }) => payableOf(request.netAtoms, script.length, 10n ** 9n))
      const paid = new Set(planner.plan(charged)?.paid)
      for (const left of charged.filter((payable) => !paid.has(payable))) {
        const older = charged.slice(0, charged.indexOf(left)).filter((payable) => paid.has(payable))
        assert.ok(!planner.plan([...older, left])?.paid.includes(left))
      }
    }),
    { numRuns: 150 },
  )
})

test('a thousand outputs of any kind and four hundred inputs are one transaction', () => {
  for (const length of SCRIPT_LENGTHS) {
    const payables = Array.from({ length: 1_000 }, () => payableOf(100_000n, length))
    const plan = new PayoutPlanner({
      utxos: utxosOf(Array.from({ length: 1_000 }, () => 300_000n)),
      rateAtomsPerKvb: 5_000n,
      dustAtoms: DUST,
      allowsFee: () => true,
    }).plan(payables)
    assert.equal(plan?.paid.length, 1_000)
    assert.ok((plan?.selection.utxos.length ?? 0) > 300)
    assert.ok(!isFull(sizesOf(payables.map(({ script }) => script.length))))
  }
})

test('one that exceeds the limit with its fee holds up none of those behind it', () => {
  const planner = new PayoutPlanner({
    utxos: utxosOf([100_000_000n]),
    rateAtomsPerKvb: 5_000n,
    dustAtoms: DUST,
    allowsFee: (feeAtoms, netAtoms) => feeAtoms + netAtoms <= 1_000_000n,
  })
  const [large, small] = [payableOf(1_000_000n), payableOf(5_000n)]
  assert.deepEqual(planner.plan([large, small])?.paid, [small])
  assert.ok(typeof planner.whyNot(large) === 'object')
})

test('a fee that is out of proportion to the oldest alone, and not to it with others, is paid for them together', () => {
  const planner = new PayoutPlanner({
    utxos: utxosOf([100_000_000n]),
    rateAtomsPerKvb: 50_000n,
    dustAtoms: DUST,
    allowsFee: (_, netAtoms) => netAtoms <= 60_000_000n,
  })
  const [poor, rich, tooMuch] = [payableOf(10_000n, 22, 100n), payableOf(50_000_000n), payableOf(40_000_000n)]
  assert.equal(planner.whyNot(poor), 'proportion')
  assert.deepEqual(planner.plan([poor, rich, tooMuch])?.paid, [poor, rich])
})

/** Each of them alone, and the first without those behind it, needs more inputs than were charged for. */
const dear = (count: number, networkFeeAtoms: bigint) =>
  Array.from({ length: count }, () => payableOf(1_000_000n, 22, networkFeeAtoms))

test('ten whose fee is in proportion together, and of whom the limit lets nine through: nine are paid', () => {
  const planner = new PayoutPlanner({
    utxos: utxosOf(Array.from({ length: 60 }, () => 400_000n)),
    rateAtomsPerKvb: 50_000n,
    dustAtoms: DUST,
    allowsFee: (feeAtoms, netAtoms) => feeAtoms + netAtoms <= 10_000_000n,
  })
  // Quoted at a fifth of the rate there is now.
  const ten = dear(10, 2_210n)
  for (const each of ten) assert.equal(planner.whyNot(each), 'proportion')
  assert.deepEqual(planner.plan(ten)?.paid, ten.slice(0, 9))
})

test('one that keeps the fee of all out of proportion holds up none behind it, though the fee of each alone is', () => {
  const planner = new PayoutPlanner({
    utxos: utxosOf(Array.from({ length: 80 }, () => 300_000n)),
    rateAtomsPerKvb: 50_000n,
    dustAtoms: DUST,
    allowsFee: () => true,
  })
  const nine = dear(9, 2_800n)
  const oldest = payableOf(10_000_000n, 22, 0n)
  for (const each of [oldest, ...nine]) assert.equal(planner.whyNot(each), 'proportion')
  assert.deepEqual(planner.plan([oldest, ...nine])?.paid, nine)
})

test('three thousand of whom nobody can be paid are planned for within two seconds', () => {
  const startedAt = performance.now()
  const plan = new PayoutPlanner({
    utxos: utxosOf(Array.from({ length: 2_000 }, (_, index) => 20_000n + BigInt(index))),
    rateAtomsPerKvb: 50_000n,
    dustAtoms: DUST,
    allowsFee: () => true,
  }).plan(Array.from({ length: 3_000 }, (_, index) => payableOf(20_000n + BigInt(index), 22, 100n)))
  const tookMs = performance.now() - startedAt
  assert.equal(plan, null)
  assert.ok(tookMs < 2_000, `${Math.round(tookMs)} ms`)
})

test('change is left that a bump is paid from, where there are UTXOs for it', () => {
  const payable = payableOf(100_000n)
  const spending = { rateAtomsPerKvb: 2_000n, dustAtoms: DUST, allowsFee: () => true }
  const planWith = (...atoms: bigint[]) =>
    new PayoutPlanner({ ...spending, utxos: utxosOf(atoms) }).plan([payable])?.selection
  // What suffices by itself, and leaves nothing.
  assert.equal(planWith(100_300n)?.changeAtoms, 0n)
  for (const more of [[110_000n], [10_000n], [10_000n, 900_000n]]) {
    const selection = planWith(100_300n, ...more)
    assert.ok(selection)
    const reserve = bumpReserve(selection.feeAtoms, spending.rateAtomsPerKvb, DUST)
    assert.ok(selection.changeAtoms >= reserve, `${selection.changeAtoms}`)
  }
  // A limit, or proportion, that leaves no room for its inputs outweighs it.
  const limited = new PayoutPlanner({
    ...spending,
    utxos: utxosOf([100_300n, 10_000n]),
    allowsFee: (feeAtoms) => feeAtoms <= 300n,
  }).plan([payable])
  assert.equal(limited?.selection.utxos.length, 1)
})

test('a thousand of which the limit lets half through are planned within a second', () => {
  const payables = Array.from({ length: 1_000 }, (_, index) => payableOf(10_000n + BigInt(index)))
  let asked = 0
  const startedAt = performance.now()
  const plan = new PayoutPlanner({
    utxos: utxosOf(Array.from({ length: 2_000 }, (_, index) => 20_000n + BigInt(index))),
    rateAtomsPerKvb: 2_000n,
    dustAtoms: DUST,
    allowsFee(feeAtoms, netAtoms) {
      asked += 1
      return feeAtoms + netAtoms <= sumNet(payables.slice(0, 500))
    },
  }).plan(payables)
  const tookMs = performance.now() - startedAt
  assert.ok(plan && plan.paid.length > 480 && plan.paid.length < 500, `${plan?.paid.length}`)
  assert.ok(asked <= 2_001)
  assert.ok(tookMs < 1_000, `${Math.round(tookMs)} ms`)
})

test('what a plan of the most that fits is signed to weighs no more than nodes relay, however its destinations are written', () => {
  const keys = chainKeys(testRoot, 'litecoin', 'regtest')
  const { lookup: script } = keys.address(INTERNAL_BRANCH, 0n)
  const privateKey = keys.privateKey(INTERNAL_BRANCH, 0n)
  for (const length of [22, 34]) {
    const payables = Array.from({ length: 4_000 }, () => payableOf(10_000n, length))
    const plan = new PayoutPlanner({
      utxos: utxosOf([100_000_000n]),
      rateAtomsPerKvb: 2_000n,
      dustAtoms: DUST,
      allowsFee: () => true,
    }).plan(payables)
    assert.ok(plan)
    const program = Uint8Array.of(length === 34 ? 0x51 : 0, length - 2, ...new Uint8Array(length - 2).fill(7))
    const { vbytes } = signOutputs(
      plan.selection.utxos.map((utxo) => ({ ...utxo, script, privateKey })),
      [
        ...plan.paid.map(({ request }) => ({ script: program, atoms: request.netAtoms })),
        { script, atoms: plan.selection.changeAtoms },
      ],
    )
    assert.ok(vbytes <= PAYOUT_VBYTES_MAX && PAYOUT_VBYTES_MAX < STANDARD_VBYTES_MAX)
    assert.ok(vbytes > PAYOUT_VBYTES_MAX - 100, 'nothing more would fit')
  }
})
