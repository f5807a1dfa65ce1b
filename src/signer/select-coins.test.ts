import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { vbytesOf } from '../chains/bitcoin/sign.ts'
import { selectCoins } from './select-coins.ts'

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
        const selected = selectCoins(coinsOf(atoms), spending)
        const inputFee = (68n * rateAtomsPerKvb + 999n) / 1_000n
        const vbytes = (inputs: number, lengths: number[]) => BigInt(vbytesOf(inputs, lengths))
        if (!selected) {
          const worthy = atoms.filter((each) => each > inputFee)
          const all = worthy.reduce((sum, each) => sum + each, 0n)
          const fee = (vbytes(worthy.length, scriptLengths) * rateAtomsPerKvb + 999n) / 1_000n
          // All coins together may cost more than they bring; but never does a set that pays go unfound.
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
  const selected = selectCoins(coinsOf([90_000n, 900_000n, 150_000n, 5_000_000n]), spending)
  assert.deepEqual(
    selected?.coins.map((coin) => coin.atoms),
    [150_000n],
  )
  assert.equal(selectCoins([], spending), null)
})
