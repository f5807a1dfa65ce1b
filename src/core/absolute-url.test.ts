import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { parseAbsoluteUrl } from './absolute-url.ts'

const part = fc.constantFrom('https:', 'HTTP:', 'http:', '/', '\\', '//', 'shop.example', '@', ':', '?', '#', '..', '.', '%', 'ä', '\t', '[::1]', '8080') // biome-ignore format: a list
const page = fc.constantFrom(
  'https://pay.example/checkout/cs_1',
  'http://pay.example/a/',
  'about:blank',
  'file:///a',
)

test('what is taken is the same URL wherever it is followed from', () => {
  let taken = 0
  fc.assert(
    fc.property(
      fc.oneof(fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')), fc.string()), // biome-ignore format: long
      page,
      (text, base) => {
        const url = parseAbsoluteUrl(text, 2_048)
        if (!url || !/^https?:$/.test(url.protocol)) return
        taken += 1
        assert.equal(new URL(text, base).href, url.href, text)
      },
    ),
    { numRuns: 5_000 },
  )
  assert.ok(taken > 100, `${taken} were taken`)
})

for (const text of [
  'https:/shop.example/thanks',
  'https:shop.example',
  'https:\\shop.example',
  'https:\\\\shop.example',
  'HTTP:/\\shop.example',
  'https:',
  '/thanks',
  '//shop.example',
])
  test(`${text} is no absolute URL`, () => {
    assert.equal(parseAbsoluteUrl(text, 2_048), null)
  })
