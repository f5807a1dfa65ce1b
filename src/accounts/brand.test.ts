import assert from 'node:assert/strict'
import test from 'node:test'
import { Refusal } from '../core/errors.ts'
import { readBrandColor, readBrandName, readFrameOrigins, readLogo } from './brand.ts'

const refuses = (reason: string) => (error: unknown) => error instanceof Refusal && error.reason === reason

test('origins are kept as browsers compare them; anything that is more than one is refused', () => {
  assert.deepEqual(
    readFrameOrigins(['https://Shop.example', ' https://shop.example/ ', 'http://localhost:3000']),
    ['https://shop.example', 'http://localhost:3000'],
  )
  for (const text of [
    '*',
    'https://*.shop.example',
    'https://shop.example;script-src',
    'https://shop.example,https://other.example',
    'https://shop.example/x',
    'http://shop.example',
    'https://shop.example/path',
    'https://user@shop.example',
    "https://shop.example; script-src 'unsafe-inline'",
    'javascript:alert(1)',
    'shop.example',
    '',
  ]) {
    assert.throws(() => readFrameOrigins([text]), refuses('invalid_frame_origin'), text)
  }
})

test('colours and names', () => {
  assert.equal(readBrandColor(' #2C52D0'), '#2c52d0')
  for (const text of ['red', '#fff', '#12345g', '#123456;}']) {
    assert.throws(() => readBrandColor(text), refuses('invalid_brand_color'))
  }
  assert.equal(readBrandName(' Ann’s Shop '), 'Ann’s Shop')
  for (const text of ['', ' ', 'two\nlines', 'x'.repeat(81)]) {
    assert.throws(() => readBrandName(text), refuses('invalid_brand_name'))
  }
})

test('a logo is a picture that holds no script', () => {
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
  assert.match(readLogo(png).name, /^[0-9a-f]{64}\.png$/)
  assert.match(readLogo(Buffer.from('ffd8ffe000', 'hex')).name, /\.jpg$/)
  assert.match(readLogo(Buffer.from('RIFF1234WEBPVP8 ')).name, /\.webp$/)
  for (const bytes of [
    Buffer.from('<svg onload="alert(1)"/>'),
    Buffer.from('GIF89a'),
    Buffer.alloc(0),
    Buffer.concat([png, Buffer.alloc(65_536)]),
  ]) {
    assert.throws(() => readLogo(bytes), refuses('invalid_logo'))
  }
})
