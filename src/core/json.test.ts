import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseVerbatim } from './json.ts'

for (const text of [
  '12345678901234567890',
  '1.0',
  '-0',
  '1e400',
  '0.1000000000000000055511151231257827',
  '{"a":[1.50,{"b":1E+2}],"c":null}',
]) {
  test(`${text} comes back with the digits it was given`, () => {
    assert.equal(JSON.stringify(parseVerbatim(text)), text)
  })
}

test('whatever is no number comes back as JSON.parse gives it', () => {
  const value = fc.json({ depthSize: 'small' }).map((text) => JSON.parse(text))
  fc.assert(
    fc.property(value, (given) => {
      const text = JSON.stringify(given)
      assert.equal(JSON.stringify(parseVerbatim(text)), text)
    }),
  )
  assert.throws(() => parseVerbatim('{"a":01}'), SyntaxError)
})
