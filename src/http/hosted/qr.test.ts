import assert from 'node:assert/strict'
import test from 'node:test'
import { encode } from 'uqr'
import { drawQr } from './qr.ts'

test('the drawing holds every dark module of the code and no other, with a margin of four', () => {
  const text = 'ethereum:0x1111111111111111111111111111111111111111@1?value=40000000000000000'
  const { markup } = drawQr(text, 'Code')
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(markup)?.[1])
  const { data } = encode(text, { ecc: 'M', border: 0, maskPattern: 2 })
  assert.equal(size, data.length + 8)
  const dark = new Set<string>()
  for (const [, x, y, width, height, back] of markup.matchAll(/M(\d+) (\d+)h(\d+)v(\d+)h-(\d+)z/g)) {
    assert.deepEqual([height, back], ['1', width])
    for (let i = 0; i < Number(width); i++) dark.add(`${Number(x) + i} ${y}`)
  }
  const expected = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? `${x + 4} ${y + 4}` : [])))
  assert.deepEqual([...dark].sort(), expected.sort())
})
