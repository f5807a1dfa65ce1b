import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { listApiKeys } from '../../accounts/api-keys.sql.ts'
import { acknowledgeAlerts, raiseAlert } from '../../alerts/alerts.sql.ts'
import { chainActs, recordAct } from '../../audit/audit-log.sql.ts'
import { showId } from '../../core/ids.ts'
import type { Database } from '../../db/database.ts'
import { createWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { claimMails, finishMail, openLetter } from '../../mails/mails.sql.ts'
import { goLive, merchantOfAccount } from './merchants.ts'
import { actOf } from './person.ts'
import { askForReset } from './sign-in-mails.ts'
import { tellPeople } from './tell-people.ts'

async function scene() {
  const base = await testGateway()
  const gateway = { ...base, settings: { ...base.settings, sendsMail: true } }
  const app = await testApp(gateway)
  const account = await testAccount(gateway)
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  /** What was queued since the last look, `recipient: subject`, with the texts. */
  const mails = async () => {
    await chainActs(gateway.db, gateway.secrets, 1_000)
    while (await tellPeople(gateway));
    const claimed = await claimMails(gateway.db, 100)
    const read = claimed.map((mail) => ({
      ...openLetter(gateway.secrets, mail),
      to: mail.recipient,
      kind: mail.kind,
    }))
    for (const { id } of claimed) await finishMail(gateway.db, id, 'sent', null)
    return read
  }
  return { gateway, app, account, owner, mails }
}

const lines = (mails: readonly { to: string; subject: string }[]) =>
  mails.map(({ to, subject }) => `${to}: ${subject}`).sort()

test('an invitation and a new password are mailed, and shown to nobody else', async () => {
  const { owner, account, mails, app } = await scene()
  const team = `${homeOf(account)}/team`
  const invited = await owner.post(team, { email: 'new@example.com', role: 'viewer' })
  assert.deepEqual([invited.status, invited.location], [303, `${team}?done=mailed`])
  assert.match((await owner.get(team)).text, /its mail is on its way/)
  const sent = (await mails()).find(({ kind }) => kind === 'invitation')
  assert.equal(sent?.to, 'new@example.com')
  assert.match((await owner.get(team)).text, /its mail was sent/)
  const link = /http\S+\/dashboard\/join\/\S+/.exec(sent?.text ?? '')?.[0]
  const seen = await visit(app).get(new URL(link ?? '').pathname)
  assert.match(seen.text, /You are invited as viewer/)
})

test('who lost his password is mailed a link; who asks learns nothing, and cannot ask for ever', async () => {
  const { gateway, app, owner, mails } = await scene()
  await mails()
  const visitor = visit(app)
  assert.match((await visitor.get('/dashboard/sign-in')).html, /href="\/dashboard\/forgotten"/)
  const known = await visitor.post('/dashboard/forgotten', { email: owner.email })
  const unknown = await visitor.post('/dashboard/forgotten', { email: 'nobody@example.com' })
  assert.deepEqual(
    [known.status, known.location, known.html],
    [unknown.status, unknown.location, unknown.html],
  )
  const place = { address: '192.0.2.1', agent: 'test' }
  for (const work of await askForReset(gateway, owner.email, place)) await work
  for (const work of await askForReset(gateway, 'nobody@example.com', place)) await work
  const sent = (await mails()).filter(({ kind }) => kind === 'reset')
  assert.ok(sent.length >= 1 && sent.every(({ to }) => to === owner.email))
  await assert.rejects(async () => {
    for (let i = 0; i < 20; i++) for (const work of await askForReset(gateway, owner.email, place)) await work
  }, /asked for too often/)
  const { rows } = await gateway.db.query(
    `select 1 from invitations where kind = 'reset' and used_at is null`,
  )
  assert.equal(rows.length, 3, 'so many and no more, however often a stranger asks')
  const [first = '', last = ''] = [...sent, ...(await mails())]
    .filter(({ kind }) => kind === 'reset')
    .map(({ text }) => new URL(/http\S+\/dashboard\/join\/\S+/.exec(text)?.[0] ?? '').pathname)
  assert.equal((await visit(app).get(last)).status, 200)
  const used = await visit(app).post(first, { password: 'quiet amber lantern' })
  assert.equal(used.status, 303, 'the link that he asked for himself is good until he uses it')
  assert.equal((await visit(app).get(last)).status, 404, 'then none of the others is')
})

test('a link that anybody may have asked for is good for two hours; so is its mail', async () => {
  const { gateway, owner, mails } = await scene()
  for (const work of await askForReset(gateway, owner.email, { address: '192.0.2.1', agent: 'test' }))
    await work
  const { rows } = await gateway.db.query(
    `select extract(epoch from i.expires_at - i.created_at)::int as link,
       extract(epoch from m.expires_at - m.created_at)::int as mail
     from invitations i, mails m where i.kind = 'reset' and m.kind = 'reset'`,
  )
  assert.deepEqual(rows, [{ link: 7_200, mail: 7_200 }])
  assert.match((await mails()).find(({ kind }) => kind === 'reset')?.text ?? '', /for 2 hours/)
})

test('a guessed-at password tells its owner, once', async () => {
  const { app, owner, mails } = await scene()
  await mails()
  const thief = visit(app)
  const guess = (email: string) => thief.post('/dashboard/sign-in', { email, password: 'guess guess guess' })
  for (let i = 0; i < 14; i++) await guess(owner.email)
  for (let i = 0; i < 14; i++) await guess('nobody@example.com')
  assert.deepEqual(lines(await mails()), [`${owner.email}: Your sign-in to Beck waits`])
})

test('a changed factor tells the person and the owners; test keys tell nobody, live ones the owners', async () => {
  const { gateway, app, account, owner, mails } = await scene()
  const dev = await testPerson(gateway, app, { account, role: 'developer' })
  await mails()
  const person = { userId: dev.userId, email: dev.email, address: '192.0.2.7' }
  await gateway.db.transaction((tx) =>
    recordAct(tx, actOf(person, { action: 'passkey.add', after: { name: 'Laptop' } })),
  )
  const told = await mails()
  assert.deepEqual(
    lines(told),
    [`${dev.email}: A passkey was added`, `${owner.email}: ${dev.email}: a passkey was added`].sort(),
  )
  assert.match(told[0]?.text ?? '', /from 192\.0\.2\.7/)

  const made = await dev.post(`${homeOf(account)}/keys`, { name: 'Shop', scopes: ['payments:read'] })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(await mails(), [], 'nothing is lost with a test key')
  const settings = `${homeOf(account)}/settings`
  assert.match((await owner.get(settings)).text, /Of this test account owners get a mail/)
  const business = { name: account.name, time_zone: 'UTC', refund_bound: '500' }
  assert.equal((await owner.post(`${settings}/business`, business)).status, 303)
  const words = 'the business settings, such as how much support refunds, were changed'
  assert.deepEqual(lines(await mails()), [`${owner.email}: ${account.name}: ${words}`])

  const merchant = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
  const boss = { userId: owner.userId, email: owner.email, name: '', sessionId: null, address: '' }
  const liveId = await gateway.db.transaction((tx) => goLive(tx, boss, merchant.id))
  await mails()
  const live = await dev.post(`${homeOf({ ...account, id: liveId })}/keys`, {
    name: 'Shop',
    scopes: ['payments:read'],
  })
  assert.equal(live.status, 200, live.text)
  const [mail, ...others] = await mails()
  assert.equal(others.length, 0)
  assert.equal(mail?.to, owner.email)
  assert.match(mail?.subject ?? '', /an API key was made/)
  assert.ok(mail?.text.includes(showId('acct', liveId)))
  assert.doesNotMatch(mail?.text ?? '', /bk_live_/)
  const liveHome = homeOf({ ...account, id: liveId })
  assert.match((await owner.get(`${liveHome}/settings`)).text, /Owners get a mail whenever .* a key,/)
  const [key] = await listApiKeys(gateway.db, liveId)
  assert.ok(key)
  assert.equal((await dev.post(`${liveHome}/keys/${showId('key', key.id)}/revoke`)).status, 303)
  assert.match(lines(await mails()).join(), /^[^,]*: an API key was revoked$/)
})

test('an endpoint that Beck switched off is told to the owners of a live account, with which and why', async () => {
  const { gateway, account, owner, mails } = await scene()
  const merchant = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
  const boss = { userId: owner.userId, email: owner.email, name: '', sessionId: null, address: '' }
  const liveId = await gateway.db.transaction((tx) => goLive(tx, boss, merchant.id))
  await mails()
  /** As the worker does it. */
  const switchedOff = (accountId: typeof liveId, reason: 'gone' | 'failing') =>
    gateway.db.transaction(async (tx) => {
      const { endpoint } = await createWebhookEndpoint(tx, gateway.secrets, {
        accountId,
        url: `https://shop.example/${reason}`,
        events: ['payment.completed'],
      })
      const subject = showId('whk', endpoint.id)
      const actor = { kind: 'system' as const, id: null, name: 'Beck' }
      const act = { accountId, actor, address: null, action: 'webhook.disable', subject }
      await recordAct(tx, { ...act, before: null, after: { reason } })
      return subject
    })
  for (const [reason, why] of [
    ['gone', /it answered 410/],
    ['failing', /no delivery to it succeeded in five days/],
  ] as const) {
    const subject = await switchedOff(liveId, reason)
    const [mail, ...others] = await mails()
    assert.equal(others.length, 0)
    assert.deepEqual(
      [mail?.to, mail?.subject],
      [owner.email, `${account.name}: a webhook endpoint was switched off`],
    )
    assert.match(mail?.text ?? '', why)
    assert.ok(mail?.text.includes(`Beck switched https://shop.example/${reason} off`))
    const page = `${homeOf({ ...account, id: liveId })}/webhooks/${subject}`
    assert.ok(mail?.text.includes(page))
    assert.equal((await owner.get(page)).status, 200)
    assert.doesNotMatch(mail?.text ?? '', /sign in|By Beck/)
  }
  await switchedOff(account.id, 'gone')
  assert.deepEqual(await mails(), [], 'nothing is lost with a test endpoint')
})

test('an alert tells the operators, and again when it opens again', async () => {
  const { gateway, app, mails } = await scene()
  await testPerson(gateway, app, { isOperator: true })
  await mails()
  const alert = { kind: 'frozen', accountId: null, subject: 'LTC', message: 'books and chain differ' }
  await raiseAlert(gateway.db, alert)
  assert.deepEqual(
    (await mails()).map(({ subject }) => subject),
    ['Beck alert: frozen'],
  )
  await raiseAlert(gateway.db, alert)
  assert.deepEqual(await mails(), [])
  await acknowledgeAlerts(gateway.db, null, 'somebody')
  await raiseAlert(gateway.db, { ...alert, message: 'they differ by more' })
  const again = await mails()
  assert.equal(again.length, 1)
  assert.match(again[0]?.text ?? '', /frozen: they differ by more[\s\S]*\/dashboard\/operator\/alerts/)
})

test('an alert raised after the telling began is told of once', async () => {
  const { gateway, app, mails } = await scene()
  await testPerson(gateway, app, { isOperator: true })
  await mails()
  const db: Database = {
    ...gateway.db,
    transaction: (work, options) =>
      gateway.db.transaction(async (tx) => {
        await tx.query('select 1')
        const alert = { kind: 'frozen', accountId: null, subject: 'LTC', message: 'books and chain differ' }
        await raiseAlert(gateway.db, alert)
        return work(tx)
      }, options),
  }
  await tellPeople({ ...gateway, db })
  assert.deepEqual(
    (await mails()).map(({ subject }) => subject),
    ['Beck alert: frozen'],
  )
})

test('an alert that opens again is told of again, though what opens it began before the first letter', async () => {
  const { gateway, app, mails } = await scene()
  await testPerson(gateway, app, { isOperator: true })
  await mails()
  const alert = { kind: 'frozen', accountId: null, subject: 'LTC', message: 'books and chain differ' }
  await gateway.db.transaction(async (tx) => {
    await tx.query('select 1')
    await raiseAlert(gateway.db, alert)
    assert.equal((await mails()).length, 1)
    await acknowledgeAlerts(gateway.db, null, 'somebody')
    await raiseAlert(tx, { ...alert, message: 'they differ by more' })
  })
  assert.match((await mails())[0]?.text ?? '', /they differ by more/)
})

test('acts of last week are history when the first mail server is connected', async () => {
  const { gateway, owner, mails } = await scene()
  await mails()
  const person = { userId: owner.userId, email: owner.email, address: '192.0.2.7' }
  await gateway.db.transaction((tx) => recordAct(tx, actOf(person, { action: 'passkey.add' })))
  await chainActs(gateway.db, gateway.secrets, 10)
  await gateway.db.query('alter table audit_log disable trigger user')
  await gateway.db.query(`update audit_log set at = now() - interval '7 days'`)
  assert.deepEqual(await mails(), [])
})

test('whose factors the operator took away is told, and so are the owners of his teams', async () => {
  const { gateway, app, account, owner, mails } = await scene()
  const member = await testPerson(gateway, app, { account, role: 'viewer' })
  await mails()
  await gateway.db.transaction((tx) =>
    recordAct(tx, {
      accountId: null,
      actor: { kind: 'cli', id: 'root', name: null },
      address: '192.0.2.1',
      action: 'factors.reset',
      subject: showId('usr', member.userId),
      before: null,
      after: { email: member.email },
    }),
  )
  const sent = await mails()
  assert.deepEqual(lines(sent), [
    `${owner.email}: ${member.email}: the passkeys, authenticator app, recovery codes and password were taken away`,
    `${member.email}: Your passkeys, authenticator app, recovery codes and password were taken away`,
  ])
  assert.match(sent[0]?.text ?? '', /By the command line, from 192\.0\.2\.1/)
})
