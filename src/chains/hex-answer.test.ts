import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HexAnswer } from './hex-answer.ts'

/** The answer, cut at these places. */
function taken(text: string, cuts: readonly number[]): HexAnswer {
  const whole = Buffer.from(text)
  const answer = new HexAnswer()
  const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length]
  for (const [n, end] of places.slice(1).entries()) answer.add(whole.subarray(places[n], end))
  return answer
}

const cuts = fc.array(fc.nat(), { maxLength: 12 })

test('however it is cut, the digits are had as bytes and the rest as it came', () => {
  const members = fc.shuffledSubarray(['"result":', '"error":null', '"id":7', '"jsonrpc":"2.0"'], {
    minLength: 4,
  })
  const space = fc.constantFrom('', ' ', '\n  ')
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 3_000 }),
      members,
      space,
      cuts,
      (bytes, order, between, places) => {
        const hex = Buffer.from(bytes).toString('hex')
        const written = (result: string) =>
          `{${order.map((each) => (each === '"result":' ? `${each}${between}"${result}"` : each)).join(`,${between}`)}}\n`
        const answer = taken(written(hex), places)
        assert.ok(answer.bytes?.equals(bytes))
        assert.equal(answer.json, written(''))
      },
    ),
    { numRuns: 500 },
  )
})

test('an answer without digits is had as it came', () => {
  const others = fc.constantFrom(
    '{"result":null,"error":{"code":-5,"message":"Block not found, größer"},"id":1}',
    '{"result":7}',
    '{"error":{"message":"\\"result\\":\\"00\\""}}',
    '',
    'Work queue depth exceeded',
    `<html>${' '.repeat(5_000)}</html>`,
    `{"padding":"${' '.repeat(2_000)}","result":"00"}`,
  )
  fc.assert(
    fc.property(others, cuts, (text, places) => {
      const answer = taken(text, places)
      assert.equal(answer.json, text)
      assert.equal(answer.bytes?.length, 0)
    }),
  )
})

test('anything but pairs of digits says nothing, and the rest is had as it came', () => {
  fc.assert(
    fc.property(fc.constantFrom('0', '000', '0g', 'xx', '00\\n00', '00 00', 'é0'), cuts, (result, places) => {
      const answer = taken(`{"result":"${result}","error":null}`, places)
      assert.equal(answer.bytes, null)
      assert.equal(answer.json, '{"result":"","error":null}')
    }),
  )
})
