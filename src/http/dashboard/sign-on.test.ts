/** Single sign-on with a certified provider on loopback: who comes in, and everything that does not. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { codeOf, homeOf, type Seen, testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { CLIENT, openTestProvider, type TestIdentity } from '../../../test/openid-provider.ts'
import type { UserId } from '../../core/ids.ts'
import { goLive, merchantOfAccount } from '../../flows/people/merchants.ts'
import { queueMails } from '../../mails/mails.sql.ts'
import { insertInvitation, resetDraft } from '../../users/invitations.sql.ts'
import { putMember } from '../../users/merchants.sql.ts'
import { insertUser } from '../../users/users.sql.ts'

const BACK = 'http://localhost:8080/dashboard/sign-in/sso/back'
const gateway = await testGateway()
const provider = await openTestProvider(BACK)
const singleSignOn = {
  issuer: provider.issuer,
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
  domains: ['example.com'],
  name: 'Example',
}
const app = await testApp(gateway, { singleSignOn })
const account = await testAccount(gateway)

let people = 0
/** Somebody who was invited, and has neither password nor factor here. */
async function member(): Promise<{ userId: UserId; email: string; identity: TestIdentity }> {
  people += 1
  const email = `sso-${people}@example.com`
  const userId = await gateway.db.transaction(async (tx) => {
    const user = await insertUser(tx, {
      email,
      name: `Person ${people}`,
      passwordHash: null,
      isOperator: false,
    })
    assert.ok(user)
    await putMember(tx, (await merchantOfAccount(tx, account)).id, user.id, 'owner')
    return user.id
  })
  return { userId, email, identity: { subject: `sub-of-${people}`, email } }
}

const cookieOf = (seen: Seen, name: string): string => {
  const set = [seen.headers['set-cookie'] ?? []].flat().map(String)
  return set.find((each) => each.startsWith(`${name}=`))?.split(';')[0] ?? ''
}

/** From the button to the provider and back. */
async function come(identity: TestIdentity, options: { start?: string; session?: string } = {}) {
  provider.identity = identity
  const browser = visit(app)
  browser.cookie = options.session ?? ''
  const left = await browser.get(options.start ?? '/dashboard/sign-in/sso?next=/dashboard/me')
  assert.equal(left.status, 303, left.text)
  const passing = cookieOf(left, 'beck-sign-on')
  assert.ok(passing)
  const back = await provider.visit(String(left.location))
  const path = back.slice('http://localhost:8080'.length)
  browser.cookie = [passing, options.session].filter(Boolean).join('; ')
  const seen = await browser.get(path)
  return { browser, seen, path, passing, left, session: cookieOf(seen, 'beck') }
}

const reasonOf = (seen: Seen) => /data-reason="(\w+)"/.exec(seen.html)?.[1]

test('a member whom the provider vouches for comes in, and lands where he wanted to go', async () => {
  const ada = await member()
  assert.match((await visit(app).get('/dashboard/sign-in')).text, /Sign in with Example/)
  const { seen, session, left } = await come(ada.identity)
  assert.deepEqual([seen.status, seen.location], [303, '/dashboard/me'])
  const asked = new URL(String(left.location))
  for (const name of ['state', 'nonce', 'code_challenge'])
    assert.ok((asked.searchParams.get(name) ?? '').length >= 43, name)
  assert.equal(asked.searchParams.get('code_challenge_method'), 'S256')
  const browser = visit(app)
  browser.cookie = session
  assert.ok((await browser.get('/dashboard/me')).html.includes(ada.email))
  assert.match(String(left.headers['set-cookie']), /HttpOnly; SameSite=Lax; Max-Age=600/)
  const { rows } = await gateway.db.query<{ action: string }>(
    `select action from audit_log where actor_name = $1 order by id`,
    [ada.email],
  )
  assert.deepEqual(
    rows.map(({ action }) => action),
    ['sign_on.tie', 'session.open'],
  )
})

test('a password there opens nothing live; a second factor there does', async () => {
  const ada = await member()
  const merchant = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
  const person = { userId: ada.userId, email: ada.email, name: '', sessionId: null, address: '' }
  const liveId =
    merchant.liveAccountId ?? (await gateway.db.transaction((tx) => goLive(tx, person, merchant.id)))
  const live = homeOf({ ...account, id: liveId })
  const look = async (session: string) => {
    const browser = visit(app)
    browser.cookie = session
    return browser.get(live)
  }
  const weak = await look((await come(ada.identity)).session)
  assert.deepEqual([weak.status, reasonOf(weak)], [403, 'second_factor_required'])
  const strong = await look((await come({ ...ada.identity, methods: ['pwd', 'otp'] })).session)
  assert.equal(strong.status, 200)
})

test('one with a factor here is asked for it after a password there', async () => {
  const ada = await member()
  await gateway.db.query(
    `insert into totp (user_id, secret_sealed, begun_by, confirmed_at) values ($1, '\\x00', $1, now())`,
    [ada.userId],
  )
  const { seen } = await come(ada.identity)
  assert.equal(seen.location, '/dashboard/sign-in/factor?next=%2Fdashboard%2Fme')
})

test('who is unknown, unverified, of another domain or disabled stays out', async () => {
  const refused = async (identity: TestIdentity) => {
    const { seen, session } = await come(identity)
    assert.equal(session, '', 'nobody is let in')
    return [seen.status, reasonOf(seen)]
  }
  assert.deepEqual(await refused({ subject: 'x1', email: 'nobody@example.com' }), [403, 'nobody_known'])
  const ada = await member()
  assert.deepEqual(await refused({ ...ada.identity, isVerified: false }), [403, 'email_unverified'])
  const elsewhere = await gateway.db.transaction((tx) =>
    insertUser(tx, { email: 'eve@elsewhere.example', name: 'Eve', passwordHash: null, isOperator: true }),
  )
  assert.ok(elsewhere)
  assert.deepEqual(await refused({ subject: 'x2', email: elsewhere.email }), [403, 'email_not_allowed'])
  await gateway.db.query('update users set disabled_at = now() where id = $1', [ada.userId])
  assert.deepEqual(await refused(ada.identity), [403, 'nobody_known'])
})

test('whoever handed out an invitation and used it himself is out once the provider vouches for the right one', async () => {
  const admin = await testPerson(gateway, app, { account, role: 'admin' })
  const email = 'invited@example.com'
  const made = await admin.post(`${homeOf(account)}/team`, { email, role: 'finance' })
  const link = /http\S+\/dashboard\/join\/[\w-]+/.exec(made.html)?.[0] ?? assert.fail(made.text)
  const impostor = visit(app)
  const password = 'quiet amber lantern'
  await impostor.post(new URL(link).pathname, { name: 'Invited', email, password })
  const setup = await impostor.get('/dashboard/me/totp')
  const code = codeOf(/data-copy="([A-Z2-7]{32})"/.exec(setup.html)?.[1] ?? '')
  assert.equal((await impostor.post('/dashboard/me/totp', { code })).status, 200)
  assert.equal((await impostor.get(homeOf(account))).status, 200)

  const { seen, session } = await come({ subject: 'sub-of-invited', email })
  assert.deepEqual(
    [seen.status, seen.location],
    [303, '/dashboard/me'],
    'asked for no factor of somebody else',
  )
  assert.match(String((await impostor.get(homeOf(account))).location), /sign-in/)
  assert.equal((await visit(app).post('/dashboard/sign-in', { email, password })).status, 401)
  const { rows } = await gateway.db.query<{ left: bigint }>(
    `select (select count(*) from totp t where t.user_id = u.id) + (select count(*) from passkeys p where p.user_id = u.id)
       + (select count(*) from recovery_codes c where c.user_id = u.id) as left from users u where u.email = $1`,
    [email],
  )
  assert.deepEqual(rows, [{ left: 0n }])

  // Once: what he sets up from now on is his own.
  const browser = visit(app)
  browser.cookie = session
  await gateway.db.query('update sessions set stepped_up_at = now()')
  assert.equal(
    (await browser.post('/dashboard/me/password', { password: 'another quiet lantern' })).status,
    303,
  )
  await come({ subject: 'sub-of-invited', email })
  const own = await visit(app).post('/dashboard/sign-in', { email, password: 'another quiet lantern' })
  assert.equal(own.status, 303)
})

test('a password set by a link that was handed over goes as well; factors of one who was mailed his link stay', async () => {
  const ada = await member()
  const { token } = await insertInvitation(gateway.db, resetDraft(ada.userId as UserId))
  const admin = visit(app)
  await admin.post(`/dashboard/join/${token}`, { password: 'quiet amber lantern' })
  assert.equal((await admin.get('/dashboard/me')).status, 200)
  await come(ada.identity)
  assert.match(String((await admin.get('/dashboard/me')).location), /sign-in/)

  const bob = await member()
  const mailed = await insertInvitation(gateway.db, resetDraft(bob.userId as UserId))
  await queueMails(gateway.db, gateway.secrets, [
    { cause: `invitation:${mailed.id}`, kind: 'reset', to: [bob.email], letter: { subject: 'x', text: 'x' } },
  ])
  const own = visit(app)
  await own.post(`/dashboard/join/${mailed.token}`, { password: 'quiet amber lantern' })
  await come(bob.identity)
  assert.equal((await own.get('/dashboard/me')).status, 200, 'nobody else saw his link')
})

test('a sign-in that the provider let pass confirms nothing', async () => {
  const ada = await member()
  const { session } = await come({ ...ada.identity, methods: ['pwd', 'otp'] })
  const browser = visit(app)
  browser.cookie = session
  const keys = `${homeOf(account)}/keys`
  const asked = await browser.post(keys, { name: 'Shop', scopes: ['payments:read'] })
  assert.match(asked.html, /step-up\/sso/, 'he is asked anew')
  assert.doesNotMatch((await browser.get(keys)).text, /Shop/)
})

test('an email that passes to somebody else at the provider opens nothing here, and the first one stays in', async () => {
  const ada = await member()
  await come(ada.identity)
  const { seen } = await come({ subject: 'another-subject', email: ada.email })
  assert.deepEqual([seen.status, reasonOf(seen)], [403, 'other_identity'])
  const renamed = await come({ ...ada.identity, email: 'ada.new@example.com' })
  assert.equal(renamed.seen.status, 303, 'known by the subject, whatever the email is now')
})

test('an answer is good for the browser that asked, once, unchanged', async () => {
  const ada = await member()
  const { path, passing } = await come(ada.identity)
  const again = async (cookie: string, at: string) => {
    const browser = visit(app)
    browser.cookie = cookie
    const seen = await browser.get(at)
    assert.equal(cookieOf(seen, 'beck'), '')
    return [seen.status, reasonOf(seen)]
  }
  const refused = [401, 'sign_on_refused']
  assert.deepEqual(await again('', path), refused, 'another browser')
  assert.deepEqual(await again(passing, path), refused, 'the code was used already')
  assert.deepEqual(await again(`${passing}; ${passing}x`, path), refused, 'two cookies')
  const fresh = async (change: (answer: URL) => void) => {
    provider.identity = ada.identity
    const browser = visit(app)
    const left = await browser.get('/dashboard/sign-in/sso')
    const answer = new URL(await provider.visit(String(left.location)))
    change(answer)
    return again(cookieOf(left, 'beck-sign-on'), answer.pathname + answer.search)
  }
  assert.deepEqual(await fresh((answer) => answer.searchParams.set('state', 'x'.repeat(43))), refused)
  assert.deepEqual(await fresh((answer) => answer.searchParams.set('iss', 'https://evil.example')), refused)
  assert.deepEqual(await fresh((answer) => answer.searchParams.delete('iss')), refused)
  assert.deepEqual(await fresh((answer) => answer.searchParams.set('code', 'guessed')), refused)
  assert.deepEqual(await fresh((answer) => (answer.search = '?error=access_denied')), refused)
  const other = await visit(app).get('/dashboard/sign-in/sso')
  assert.deepEqual(
    await again(cookieOf(other, 'beck-sign-on'), path),
    refused,
    'an answer to another question',
  )
})

test('a confirmation by the provider wants the person anew, the same one, and is no word for money', async () => {
  const ada = await member()
  const identity = { ...ada.identity, methods: ['pwd', 'otp'] }
  const { session } = await come(identity)
  await gateway.db.query(`update sessions set stepped_up_at = null where user_id = $1`, [ada.userId])
  const start = `/dashboard/step-up/sso?next=${homeOf(account)}/keys`
  provider.provenSecondsAgo = 3_600
  const old = await come(identity, { start, session })
  assert.deepEqual([old.seen.status, reasonOf(old.seen)], [401, 'sign_on_refused'])
  provider.provenSecondsAgo = 0
  const somebody = await member()
  const foreign = await come(somebody.identity, { start, session })
  assert.deepEqual([foreign.seen.status, reasonOf(foreign.seen)], [403, 'other_person'])
  const good = await come(identity, { start, session })
  assert.deepEqual([good.seen.status, good.seen.location], [303, `${homeOf(account)}/keys`])
  assert.notEqual(good.session, session, 'a new token')
  const browser = visit(app)
  browser.cookie = good.session
  const made = await browser.post(`${homeOf(account)}/keys`, { name: 'Shop', scopes: ['payments:read'] })
  assert.equal(made.status, 200, made.text)
  const money = await browser.post(`${homeOf(account)}/withdrawals`, {
    asset: 'LTC',
    amount: '1',
    destination_address: 'x',
  })
  assert.doesNotMatch(money.html, /step-up\/sso/)
})

test('a provider that is away is said to be, and no sign-in hangs on it; without one there is no such page', async () => {
  const bare = await testApp(gateway)
  assert.equal((await visit(bare).get('/dashboard/sign-in/sso')).status, 404)
  assert.doesNotMatch((await visit(bare).get('/dashboard/sign-in')).html, /sign-in\/sso/)
  const dead = await openTestProvider(BACK)
  await dead.stop()
  const lonely = await testApp(gateway, { singleSignOn: { ...singleSignOn, issuer: dead.issuer } })
  assert.equal((await visit(lonely).get('/dashboard/sign-in/sso')).status, 503)
})
