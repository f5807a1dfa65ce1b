import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { vbytesOf } from '../core/vbytes.ts'
import { RATE_BOUNDS } from './fees.ts'
import { balance, selectUtxos } from './select-utxos.ts'

const coinsOf = (atoms: readonly bigint[]) =>
  atoms.map((each, index) => ({ txid: 'a'.repeat(64), index, atoms: each }))

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
        const selected = selectUtxos(coinsOf(atoms), spending)
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
        const given = selected.coins.reduce((sum, coin) => sum + coin.atoms, 0n)
        assert.equal(given, outputAtoms + selected.feeAtoms + selected.changeAtoms)
        assert.ok(selected.changeAtoms === 0n || selected.changeAtoms >= 294n)
        const lengths = selected.changeAtoms === 0n ? scriptLengths : [...scriptLengths, 22]
        const least = (vbytes(selected.coins.length, lengths) * rateAtomsPerKvb + 999n) / 1_000n
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
  const selected = selectUtxos(coinsOf([90_000n, 900_000n, 150_000n, 5_000_000n]), spending)
  assert.deepEqual(
    selected?.coins.map((coin) => coin.atoms),
    [150_000n],
  )
  assert.equal(selectUtxos([], spending), null)
})

/** Up to 60 coins, many of them alike, and something to pay. */
const spendings = fc.record({
  atoms: fc.array(fc.oneof(fc.bigInt(1n, 5_000_000n), fc.constantFrom(1n, 294n, 10_000n, 100_000n)), {
    maxLength: 60,
  }),
  outputAtoms: fc.bigInt(546n, 20_000_000n),
  scriptLengths: fc.array(fc.constantFrom(22, 23, 25, 34), { minLength: 1, maxLength: 50 }),
  rateAtomsPerKvb: fc.bigInt(RATE_BOUNDS.bitcoin.floor, RATE_BOUNDS.bitcoin.ceiling),
  dustAtoms: fc.constantFrom(294n, 2_940n),
})

test('coins are chosen once each, out of those there are, and pay no more than they hold', () => {
  fc.assert(
    fc.property(spendings, ({ atoms, ...spending }) => {
      const coins = coinsOf(atoms)
      const selected = selectUtxos(coins, spending)
      if (!selected) return
      assert.equal(new Set(selected.coins).size, selected.coins.length)
      assert.ok(selected.coins.every((coin) => coins.includes(coin)))
      const held = atoms.reduce((sum, each) => sum + each, 0n)
      assert.ok(spending.outputAtoms + selected.feeAtoms + selected.changeAtoms <= held)
      assert.ok(selected.feeAtoms > 0n)
    }),
  )
})

test('the fee is within the bounds of its rate: never below it, above it by less than a change output is worth', () => {
  fc.assert(
    fc.property(spendings, ({ atoms, ...spending }) => {
      const selected = selectUtxos(coinsOf(atoms), spending)
      if (!selected) return
      const { rateAtomsPerKvb: rate, scriptLengths, dustAtoms } = spending
      const lengths = selected.changeAtoms > 0n ? [...scriptLengths, 22] : scriptLengths
      const vbytes = BigInt(vbytesOf(selected.coins.length, lengths))
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
      const { changeAtoms } = selectUtxos(coinsOf(atoms), spending) ?? { changeAtoms: 0n }
      const worth = spending.dustAtoms + (68n * spending.rateAtomsPerKvb) / 1_000n
      assert.ok(changeAtoms === 0n || changeAtoms >= worth)
    }),
  )
})

test('the same coins give the same selection, in whatever order they come', () => {
  fc.assert(
    fc.property(spendings, fc.infiniteStream(fc.nat()), ({ atoms, ...spending }, numbers) => {
      const coins = coinsOf(atoms)
      const shuffled = coins
        .map((coin) => ({ coin, at: numbers.next().value ?? 0 }))
        .sort((a, b) => a.at - b.at)
        .map(({ coin }) => coin)
      assert.deepEqual(selectUtxos(shuffled, spending), selectUtxos(coins, spending))
    }),
  )
})

test('more coins never turn what can be paid into what cannot, within what one transaction spends', () => {
  fc.assert(
    fc.property(spendings, fc.bigInt(1n, 5_000_000n), ({ atoms, ...spending }, more) => {
      if (selectUtxos(coinsOf(atoms), spending)) assert.ok(selectUtxos(coinsOf([...atoms, more]), spending))
    }),
  )
})

test('a bump over the same coins at a higher rate leaves the destinations what they get, and the fee rises', () => {
  fc.assert(
    fc.property(spendings, fc.bigInt(1n, 1_000_000n), ({ atoms, ...spending }, raise) => {
      const first = selectUtxos(coinsOf(atoms), spending)
      const bumped =
        first && balance(first.coins, { ...spending, rateAtomsPerKvb: spending.rateAtomsPerKvb + raise })
      if (!first || !bumped) return
      assert.ok(bumped.feeAtoms >= first.feeAtoms)
      const given = first.coins.reduce((sum, coin) => sum + coin.atoms, 0n)
      assert.equal(given - bumped.feeAtoms - bumped.changeAtoms, spending.outputAtoms)
    }),
  )
})
