/** When something the pages need is not there, and when what they are sent is nonsense. */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { testApp } from '../../../test/api.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { NO_LIMITS, pathOf, testHosted } from '../../../test/hosted.ts'
import { OutsideFailure } from '../../core/errors.ts'
import { createSession } from '../../flows/checkout/checkout.ts'

const { story, open, get, post, app } = await testHosted()
const { gateway } = story

const asked = {
  amountMinor: 100_00n,
  currency: null,
  label: null,
  reference: null,
  customerEmail: null,
  successUrl: null,
  cancelUrl: null,
  offeredAssets: null,
}

test('a coin whose node cannot be seen is not offered; a payment that waits for one says so, and keeps its address', async () => {
  const account = await testAccount(gateway, 'live')
  const see = (chain: string, secondsAgo: number) =>
    gateway.db.query(
      `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time, polled_at)
       values ($1, 'LTC', 'x', 1, 'x', now(), now() - $2::integer * interval '1 second')
       on conflict (chain) do update set polled_at = excluded.polled_at`,
      [chain, secondsAgo],
    )
  await see('litecoin', 0)
  await see('bitcoin', 3_600)
  const { id } = await gateway.db.transaction((tx) => createSession(gateway, tx, account, asked))
  const choice = await get(pathOf(id))
  assert.match(choice.text, /Bitcoin BTC Bitcoin mainnet Not available right now/)
  assert.doesNotMatch(choice.text, /Ethereum/, 'its network was never set up')
  assert.match(choice.text, /Litecoin LTC Litecoin mainnet 1 LTC/)
  const refused = await post(`${pathOf(id)}/coin`, { asset: 'BTC' })
  assert.equal(refused.status, 503)
  assert.match(refused.text, /This coin cannot be taken right now/)
  await post(`${pathOf(id)}/coin`, { asset: 'LTC' })
  assert.doesNotMatch((await get(pathOf(id))).text, /cannot see/)
  await see('litecoin', 60)
  const blind = await get(pathOf(id))
  assert.equal(blind.state, 'waiting')
  assert.match(blind.text, /We cannot see the Litecoin mainnet network at the moment/)
  assert.match(blind.text, /ltc1q/)
})

test('an unreachable database is told as such, and the page tries again by itself', async () => {
  const quiet = await testGateway({ freshPerChain: 1 })
  const gone = () => Promise.reject(new OutsideFailure('PostgreSQL is not reachable', { retryable: true }))
  const blind = await testApp(
    { ...quiet, db: { ...quiet.db, query: gone, transaction: gone } },
    { hosted: { limits: NO_LIMITS } },
  )
  const answer = await blind.inject(pathOf(await open()))
  assert.deepEqual([answer.statusCode, answer.headers['retry-after']], [503, '5'])
  assert.match(answer.body, /data-state="unavailable"/)
  assert.match(answer.body, /<noscript><meta http-equiv="refresh" content="15"><\/noscript>/)
  assert.match(answer.body, /<script type="module" src="[^"]+\/retry\.js"/)
  assert.match(answer.body, /<a class="button" href="\/checkout\/cs_\w+">Try again<\/a>/)
  assert.match(answer.body, /A payment you already sent is safe/)
})

test('a form that was refused or could not be taken leads back when its answer is reloaded', async () => {
  const id = await open()
  for (const form of ['coin', 'reopen', 'sent', 'unsent', 'simulate']) {
    const again = await get(`${pathOf(id)}/${form}?lang=de`)
    assert.deepEqual([again.status, again.location], [303, `${pathOf(id)}?lang=de`])
  }
  const refused = await post(`${pathOf(id)}/cancel`, {}, { 'sec-fetch-site': 'cross-site' })
  assert.deepEqual([refused.status, refused.state], [403, 'refused'])
  assert.ok(refused.html.includes(`<a class="button" href="${pathOf(id)}">Back to the checkout</a>`))
})

test('a form without a body, or of another type, is a form without fields: no page breaks on it', async () => {
  const id = await open()
  const link = '/pay/plink_01k6v3d6yqf5bbt9xgk2v7p8rm'
  const forms = ['coin', 'refund-address', 'cancel', 'reopen', 'sent', 'unsent', 'simulate']
  for (const path of [...forms.map((form) => `${pathOf(id)}/${form}`), link])
    for (const headers of [{}, { 'content-type': 'application/x-www-form-urlencoded' }]) {
      const answer = await app.inject({
        method: 'POST',
        url: path,
        headers: { 'sec-fetch-site': 'same-origin', ...headers },
      })
      assert.ok(answer.statusCode < 500, `${path}: ${answer.statusCode}`)
      assert.notEqual(answer.statusCode, 415, path)
    }
})

test('nothing that a stranger sends makes an error of ours', async () => {
  const id = await open({ amountMinor: null })
  const paths = ['', '/coin', '/cancel', '/coins', '/transaction', '/nothing'].map(
    (path) => pathOf(id) + path,
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.constantFrom(
      'LTC',
      '25',
      '\0',
      '\ud800',
      '%00',
      '__proto__',
      'ab'.repeat(32),
      "'; drop table payments; --",
    ),
  )
  const fields = fc.dictionary(
    fc.oneof(fc.constantFrom('asset', 'amount', 'email', 'lang', 'id', 'version', '__proto__'), text),
    text,
    { maxKeys: 6 },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...paths, '/pay/plink_01k6v3d6yqf5bbt9xgk2v7p8rm'),
      fields,
      fc.boolean(),
      async (path, given, isPost) => {
        const query = new URLSearchParams(given).toString()
        const answer = isPost
          ? await app.inject({
              method: 'POST',
              url: path,
              headers: { 'content-type': 'application/x-www-form-urlencoded' },
              payload: query,
            })
          : await app.inject({ url: `${path}?${query}` })
        assert.ok(
          answer.statusCode < 500,
          `${isPost ? 'POST' : 'GET'} ${path} ${query}: ${answer.statusCode}`,
        )
      },
    ),
    { numRuns: 150 },
  )
})
