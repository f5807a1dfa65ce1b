import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sizesOf, vbytesOf } from '../core/vbytes.ts'
import { RATE_BOUNDS } from './fees.ts'
import { balance, bumpReserve, CHILD_VBYTES, type Spending, selectorOf, type Utxo } from './select-utxos.ts'

const utxosOf = (atoms: readonly bigint[]) =>
  atoms.map((each, index) => ({ txid: 'a'.repeat(64), index, atoms: each }))

const selectUtxos = (utxos: readonly Utxo[], spending: Spending) =>
  selectorOf(utxos, spending)(spending.outputAtoms, sizesOf(spending.scriptLengths))

test('what is selected pays outputs, fee and change exactly, at the rate, and wastes less than an output', () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt(1n, 5_000_000n), { maxLength: 40 }),
      fc.bigInt(546n, 20_000_000n),
      fc.integer({ min: 1, max: 10 }),
      fc.bigInt(1_000n, 200_000n),
      (atoms, outputAtoms, outputs, rateAtomsPerKvb) => {
        const scriptLengths = Array.from({ length: outputs }, () => 34)
        const spending = { outputAtoms, scriptLengths, rateAtomsPerKvb, dustAtoms: 294n }
        const selected = selectUtxos(utxosOf(atoms), spending)
        const inputFee = (68n * rateAtomsPerKvb + 999n) / 1_000n
        const vbytes = (inputs: number, lengths: number[]) => BigInt(vbytesOf(inputs, lengths))
        if (!selected) {
          const worthy = atoms.filter((each) => each >= 2n * inputFee)
          const all = worthy.reduce((sum, each) => sum + each, 0n)
          const fee = (vbytes(worthy.length, scriptLengths) * rateAtomsPerKvb + 999n) / 1_000n
          // Of those that are worth spending none that pays goes unfound.
          assert.ok(worthy.length === 0 || all < outputAtoms + fee)
          return
        }
        const given = selected.utxos.reduce((sum, utxo) => sum + utxo.atoms, 0n)
        assert.equal(given, outputAtoms + selected.feeAtoms + selected.changeAtoms)
        assert.ok(selected.changeAtoms === 0n || selected.changeAtoms >= 294n)
        const lengths = selected.changeAtoms === 0n ? scriptLengths : [...scriptLengths, 22]
        const least = (vbytes(selected.utxos.length, lengths) * rateAtomsPerKvb + 999n) / 1_000n
        assert.ok(selected.feeAtoms >= least)
        const wasted = selected.feeAtoms - least
        assert.ok(wasted <= 294n + inputFee + (31n * rateAtomsPerKvb) / 1_000n + 2n, `${wasted}`)
      },
    ),
    { numRuns: 500 },
  )
})

test('one coin that suffices is taken alone, the smallest such', () => {
  const spending = { outputAtoms: 100_000n, scriptLengths: [22], rateAtomsPerKvb: 1_000n, dustAtoms: 294n }
  const selected = selectUtxos(utxosOf([90_000n, 900_000n, 150_000n, 5_000_000n]), spending)
  assert.deepEqual(
    selected?.utxos.map((utxo) => utxo.atoms),
    [150_000n],
  )
  assert.equal(selectUtxos([], spending), null)
})

/** Up to 60 UTXOs, many of them alike, and something to pay. */
const spendings = fc.record({
  atoms: fc.array(fc.oneof(fc.bigInt(1n, 5_000_000n), fc.constantFrom(1n, 294n, 10_000n, 100_000n)), {
    maxLength: 60,
  }),
  outputAtoms: fc.bigInt(546n, 20_000_000n),
  scriptLengths: fc.array(fc.constantFrom(22, 23, 25, 34), { minLength: 1, maxLength: 50 }),
  rateAtomsPerKvb: fc.bigInt(RATE_BOUNDS.bitcoin.floor, RATE_BOUNDS.bitcoin.ceiling),
  dustAtoms: fc.constantFrom(294n, 2_940n),
})

test('UTXOs are chosen once each, out of those there are, and pay no more than they hold', () => {
  fc.assert(
    fc.property(spendings, ({ atoms, ...spending }) => {
      const utxos = utxosOf(atoms)
      const selected = selectUtxos(utxos, spending)
      if (!selected) return
      assert.equal(new Set(selected.utxos).size, selected.utxos.length)
      assert.ok(selected.utxos.every((utxo) => utxos.includes(utxo)))
      const held = atoms.reduce((sum, each) => sum + each, 0n)
      assert.ok(spending.outputAtoms + selected.feeAtoms + selected.changeAtoms <= held)
      assert.ok(selected.feeAtoms > 0n)
    }),
  )
})

test('the fee is within the bounds of its rate: never below it, above it by less than a change output is worth', () => {
  fc.assert(
    fc.property(spendings, ({ atoms, ...spending }) => {
      const selected = selectUtxos(utxosOf(atoms), spending)
      if (!selected) return
      const { rateAtomsPerKvb: rate, scriptLengths, dustAtoms } = spending
      const lengths = selected.changeAtoms > 0n ? [...scriptLengths, 22] : scriptLengths
      const vbytes = BigInt(vbytesOf(selected.utxos.length, lengths))
      assert.ok(selected.feeAtoms * 1_000n >= vbytes * rate)
      // 31 virtual bytes of the output, 68 of spending it, a fraction for each rounding.
      const kept = (99n * rate) / 1_000n + dustAtoms + 3n
      const most = selected.changeAtoms > 0n ? 1n : kept
      assert.ok(selected.feeAtoms * 1_000n < vbytes * rate + most * 1_000n)
    }),
  )
})

test('change is worth keeping: more than dust, after what its spending costs at the same rate', () => {
  fc.assert(
    fc.property(spendings, ({ atoms, ...spending }) => {
      const { changeAtoms } = selectUtxos(utxosOf(atoms), spending) ?? { changeAtoms: 0n }
      const worth = spending.dustAtoms + (68n * spending.rateAtomsPerKvb) / 1_000n
      assert.ok(changeAtoms === 0n || changeAtoms >= worth)
    }),
  )
})

test('the same UTXOs give the same selection, in whatever order they come', () => {
  fc.assert(
    fc.property(spendings, fc.infiniteStream(fc.nat()), ({ atoms, ...spending }, numbers) => {
      const utxos = utxosOf(atoms)
      const shuffled = utxos
        .map((utxo) => ({ utxo, at: numbers.next().value ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ utxo }) => utxo)
      assert.deepEqual(selectUtxos(shuffled, spending), selectUtxos(utxos, spending))
    }),
  )
})

test('more UTXOs never turn what can be paid into what cannot, within what one transaction spends', () => {
  fc.assert(
    fc.property(spendings, fc.bigInt(1n, 5_000_000n), ({ atoms, ...spending }, more) => {
      if (selectUtxos(utxosOf(atoms), spending)) assert.ok(selectUtxos(utxosOf([...atoms, more]), spending))
    }),
  )
})

test('a bump over the same UTXOs at a higher rate leaves the destinations what they get, and the fee rises', () => {
  fc.assert(
    fc.property(spendings, fc.bigInt(1n, 1_000_000n), ({ atoms, ...spending }, raise) => {
      const first = selectUtxos(utxosOf(atoms), spending)
      const bumped =
        first && balance(first.utxos, { ...spending, rateAtomsPerKvb: spending.rateAtomsPerKvb + raise })
      if (!first || !bumped) return
      assert.ok(bumped.feeAtoms >= first.feeAtoms)
      const given = first.utxos.reduce((sum, utxo) => sum + utxo.atoms, 0n)
      assert.equal(given - bumped.feeAtoms - bumped.changeAtoms, spending.outputAtoms)
    }),
  )
})

test('change that is asked for is there, and pays a child that doubles the rate of both', () => {
  fc.assert(
    fc.property(spendings, ({ atoms, outputAtoms, scriptLengths, ...spending }) => {
      const select = selectorOf(utxosOf(atoms), spending)
      const plain = select(outputAtoms, sizesOf(scriptLengths))
      if (!plain) return
      const { rateAtomsPerKvb: rate, dustAtoms } = spending
      const reserve = bumpReserve(plain.feeAtoms, rate, dustAtoms)
      const selected = select(outputAtoms, sizesOf(scriptLengths), reserve)
      if (plain.changeAtoms >= reserve) assert.deepEqual(selected, plain)
      if (!selected) return
      assert.ok(selected.changeAtoms >= reserve)
      if (selected.utxos.length > plain.utxos.length) return
      const vbytes = BigInt(vbytesOf(selected.utxos.length, [...scriptLengths, 22])) + CHILD_VBYTES
      const childFee = (vbytes * 2n * rate + 999n) / 1_000n - selected.feeAtoms
      // Without change the fee that was reserved is that of an output less.
      assert.ok(selected.changeAtoms + (31n * rate) / 1_000n + 3n >= childFee + dustAtoms)
    }),
  )
})
