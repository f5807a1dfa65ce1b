import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invitationLetter, noticeLetter } from './letters.ts'
import { isFinal, pauseAfter } from './mail.ts'
import { readMailFrom, readSmtpUrl } from './smtp-url.ts'

test('SMTP_URL: TLS is asked for, except on this machine', () => {
  const at = (text: string) => {
    const server = readSmtpUrl(text)
    return (
      server && [server.host, server.port, server.isTls, server.needsStartTls, server.user, server.password]
    )
  }
  assert.deepEqual(at('smtp://ada:p%40ss%2F@mail.example'), [
    'mail.example',
    587,
    false,
    true,
    'ada',
    'p@ss/',
  ])
  assert.deepEqual(at('smtps://mail.example'), ['mail.example', 465, true, false, null, null])
  assert.deepEqual(at('smtp://localhost:25'), ['localhost', 25, false, false, null, null])
  assert.deepEqual(at('smtp://[::1]:2525'), ['::1', 2525, false, false, null, null])
  assert.deepEqual(at('smtp://10.0.0.1'), ['10.0.0.1', 587, false, true, null, null])
  for (const bad of [
    'http://mail.example',
    'smtp://',
    'mail.example:25',
    'smtp://a/b',
    'smtp://a?tls=no',
    'smtp://%zz:x@a',
  ])
    assert.equal(readSmtpUrl(bad), null, bad)
})

test('BECK_MAIL_FROM: an address, or one with a name', () => {
  assert.deepEqual(readMailFrom('beck@example.com'), { name: '', address: 'beck@example.com' })
  assert.deepEqual(readMailFrom('My Shop <beck@example.com>'), {
    name: 'My Shop',
    address: 'beck@example.com',
  })
  for (const bad of ['Beck', 'a@b@c', 'x <a@b', 'a@b>', 'a@b\r\nBcc: c@d', 'a@b, c@d'])
    assert.equal(readMailFrom(bad), null, bad)
})

test('a name of somebody’s choosing cannot write a header of its own', () => {
  const link = 'https://beck.example/dashboard/join/x'
  const words = { link, hours: 72, merchant: 'Shop\r\nBcc: eve@example.com', role: 'viewer', by: null }
  assert.doesNotMatch(invitationLetter(words).subject, /[\r\n]/)
})

test('a notice says what, who, from where and when', () => {
  const { subject, text } = noticeLetter({
    what: 'An API key was made',
    merchant: 'Shop',
    who: 'ada@example.com',
    address: '192.0.2.7',
    at: new Date('2026-01-02T03:04:05Z'),
    page: 'https://beck.example/dashboard/me',
  })
  assert.equal(subject, 'Shop: an API key was made')
  assert.match(
    text,
    /An API key was made at Shop\.\n\nBy ada@example\.com, from 192\.0\.2\.7, on 2026-01-02 at 03:04 UTC\./,
  )
})

test('only an answer about the recipient or the mail itself is for good; the rest is the operator’s to mend', () => {
  const answers = [
    ['550 no such user here', false],
    ['551 user not local', false],
    ['550 relay not permitted', false],
    ['550-5.1.1 The email account that you tried to reach does not exist', true],
    ['550 5.2.1 mailbox disabled', true],
    ['450 4.2.1 greylisted', false],
    ['452 too many recipients', false],
    ['530 5.7.0 Authentication required', false],
    ['554 5.7.1 <ada@example.com>: Relay access denied', false],
    ['553 5.7.1 <beck@shop.example>: Sender address rejected: not owned by user', false],
    ['550 5.1.8 <beck@shop.example>: Sender address rejected: Domain not found', false],
    ['503 bad sequence of commands', false],
    ['554 5.6.0 message content is not allowed', true],
    ['550 5.1.1 no such user', true],
    ['554 Message rejected: Email address is not verified.', false],
    ['550 5.4.5 Daily user sending limit exceeded', false],
    ['554 5.2.0 SubmissionQuotaExceededException', false],
    ['550 5.7.26 Unauthenticated email is not accepted', false],
    ['', false],
  ] as const
  for (const [response, final] of answers) assert.equal(isFinal(response), final, response)
})

test('pauses grow to four hours and part the mails that failed together', () => {
  const minutes = [1, 2, 3, 9, 50].map((attempts) => pauseAfter(attempts, 0.5) / 60_000)
  assert.deepEqual(minutes, [1, 2, 5, 240, 240])
  assert.notEqual(pauseAfter(3, 0), pauseAfter(3, 1))
})
