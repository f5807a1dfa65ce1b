import assert from 'node:assert/strict'
import test from 'node:test'
import { Refusal } from '../core/errors.ts'
import { parseRedirectUrl } from './redirect-url.ts'
import { type SessionStatus, type StatusOfPayment, sessionStatus } from './session.ts'

const NOW = new Date('2026-01-02T00:00:00Z')
const LATER = new Date('2026-01-02T00:00:01Z')

// [payment, in the window, after the window, cancelled]
const STATUSES: [StatusOfPayment | null, SessionStatus, SessionStatus, SessionStatus][] = [
  [null, 'open', 'expired', 'cancelled'],
  ['pending', 'open', 'open', 'cancelled'],
  ['detected', 'open', 'open', 'open'],
  ['underpaid', 'open', 'open', 'open'],
  ['completed', 'complete', 'complete', 'complete'],
  ['overpaid', 'complete', 'complete', 'complete'],
  ['expired', 'open', 'expired', 'cancelled'],
  ['failed', 'open', 'expired', 'cancelled'],
  ['cancelled', 'open', 'expired', 'cancelled'],
]

for (const [payment, inWindow, afterWindow, cancelled] of STATUSES) {
  test(`a session with ${payment ?? 'no payment'} is ${inWindow}, later ${afterWindow}, given up ${cancelled}`, () => {
    const at = (expiresAt: Date, cancelledAt: Date | null) =>
      sessionStatus({ expiresAt, cancelledAt }, payment, NOW)
    assert.equal(at(LATER, null), inWindow)
    assert.equal(at(NOW, null), afterWindow)
    assert.equal(at(LATER, NOW), cancelled)
    assert.equal(at(NOW, NOW), cancelled)
  })
}

test('a redirect is an absolute http or https URL, kept as it was given', () => {
  for (const url of [
    'https://shop.example/thanks?order=1#top',
    'http://localhost:3000/done',
    `https://shop.example/${'x'.repeat(2_027)}`,
    'https://bücher.example/ü',
  ]) {
    assert.equal(parseRedirectUrl('success_url', url), url)
  }
})

for (const url of [
  '',
  '/thanks',
  'shop.example',
  'javascript:alert(1)',
  'java\nscript:alert(1)',
  'data:text/html,x',
  'ftp://shop.example/',
  ' https://shop.example/',
  'https://shop.example/a b',
  'https://user:pass@shop.example/',
  'https://',
  'https:/shop.example/thanks',
  'https:shop.example',
  'https:\\shop.example',
  `https://shop.example/${'x'.repeat(2_028)}`,
]) {
  test(`no buyer is redirected to ${JSON.stringify(url.slice(0, 40))}`, () => {
    assert.throws(
      () => parseRedirectUrl('cancel_url', url),
      (error) =>
        error instanceof Refusal &&
        error.reason === 'invalid_url' &&
        error.details[0]?.field === 'cancel_url',
    )
  })
}
