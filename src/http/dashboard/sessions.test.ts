/** What a session is worth: which cookie carries it, who sees and ends it, and how somebody comes in who lost his phone. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { codeOf, hiddenField, homeOf, OWN_FORM, testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { showId, type UserSessionId } from '../../core/ids.ts'
import { inviteFirstPerson } from '../../flows/people/join.ts'

const PASSWORD = 'quiet amber lantern'
const gateway = await testGateway()
const { db } = gateway
const app = await testApp(gateway)
const account = await testAccount(gateway)

test('over https the cookie is of this very host, of no script and of no plain connection; under another name it is nobody’s', async () => {
  const dashboardUrl = 'https://desk.example.com'
  const secure = { ...gateway, settings: { ...gateway.settings, dashboardUrl, publicUrl: dashboardUrl } }
  const own = { 'sec-fetch-site': 'same-origin', origin: dashboardUrl }
  const link = await inviteFirstPerson(secure)
  assert.ok(link)
  const path = new URL(link).pathname
  const ann = visit(await testApp(secure))
  const joined = await ann.post(path, { name: 'Ann', email: 'ann@example.com', password: PASSWORD }, own)
  const shape = /^__Host-beck=([\w-]{43}); Path=\/; HttpOnly; SameSite=Lax; Secure$/
  const [, token = ''] = shape.exec(String(joined.headers['set-cookie'])) ?? []
  assert.ok(token, String(joined.headers['set-cookie']))
  assert.equal((await ann.get('/dashboard/me')).status, 200)
  // What a neighbouring host, or somebody on a plain connection, could have set.
  for (const cookie of [`beck=${token}`, `__Secure-beck=${token}`, `__Host-beck=x; __Host-beck=${token}`]) {
    ann.cookie = cookie
    assert.match(String((await ann.get('/dashboard/me')).location), /sign-in/, cookie)
  }
})

test('everybody sees where he is signed in and ends what he likes, of his own and of nobody else', async () => {
  const here = await testPerson(gateway, app, { account, role: 'owner' })
  const [elsewhere, stranger] = [visit(app), await testPerson(gateway, app, { account, role: 'viewer' })]
  const { rows } = await db.query<{ id: UserSessionId; mine: boolean }>(
    'select id, user_id = $1 as mine from sessions where user_id in ($1, $2)',
    [here.userId, stranger.userId],
  )
  const sessionOf = (mine: boolean) =>
    showId('ses', rows.find((row) => row.mine === mine)?.id ?? assert.fail())
  elsewhere.cookie = here.cookie
  assert.match(
    (await here.get('/dashboard/me')).text,
    /Where you are signed in .* this one 127\.0\.0\.1 Passkey/,
  )
  await here.post(`/dashboard/me/sessions/${sessionOf(false)}/end`)
  assert.equal((await stranger.get('/dashboard/me')).status, 200, 'another one’s goes on')
  await here.post(`/dashboard/me/sessions/${sessionOf(true)}/end`)
  const acts = await db.query('select actor_name, subject from audit_log where action = $1', ['session.end'])
  assert.deepEqual(acts.rows, [{ actor_name: here.email, subject: sessionOf(true) }])
  assert.match(String((await elsewhere.get('/dashboard/me')).location), /sign-in/)
})

test('a page that looks again by itself does not keep its session from growing idle', async () => {
  const person = await testPerson(gateway, app, { account, role: 'owner' })
  const idleFor = async (headers: Record<string, string>, method: 'get' | 'post' = 'get') => {
    await db.query("update sessions set seen_at = now() - interval '1 hour' where user_id = $1", [
      person.userId,
    ])
    if (method === 'post') await person.post(`${homeOf(account)}/team`, {}, { ...OWN_FORM, ...headers })
    else assert.equal((await person.get(homeOf(account), headers)).status, 200)
    const { rows } = await db.query<{ old: boolean }>(
      "select seen_at < now() - interval '1 minute' as old from sessions where user_id = $1",
      [person.userId],
    )
    return rows[0]?.old
  }
  assert.equal(await idleFor({ 'x-look': '1' }), true)
  // Nobody hides what he does by it.
  assert.equal(await idleFor({ 'x-look': '1' }, 'post'), false)
  assert.equal(await idleFor({}), false)
})

test('who is given another role, or taken out of the team, is signed out everywhere', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  for (const [path, fields] of [
    ['', { role: 'viewer' }],
    ['/remove', {}],
  ] as const) {
    const member = await testPerson(gateway, app, { account, role: 'admin' })
    const home = `${homeOf(account)}/payments`
    assert.equal((await member.get(home)).status, 200)
    const team = `${homeOf(account)}/team/${showId('usr', member.userId)}${path}`
    assert.equal((await owner.post(team, fields)).status, 303)
    assert.match(String((await member.get(home)).location), /sign-in/)
  }
})

test('a recovery code stands in for the phone, once; half a sign-in waits ten minutes for it', async () => {
  const bob = await testPerson(gateway, app, { account, role: 'viewer' })
  await bob.post('/dashboard/me/password', { password: PASSWORD })
  const secret = /data-copy="([A-Z2-7]{32})"/.exec((await bob.get('/dashboard/me/totp')).html)?.[1] ?? ''
  const shown = await bob.post('/dashboard/me/totp', { code: codeOf(secret) })
  const codes = [...shown.html.matchAll(/<li><code>([\w-]{19})<\/code>/g)].map(([, code = '']) => code)
  assert.equal(codes.length, 10)
  const begin = async () => {
    const visitor = visit(app)
    await visitor.post('/dashboard/sign-in', { email: bob.email, password: PASSWORD })
    const challenge = hiddenField(await visitor.get('/dashboard/sign-in/factor'), 'challenge')
    return { visitor, send: (code = '') => visitor.post('/dashboard/sign-in/factor', { challenge, code }) }
  }
  const lost = await begin()
  assert.equal((await lost.send(codes[0]?.toUpperCase().replaceAll('-', ' '))).status, 303)
  assert.equal((await lost.visitor.get('/dashboard/me')).status, 200)
  const again = await begin()
  assert.equal((await again.send(codes[0])).status, 401, 'it was used')
  const late = await begin()
  await db.query(
    "update sessions set created_at = now() - interval '10 minutes' where factor = 'half' and user_id = $1",
    [bob.userId],
  )
  assert.match(String((await late.send(codes[1])).location), /sign-in/)
  assert.match(String((await late.visitor.get('/dashboard/me')).location), /sign-in/)
})

test('passwords are masked, named for managers, and may be pasted', async () => {
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const pages = [await visit(app).get('/dashboard/sign-in'), await owner.get('/dashboard/me')]
  for (const { html, status } of pages) {
    assert.equal(status, 200)
    const [input = '', ...others] = html.match(/<input[^>]*name="password"[^>]*>/g) ?? []
    assert.match(input, /type="password"/)
    assert.match(input, /autocomplete="(current|new)-password"/)
    assert.deepEqual(others, [])
    assert.doesNotMatch(html, /onpaste|maxlength="\d"/)
  }
})
