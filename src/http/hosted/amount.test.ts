import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseDecimal } from '../../core/money.ts'
import { readAmount } from './amount.ts'

const CASES: [text: string, tag: string, minor: bigint | null][] = [
  ['25', 'en', 2500n],
  ['25.5', 'en', 2550n],
  ['25,50', 'en', 2550n],
  ['25.50', 'de', 2550n],
  [' 25,50 ', 'de', 2550n],
  ['1,234', 'en', 123_400n],
  ['1,234.5', 'en', 123_450n],
  ['1,234,567.89', 'en', 123_456_789n],
  ['1.234', 'de', 123_400n],
  ['1.234,56', 'de', 123_456n],
  ['1 234,56', 'fr', 123_456n],
  ['1\u202f234,56', 'fr', 123_456n],
  ["1'234.50", 'de', 123_450n],
  ['٢٥٫٥', 'ar', 2550n],
  ['１２００', 'ja', 120_000n],
  ['0.01', 'en', 1n],
  ['007', 'en', 700n],
  ['$25', 'en', 2500n],
  ['25,50 $', 'de', 2550n],
  ['usd 1,234', 'en', 123_400n],
  // What could be meant in two ways, or is none.
  ['1.234', 'en', null],
  ['1,234', 'de', null],
  ['1,234,56', 'en', null],
  ['12,34,567', 'en', null],
  ['1,2345', 'en', null],
  ['1.234.5', 'de', null],
  ['25.505', 'en', null],
  ['25.', 'en', null],
  ['.5', 'en', null],
  ['-5', 'en', null],
  ['+5', 'en', null],
  ['5e3', 'en', null],
  ['0x10', 'en', null],
  ['€25', 'en', null],
  ['25 EUR', 'en', null],
  ['$', 'en', null],
  ['$25$', 'en', null],
  ['$-5', 'en', null],
  ['1234,567', 'en', null],
  ['', 'en', null],
  ['9999999999999', 'en', null],
]

for (const [text, tag, minor] of CASES) {
  test(`${JSON.stringify(text)} in ${tag} is ${minor === null ? 'refused' : `${minor} minor units`}`, () => {
    assert.equal(readAmount(text, tag, 'USD'), minor)
  })
}

const UNKNOWN: [text: string, currency: 'USD' | 'EUR' | null, minor: bigint | null][] = [
  ['25,50', null, 2550n],
  ['1 234.5', null, 123_450n],
  ['1,234', null, null],
  ['1.234', null, null],
  ['49.990', null, null],
  ['.50', null, null],
  ['(5', null, null],
  ['−5', null, null],
  ['€5', null, 500n],
  ['5 $', null, 500n],
  ['¥5', null, null],
  ['€5', 'USD', null],
  ['€5', 'EUR', 500n],
]

for (const [text, currency, minor] of UNKNOWN)
  test(`${JSON.stringify(text)} in ${currency ?? 'any currency'}, in a language that is not known, is ${minor ?? 'refused'}`, () => {
    assert.equal(readAmount(text, null, currency), minor)
  })

test('what is taken in a language that is not known is what the text says as a decimal, and what any language reads', () => {
  const signs = fc.constantFrom('', '', '$', '€', '£', 'EUR ', '-', '−', '(', '+', '.', ',', '¥', '0')
  const digits = fc.stringMatching(/^[0-9]{0,4}$/)
  const typed = fc.tuple(signs, digits, fc.constantFrom('', '.', ','), digits).map((parts) => parts.join(''))
  fc.assert(
    fc.property(typed, fc.constantFrom('USD', 'EUR', 'GBP', null), (text, currency) => {
      const minor = readAmount(text, null, currency)
      if (minor === null) return
      const decimal = text.replace(/^([$€£]|EUR )/, '').replace(',', '.')
      assert.match(decimal, /^\d/)
      assert.equal(minor, parseDecimal(decimal.replace(/^0+(?=\d)/, ''), 2))
      for (const tag of ['en', 'de', 'fr', 'ar']) assert.equal(readAmount(text, tag, currency), minor)
    }),
  )
})

test('an amount as the language writes it is read back, with and without groups', () => {
  const tags = fc.constantFrom('en', 'de', 'fr', 'es', 'pt', 'ja', 'zh', 'ar')
  fc.assert(
    fc.property(tags, fc.nat({ max: 99_999_999_999 }), fc.boolean(), (tag, minor, useGrouping) => {
      const text = new Intl.NumberFormat(tag, {
        minimumFractionDigits: 2,
        useGrouping: useGrouping ? 'always' : false,
      }).format(minor / 100)
      assert.equal(readAmount(text, tag, 'USD'), BigInt(minor))
    }),
  )
})
