import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { codeOf, hiddenField, OWN_FORM, testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import type { UserId } from '../../core/ids.ts'
import { inviteFirstPerson } from '../../flows/people/join.ts'
import { insertInvitation } from '../../users/invitations.sql.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const PASSWORD = 'quiet amber lantern'

const first = await inviteFirstPerson(gateway)
assert.ok(first)
const joinPath = new URL(first).pathname
const ada = visit(app)
let secret = ''

test('the link of the first start makes the operator and owner of the first merchant, once', async () => {
  const stranger = visit(app)
  assert.equal((await stranger.get('/dashboard/join/no-such-link')).status, 404)
  assert.match((await ada.get(joinPath)).text, /Welcome to Beck/)

  const weak = await ada.post(joinPath, { name: 'Ada', email: 'ada@example.com', password: 'password1234' })
  assert.equal(weak.status, 400)
  assert.match(weak.text, /tried first/)
  assert.equal(ada.cookie, '', 'nobody is let in by a form that was refused')

  const joined = await ada.post(joinPath, { name: 'Ada', email: 'ada@example.com', password: PASSWORD })
  assert.deepEqual([joined.status, joined.location], [303, '/dashboard/me'])
  assert.match(String(joined.headers['set-cookie']), /^beck=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)

  const again = await stranger.post(joinPath, { name: 'Eve', email: 'eve@example.com', password: PASSWORD })
  assert.equal(again.status, 404)
  assert.equal(await inviteFirstPerson(gateway), null)
  const { rows } = await gateway.db.query<{ role: string; is_operator: boolean }>(
    'select x.role, u.is_operator from members x join users u on u.id = x.user_id',
  )
  assert.deepEqual(rows, [{ role: 'owner', is_operator: true }])
})

test('an authenticator app is set up by its first code, and its recovery codes are shown once', async () => {
  const setup = await ada.get('/dashboard/me/totp')
  secret = /data-copy="([A-Z2-7]{32})"/.exec(setup.html)?.[1] ?? ''
  assert.ok(secret)
  const wrong = await ada.post('/dashboard/me/totp', { code: '000000' })
  assert.equal(wrong.status, 400)
  const before = ada.cookie
  const done = await ada.post('/dashboard/me/totp', { code: codeOf(secret, -1) })
  assert.equal(done.status, 200)
  assert.equal((done.html.match(/<li><code>[\w-]{19}<\/code>/g) ?? []).length, 10)
  assert.notEqual(ada.cookie, before, 'what proves more has a token of its own')
})

test('a password alone leads to the second factor and nowhere else; each code passes once', async () => {
  const visitor = visit(app)
  const half = await visitor.post('/dashboard/sign-in', { email: 'ADA@example.com', password: PASSWORD })
  assert.match(String(half.location), /^\/dashboard\/sign-in\/factor/)
  const halfCookie = visitor.cookie
  assert.match(String((await visitor.get('/dashboard/me')).location), /sign-in\/factor/)

  const ask = await visitor.get('/dashboard/sign-in/factor')
  const code = codeOf(secret)
  const challenge = hiddenField(ask, 'challenge')
  const whole = await visitor.post('/dashboard/sign-in/factor', { challenge, code })
  assert.deepEqual([whole.status, whole.location], [303, '/dashboard'])
  assert.notEqual(visitor.cookie, halfCookie)
  assert.equal((await visitor.get('/dashboard/me')).status, 200)

  const fixed = visit(app)
  fixed.cookie = halfCookie
  assert.match(
    String((await fixed.get('/dashboard/me')).location),
    /sign-in/,
    'a token known before the sign-in is worth nothing',
  )

  const thief = visit(app)
  await thief.post('/dashboard/sign-in', { email: 'ada@example.com', password: PASSWORD })
  const page = await thief.get('/dashboard/sign-in/factor')
  const replayed = await thief.post('/dashboard/sign-in/factor', {
    challenge: hiddenField(page, 'challenge'),
    code,
  })
  assert.equal(replayed.status, 401)
  assert.match(replayed.text, /used already/)
})

test('whoever is unknown is answered as whoever has another password, and guessing is cut off', async () => {
  const visitor = visit(app)
  const attempt = (email: string) =>
    visitor.post('/dashboard/sign-in', { email, password: 'wrong wrong wrong' })
  const known = await attempt('ada@example.com')
  const unknown = await attempt('nobody@example.com')
  assert.equal(known.status, 401)
  const blank = (html: string) => html.replace(/nonce="[^"]*"/g, '').replaceAll('nobody@', 'ada@')
  assert.equal(blank(known.html), blank(unknown.html))
  for (let i = 0; i < 12; i++) await attempt('ada@example.com')
  const locked = await visitor.post('/dashboard/sign-in', { email: 'ada@example.com', password: PASSWORD })
  assert.equal(locked.status, 403)
  assert.match(locked.text, /quarter of an hour/)
  await gateway.db.query('delete from sign_in_failures')
})

test('a form from anywhere else, or from nobody knows where, is refused', async () => {
  const form = { email: 'ada@example.com', password: PASSWORD }
  for (const headers of [
    {},
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'http://localhost:8080' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]) {
    const visitor = visit(app)
    const refused = await visitor.post('/dashboard/sign-in', form, headers)
    assert.equal(refused.status, 403, JSON.stringify(headers))
    assert.match(refused.html, /data-reason="foreign_form"/)
    assert.equal(visitor.cookie, '')
  }
  assert.equal((await visit(app).post('/dashboard/sign-in', form, OWN_FORM)).status, 303)
})

test('every page is framed by nobody, runs nothing but its own, and is kept by no cache', async () => {
  for (const path of ['/dashboard/sign-in', '/dashboard/me', '/dashboard/nowhere', joinPath]) {
    const { headers } = await ada.get(path)
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.match(policy, /require-trusted-types-for 'script'/)
    assert.ok(!policy.includes('unsafe'))
    assert.equal(headers['x-frame-options'], 'DENY')
    assert.equal(headers['cache-control'], 'no-store')
  }
})

test('the way back after a sign-in stays on the dashboard', async () => {
  const person = await testPerson(gateway, app, { account, role: 'viewer' })
  for (const next of [
    'https://evil.example',
    '//evil.example',
    '/dashboard//evil.example',
    '/\\evil.example',
    '/v1/payments',
  ]) {
    const seen = await person.get(`/dashboard/sign-in/factor?next=${encodeURIComponent(next)}`)
    assert.equal(seen.location, '/dashboard', next)
  }
  const fine = await person.get(`/dashboard/sign-in/factor?next=${encodeURIComponent('/dashboard/me?x=1')}`)
  assert.equal(fine.location, '/dashboard/me?x=1')
})

test('signing out ends the session on the server; an ended or disabled one opens nothing', async () => {
  const person = await testPerson(gateway, app, { account, role: 'viewer' })
  const { cookie } = person
  await person.post('/dashboard/sign-out')
  person.cookie = cookie
  assert.match(String((await person.get('/dashboard/me')).location), /sign-in/)

  const other = await testPerson(gateway, app, { account, role: 'viewer' })
  await gateway.db.query('update users set disabled_at = now() where id = $1', [other.userId])
  assert.match(String((await other.get('/dashboard/me')).location), /sign-in/)

  const idle = await testPerson(gateway, app, { account, role: 'viewer' })
  await gateway.db.query(`update sessions set seen_at = now() - interval '8 hours' where user_id = $1`, [
    idle.userId,
  ])
  assert.match(String((await idle.get('/dashboard/me')).location), /sign-in/)

  const old = await testPerson(gateway, app, { account, role: 'viewer' })
  await gateway.db.query(`update sessions set created_at = now() - interval '24 hours' where user_id = $1`, [
    old.userId,
  ])
  assert.match(String((await old.get('/dashboard/me')).location), /sign-in/)
})

test('a changed password ends all other sessions', async () => {
  const [one] = (
    await gateway.db.query<{ id: string }>(`select id from users where email = 'ada@example.com'`)
  ).rows
  const before = await gateway.db.query<{ n: bigint }>(
    'select count(*) as n from sessions where user_id = $1',
    [one?.id],
  )
  assert.ok((before.rows[0]?.n ?? 0n) > 1n)
  const changed = await ada.post('/dashboard/me/password', { password: 'another quiet lantern' })
  assert.equal(changed.location, '/dashboard/me?done=password-changed')
  const after = await gateway.db.query<{ n: bigint }>(
    'select count(*) as n from sessions where user_id = $1',
    [one?.id],
  )
  assert.equal(after.rows[0]?.n, 1n)
})

test('a browser at the root is led to the dashboard, a program gets JSON', async () => {
  const page = await app.inject({ method: 'GET', url: '/', headers: { accept: 'text/html,*/*' } })
  assert.deepEqual([page.statusCode, page.headers.location], [303, 'http://localhost:8080/dashboard'])
  const json = await app.inject({ method: 'GET', url: '/', headers: { accept: '*/*' } })
  assert.equal(json.statusCode, 404)
})

test('a link for a new password lets no passkey in, and changes no factor', async () => {
  const { rows } = await gateway.db.query<{ id: UserId }>(
    "select id from users where email = 'ada@example.com'",
  )
  const userId = rows[0]?.id ?? assert.fail('Ada is there')
  const codes = async () =>
    (await gateway.db.query('select * from recovery_codes where user_id = $1 order by 1, 2', [userId])).rows
  const before = await codes()
  const { token } = await insertInvitation(gateway.db, {
    kind: 'reset',
    email: null,
    merchantId: null,
    role: null,
    makesOperator: false,
    userId,
    invitedBy: null,
  })
  const eve = visit(app)
  const path = `/dashboard/join/${token}`
  assert.equal((await eve.post(`${path}/options`, { email: '', name: '' })).status, 403)
  assert.equal((await eve.post(path, { name: 'Eve', password: '', passkey: '{}' })).status, 403)
  assert.equal(eve.cookie, '')
  assert.deepEqual(await codes(), before)
  // The link is as good as before: it was refused, not used.
  assert.equal((await eve.get(path)).status, 200)
})
