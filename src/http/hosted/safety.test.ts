import assert from 'node:assert/strict'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { showId } from '../../core/ids.ts'
import { changeAccount } from '../../flows/accounts/change-account.ts'
import { loadWebFiles } from './web-files.ts'

const PAYLOADS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title><svg/onload=alert(1)>',
  '</style><script>alert(1)</script>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is the payload
  '{merchant}${1}{{1}}%s\\u003cscript\\u003e',
  '$& $1 $` {asset}',
  '\u202Eevil\u2066 &lt;b&gt; &#x3c;b',
]

const hosted = await testHosted({
  hosted: {
    limits: { pages: { perSecond: 1_000, burst: 1_000 }, payments: { perSecond: 0.001, burst: 30 } },
  },
})
const { story, open, get, post, pick, show } = hosted
const { gateway, account } = story

const setAccount = (column: string, value: unknown) =>
  gateway.db.query(`update accounts set ${column} = $2 where id = $1`, [account.id, value])

/** Tags and attributes with their values left out: what a browser takes for structure. */
const skeleton = (html: string): string[] =>
  [...html.matchAll(/<(\/?[a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*>/gi)].map(
    ([, tag, attributes]) => `${tag} ${attributes?.replace(/="[^"]*"/g, '=')}`,
  )

test('payloads in every string change nothing on the page', async () => {
  const pages = async (text: string, email: string, url: string) => {
    await setAccount('name', text)
    const id = await open({
      label: text,
      reference: text,
      customerEmail: email,
      successUrl: url,
      cancelUrl: url,
    })
    const before = await show(id)
    const refused = await post(`${pathOf(id)}/coin`, { asset: text, email: text, amount: text })
    const asked = await open({ amountMinor: null, label: text })
    const amount = await get(`${pathOf(asked)}?${new URLSearchParams({ amount: text, lang: text })}`)
    await post(`${pathOf(id)}/cancel`, {})
    const cancelled = await show(id)
    return [before, refused, amount, cancelled]
  }
  const plain = await pages('plain', 'ann@shop.example', 'https://shop.example/')
  for (const payload of PAYLOADS) {
    const url = `https://shop.example/?q=${encodeURI(payload).replaceAll('%22', '"').replaceAll('%3C', '<')}`
    const shown = await pages(payload, `"${payload.replace(/[\s@]/g, '')}"@shop.example`, url)
    for (const [position, page] of shown.entries()) {
      assert.equal(page.status, plain[position]?.status)
      assert.deepEqual(skeleton(page.html), skeleton(plain[position]?.html ?? ''), payload)
      assert.ok(!page.html.includes('<script>alert'), payload)
    }
  }
  await setAccount('name', 'Shop')
})

test('a redirect that is no http(s) URL never becomes a link, even if it got into the database', async () => {
  const id = await open()
  await gateway.db.query(`update checkout_sessions set cancel_url = 'javascript:alert(1)' where id = $1`, [
    id,
  ])
  await post(`${pathOf(id)}/cancel`, {})
  const page = await show(id)
  assert.equal(page.state, 'cancelled')
  assert.doesNotMatch(page.html, /javascript:/)
})

test('the policy lets nothing run but our own files, marked anew for each answer', async () => {
  const id = await open()
  const policies = [await show(id), await show(id)].map(({ headers, html }) => {
    const policy = String(headers['content-security-policy'])
    const nonce = /script-src 'nonce-([\w+/=]+)';/.exec(policy)?.[1] ?? ''
    assert.equal(Buffer.from(nonce, 'base64').length, 16)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    for (const [, attributes] of html.matchAll(/<(?:script|style|link rel="stylesheet")([^>]*)>/g)) {
      assert.ok(attributes?.includes(`nonce="${nonce}"`))
    }
    assert.doesNotMatch(html, /\son[a-z]+=|\sstyle=/)
    return policy
  })
  assert.notEqual(policies[0], policies[1])
  const { headers } = await show(id)
  assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/)
  assert.deepEqual(
    [
      headers['referrer-policy'],
      headers['x-content-type-options'],
      headers['cache-control'],
      headers['set-cookie'],
    ],
    ['same-origin', 'nosniff', 'no-store', undefined],
  )
})

test('every answer keeps browsers from running anything, keeping it or telling others', async () => {
  const id = await open()
  const answers = await Promise.all([
    get(pathOf(id)),
    get(pathOf(id), {}, 'HEAD'),
    get(`${pathOf(id)}/coin`),
    get(`${pathOf(id)}/nothing`),
    get('/checkout/nonsense'),
    get('/pay/nonsense'),
    get('/checkout-assets/logos/nothing.png'),
    post(`${pathOf(id)}/coin`, { asset: 'DOGE' }),
    post(`${pathOf(id)}/coin`, { asset: 'LTC' }, { 'sec-fetch-site': 'cross-site' }),
    post(`${pathOf(id)}/coin`, {}, { 'content-type': 'application/json' }),
  ])
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 303, 404, 404, 404, 404, 400, 403, 415],
  )
  for (const { headers } of answers) {
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
    assert.deepEqual(
      [headers['cache-control'], headers['x-content-type-options'], headers['referrer-policy']],
      ['no-store', 'nosniff', 'same-origin'],
    )
  }
})

test('the origins that the account names may frame the checkout, and no others', async () => {
  await setAccount('frame_origins', [
    'https://shop.example',
    'https://www.shop.example:8443',
    "https://x.example; script-src 'unsafe-inline'",
    'https://x.example;script-src',
    '*',
  ])
  const id = await open()
  const { headers } = await show(id)
  assert.match(
    String(headers['content-security-policy']),
    /frame-ancestors https:\/\/shop\.example https:\/\/www\.shop\.example:8443$/,
  )
  await setAccount('frame_origins', [])
})

test('nothing that is not for the buyer is in the page', async () => {
  const id = await open({ reference: 'secret-reference', customerEmail: 'ann@shop.example' })
  const payment = await pick(id)
  const { rows } = await gateway.db.query<{ xpub: string }>('select xpub from wallets')
  const { html } = await show(id)
  const secrets = [
    'secret-reference',
    'ann@shop.example',
    account.email,
    account.id,
    showId('acct', account.id),
    payment.id,
    ...rows.map(({ xpub }) => xpub),
  ]
  for (const secret of secrets) assert.ok(!html.includes(secret), secret)
})

test('a logo is shown from here, kept for ever, and is nothing but a picture', async () => {
  const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
  const changed = await gateway.db.transaction((tx) =>
    changeAccount(tx, account.id, { logo: png, brandName: 'Ann’s Shop', brandColor: '#AA0000' }),
  )
  const { html } = await show(await open())
  assert.match(html, /<p class="merchant">(<bdi>)?Ann’s Shop/)
  const src = /<img class="logo" src="([^"]+)"/.exec(html)?.[1] ?? ''
  assert.equal(src, `/checkout-assets/logos/${changed.brandLogo}`)
  const picture = await hosted.app.inject(src)
  assert.deepEqual(
    [picture.statusCode, picture.headers['content-type'], picture.rawPayload],
    [200, 'image/png', png],
  )
  assert.match(String(picture.headers['cache-control']), /immutable/)
  assert.match(String(picture.headers['content-security-policy']), /sandbox/)
  assert.equal((await get('/checkout-assets/logos/../../package.json')).status, 404)
  assert.equal((await get(`/checkout-assets/logos/${'0'.repeat(64)}.png`)).status, 404)
  await gateway.db.transaction((tx) =>
    changeAccount(tx, account.id, { logo: null, brandName: null, brandColor: null }),
  )
  assert.doesNotMatch((await show(await open())).html, /<img/)
})

test('scripts and style are kept for ever under a name that changes with them, and small', async () => {
  const { kept, embed, inlined } = loadWebFiles()
  let scriptBytes = 0
  for (const file of [...kept.values(), embed]) {
    const answer = await hosted.app.inject({ url: file.path, headers: { 'accept-encoding': 'gzip, br' } })
    assert.deepEqual([answer.statusCode, answer.headers['content-encoding']], [200, 'gzip'])
    if (file !== embed) assert.match(String(answer.headers['cache-control']), /immutable/)
    if (file.path.endsWith('.js')) scriptBytes += answer.rawPayload.length
    const known = await get(file.path, { 'if-none-match': file.etag })
    assert.equal(known.status, 304)
  }
  assert.ok(scriptBytes > 1_000 && scriptBytes <= 15_000, `${scriptBytes} bytes of script`)
  assert.ok(gzipSync(inlined['checkout.css']).length <= 10_000)
})

test('a payment that waits weighs less than 20 kB with all it loads; what an open page asks for has no style', async () => {
  const id = await open()
  await hosted.pick(id)
  const sent = async (headers: Record<string, string>) =>
    (await hosted.app.inject({ url: pathOf(id), headers: { 'accept-encoding': 'gzip', ...headers } }))
      .rawPayload.length
  const { kept, paths } = loadWebFiles()
  const [page, part] = [await sent({}), await sent({ 'sec-fetch-dest': 'empty' })]
  const script = kept.get(paths['checkout.js'])?.gzip.length ?? Number.NaN
  // What is left is for headers and for the stream.
  assert.ok(page + script <= 18_000, `${page} + ${script} bytes`)
  assert.ok(part < page - 2_500, `${part} bytes of ${page}`)
  assert.doesNotMatch((await get(pathOf(id), { 'sec-fetch-dest': 'empty' })).html, /<style/)
})

test('one address can not use up the addresses', async () => {
  let refused = 0
  for (let attempt = 0; attempt < 40; attempt++) {
    const id = await open()
    const answer = await post(`${pathOf(id)}/coin`, { asset: 'DOGE' })
    assert.equal(answer.status, 400)
    const { status, state } = await post(`${pathOf(id)}/coin`, { asset: 'USDT' })
    if (status !== 429) continue
    refused += 1
    assert.equal(state, 'too_many')
  }
  assert.ok(refused >= 10)
})
