import assert from 'node:assert/strict'
import test from 'node:test'
import { testHosted } from '../../../test/hosted.ts'
import {
  findLinkForVisitor,
  insertPaymentLink,
  setPaymentLinkActive,
} from '../../checkout/payment-links.sql.ts'
import { readId, showId } from '../../core/ids.ts'

const { story, get, post, app } = await testHosted()
const { gateway, account } = story
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

async function makeLink() {
  const link = await gateway.db.transaction((tx) =>
    insertPaymentLink(tx, {
      accountId: account.id,
      label: 'Consultation <1 h>',
      amountMinor: 120_00n,
      currency: 'USD',
    }),
  )
  const path = `/pay/${showId('plink', link.id)}`
  return {
    path,
    visit: (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
      get(path, { 'user-agent': BROWSER, ...headers }, method),
    uses: async () => (await findLinkForVisitor(gateway.db, link.id))?.uses,
    setActive: (isActive: boolean) =>
      gateway.db.transaction((tx) => setPaymentLinkActive(tx, account.id, link.id, isActive)),
  }
}

test('each visit counts one use and leads to a checkout of its own', async () => {
  const link = await makeLink()
  const visits = [await link.visit(), await link.visit(), await link.visit({ 'user-agent': 'node' })]
  for (const { status, location, headers } of visits) {
    assert.equal(status, 303)
    assert.equal(headers['cache-control'], 'no-store')
    assert.ok(readId('cs', location?.replace('/checkout/', '') ?? ''))
  }
  assert.equal(new Set(visits.map(({ location }) => location)).size, 3)
  assert.equal(await link.uses(), 3n)
  const page = await get(visits[0]?.location ?? '')
  assert.equal(page.state, 'choose')
  assert.match(page.text, /\$120\.00 Consultation &lt;1 h&gt;/)
})

test('the same browser is led back to the checkout that it began, until that is over', async () => {
  const link = await makeLink()
  const first = await link.visit()
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
  assert.match(
    String(first.headers['set-cookie']),
    new RegExp(`Path=${link.path}; Max-Age=86400; HttpOnly; SameSite=Lax$`),
  )
  assert.equal((await link.visit({ cookie })).location, first.location)
  assert.equal(await link.uses(), 2n, 'each visit is a use')
  await post(`${first.location}/cancel`, {})
  const next = await link.visit({ cookie })
  assert.notEqual(next.location, first.location)
  // What names no session of this link leads nowhere else.
  const other = await makeLink()
  const foreign = await other.visit({ cookie: String(next.headers['set-cookie']).split(';')[0] ?? '' })
  assert.notEqual(foreign.location, next.location)
  for (const nonsense of ['beck_visit=x', 'beck_visit=', 'other=1'])
    assert.equal((await link.visit({ cookie: nonsense })).status, 303)
})

test('a frame of a site that the account does not name burns no use, and shows a way out', async () => {
  const link = await makeLink()
  const framed = {
    'sec-fetch-dest': 'iframe',
    'sec-fetch-site': 'cross-site',
    referer: 'https://shop.example/',
  }
  const refused = await link.visit(framed)
  assert.deepEqual([refused.status, refused.state], [403, 'framed'])
  assert.ok(
    refused.html.includes(`<a class="button" href="${link.path}" target="_blank">Open the checkout</a>`),
  )
  assert.match(String(refused.headers['content-security-policy']), /frame-ancestors \*/)
  assert.equal(await link.uses(), 0n)
  const session = (await link.visit()).location ?? ''
  assert.equal((await get(session, framed)).state, 'framed')
  await gateway.db.query("update accounts set frame_origins = '{https://shop.example}' where id = $1", [
    account.id,
  ])
  assert.equal((await link.visit(framed)).status, 303)
  assert.equal((await get(session, framed)).state, 'choose')
  assert.equal((await link.visit({ ...framed, referer: 'https://evil.example/' })).state, 'framed')
  await gateway.db.query("update accounts set frame_origins = '{}' where id = $1", [account.id])
})

test('a chosen language goes along', async () => {
  const link = await makeLink()
  const { location } = await get(`${link.path}?lang=en`)
  assert.match(location ?? '', /\?lang=en$/)
})

test('HEAD, previews, prefetching and parts of other pages count nothing', async () => {
  const link = await makeLink()
  const head = await link.visit({}, 'HEAD')
  assert.deepEqual([head.status, head.html], [200, ''])
  for (const agent of [
    'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)',
    'WhatsApp/2.23.20.0',
    'curl/8.14.1',
    'Wget/1.25.0',
    'Go-http-client/2.0',
    'python-requests/2.32.3',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'TelegramBot (like TwitterBot)',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)',
    'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
  ]) {
    const preview = await link.visit({ 'user-agent': agent })
    assert.deepEqual([preview.status, preview.state], [200, 'preview'])
    assert.match(preview.html, /<title>Consultation &lt;1 h&gt; – Shop<\/title>/)
    assert.match(preview.text, /\$120\.00/)
  }
  for (const headers of [
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
    { 'x-moz': 'prefetch' },
  ]) {
    assert.equal((await link.visit(headers)).status, 503)
  }
  for (const part of ['image', 'script', 'style', 'video']) {
    assert.equal((await link.visit({ 'sec-fetch-dest': part })).status, 403)
  }
  assert.equal(await link.uses(), 0n)
  assert.equal((await link.visit({ 'sec-fetch-dest': 'iframe', 'sec-fetch-site': 'none' })).status, 303)
})

test('people are not taken for programs, and who is can go on by a button', async () => {
  const link = await makeLink()
  for (const agent of [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 [FBAN/FBIOS;FBAV/480.0]',
    'Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/143 Mobile Safari/537.36 Telegram-Android/11.4',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 [Pinterest/iOS]',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Outlook-iOS/2.0',
    'node',
    '',
  ]) {
    assert.equal((await link.visit({ 'user-agent': agent })).status, 303, agent)
  }
  const before = await link.uses()
  const preview = await link.visit({ 'user-agent': 'Mozilla/5.0 (Linux; Android 12; CUBOT X18)' })
  assert.ok(preview.html.includes(`<form method="post" action="${link.path}">`))
  const started = await post(link.path, {}, { 'user-agent': 'Mozilla/5.0 (Linux; Android 12; CUBOT X18)' })
  assert.match(started.location ?? '', /^\/checkout\/cs_/)
  assert.equal((await post(link.path, {}, { 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.equal(await link.uses(), (before ?? 0n) + 1n)
})

test('a disabled link says so kindly, and its open checkouts take no coin', async () => {
  const link = await makeLink()
  const { location } = await link.visit()
  await link.setActive(false)
  const page = await link.visit()
  assert.deepEqual([page.status, page.state], [410, 'link_disabled'])
  assert.match(page.text, /This payment link is switched off Please ask Shop for a new one/)
  assert.equal((await link.visit({}, 'HEAD')).status, 410)
  assert.equal(await link.uses(), 1n)
  const refused = await app.inject({
    method: 'POST',
    url: `${location}/coin`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
    payload: 'asset=LTC',
  })
  assert.equal(refused.statusCode, 410)
  assert.match(refused.body, /switched off/)
  await link.setActive(true)
  assert.equal((await link.visit()).status, 303)
})
