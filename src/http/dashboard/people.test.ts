/** What strangers, thieves and colleagues try at the door and behind it. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { codeOf, homeOf, testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { newId } from '../../core/ids.ts'
import { goLive, merchantOfAccount } from '../../flows/people/merchants.ts'
import { insertSession } from '../../users/sessions.sql.ts'
import { newSignInChallenge, takeSignInChallenge } from '../../users/sign-in-challenge.sql.ts'
import { dashboardRows } from './rows.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)

const secretOf = (html: string): string => /data-copy="([A-Z2-7]{32})"/.exec(html)?.[1] ?? ''

test('the secret of an app is the session’s that shows it, and no longer than a quarter of an hour', async () => {
  const ada = await testPerson(gateway, app, { account, role: 'viewer' })
  const seen = secretOf((await ada.get('/dashboard/me/totp')).html)
  assert.equal(secretOf((await ada.get('/dashboard/me/totp')).html), seen, 'the same after a wrong code')

  await gateway.db.query(`update totp set begun_at = now() - interval '16 minutes'`)
  const late = await ada.post('/dashboard/me/totp', { code: codeOf(seen) })
  assert.deepEqual([late.status, secretOf(late.html) === seen], [400, false], 'a new one instead')

  const draft = { userId: ada.userId, factor: 'passkey', isSteppedUp: true, address: '', agent: '' } as const
  const token = await gateway.db.transaction((tx) => insertSession(tx, draft))
  const thief = visit(app)
  thief.cookie = `beck=${token}`
  const thiefs = secretOf((await thief.get('/dashboard/me/totp')).html)
  const his = secretOf((await ada.get('/dashboard/me/totp')).html)
  assert.notEqual(his, thiefs, 'whoever looks on in another session knows another secret')
  await ada.get('/dashboard/me/totp')
  assert.equal((await ada.post('/dashboard/me/totp', { code: codeOf(thiefs) })).status, 400)
  assert.equal((await ada.post('/dashboard/me/totp', { code: codeOf(his) })).status, 200)
})

test('whoever asks for passkeys writes nothing; a challenge passes once, in time, and only Beck’s own', async () => {
  const stranger = visit(app)
  for (let asked = 0; asked < 5; asked++)
    assert.equal((await stranger.post('/dashboard/sign-in/options')).status, 200)
  assert.equal((await gateway.db.query('select from sign_in_challenges')).rowCount, 0)
  const take = (challenge: Uint8Array) =>
    gateway.db.transaction((tx) => takeSignInChallenge(tx, gateway.secrets, challenge))
  const good = newSignInChallenge(gateway.secrets)
  const other = Buffer.from(good)
  other[10] = (other[10] ?? 0) ^ 1
  assert.deepEqual([await take(other), await take(good), await take(good)], [false, true, false])
  assert.equal(await take(newSignInChallenge(gateway.secrets, Date.now() - 300_001)), false, 'too old')
  assert.equal(await take(Buffer.alloc(32)), false)
})

test('over plain http from elsewhere neither a live account opens nor anything of the operator', async () => {
  const plain = { ...gateway, settings: { ...gateway.settings, dashboardUrl: 'http://192.168.1.7:8080' } }
  const exposed = await testApp(plain)
  const operator = await testPerson(gateway, exposed, { isOperator: true })
  const own = { 'sec-fetch-site': 'same-origin', origin: 'http://192.168.1.7:8080' }
  const rows = dashboardRows.filter(({ access }) => access === 'operator')
  assert.ok(rows.length > 5)
  for (const { method, path } of rows) {
    const at = `/dashboard${path.replace(':id', newId('pay'))}`
    const seen = await (method === 'GET' ? operator.get(at) : operator.post(at, {}, own))
    const reason = /data-reason="(\w+)"/.exec(seen.html)?.[1]
    assert.deepEqual([seen.status, reason], [403, 'plain_http'], `${method} ${at}`)
  }
  const near = await testPerson(gateway, app, { isOperator: true })
  assert.equal((await near.get('/dashboard/operator/health')).status, 200)
})

test('the audit log of a merchant says who joined, whichever way he came in', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const invite = async (email: string) => {
    const made = await owner.post(`${homeOf(account)}/team`, { email, role: 'viewer' })
    return new URL(/http\S+\/dashboard\/join\/[\w-]+/.exec(made.html)?.[0] ?? '').pathname
  }
  const own = { name: 'New', password: 'quiet amber lantern' }
  await visit(app).post(await invite('new@example.com'), { ...own, email: 'new@example.com' })
  const elsewhere = await testPerson(gateway, app, { account: await testAccount(gateway), role: 'owner' })
  await elsewhere.post(await invite(elsewhere.email))
  const log = async (home: string) => (await owner.get(`${home}/audit`)).text
  const joined = (text: string) =>
    [...text.matchAll(/(\S+@example\.com) user, \S+ user\.join/g)].map(([, by]) => by)
  assert.deepEqual(joined(await log(homeOf(account))), [elsewhere.email, 'new@example.com'])

  const merchant = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
  const person = { userId: owner.userId, email: owner.email, name: '', sessionId: null, address: '' }
  const live = await gateway.db.transaction((tx) => goLive(tx, person, merchant.id))
  await visit(app).post(await invite('live@example.com'), { ...own, email: 'live@example.com' })
  assert.deepEqual(joined(await log(homeOf({ ...account, id: live }))), ['live@example.com'])
})
