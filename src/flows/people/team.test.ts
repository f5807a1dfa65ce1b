/** Links into a team: whose they are, and how long they are good. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, type TestPerson, testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { showId } from '../../core/ids.ts'
import { insertInvitation } from '../../users/invitations.sql.ts'
import type { Role } from '../../users/permissions.ts'
import { merchantOfAccount } from './merchants.ts'
import type { Person } from './person.ts'
import { inviteMember } from './team.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const { id: merchantId } = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
const team = `${homeOf(account)}/team`
const owner = await testPerson(gateway, app, { account, role: 'owner' })
const NEWCOMER = { name: 'New', password: 'quiet amber lantern' }

/** @returns Where the link leads that somebody makes. */
async function linkBy(by: TestPerson, path: string, fields: Record<string, string> = {}, at = team) {
  const made = await by.post(`${at}${path}`, fields)
  const link = /http\S+\/dashboard\/join\/[\w-]+/.exec(made.html)?.[0]
  return new URL(link ?? assert.fail(made.text)).pathname
}

const invite = (by: TestPerson, email: string, role: Role) => linkBy(by, '', { email, role })

/** Of one that the command line made. */
async function shellLink(email: string, role: Role) {
  const draft = { kind: 'invite', email, merchantId, role } as const
  return `/dashboard/join/${(await insertInvitation(gateway.db, draft)).token}`
}

const isGood = async (path: string) => (await visit(app).get(path)).status === 200

async function roleOf({ userId }: TestPerson): Promise<string | undefined> {
  const { rows } = await gateway.db.query<{ role: string }>(
    'select role from members where merchant_id = $1 and user_id = $2',
    [merchantId, userId],
  )
  return rows[0]?.role
}

test('what a member made for others ends with what he may give', async () => {
  const elsewhere = await testAccount(gateway)
  for (const [as, path, fields, ends] of [
    ['admin', '/remove', {}, true],
    ['admin', '', { role: 'viewer' }, true],
    ['owner', '', { role: 'admin' }, true],
    ['admin', '', { role: 'owner' }, false],
  ] as const) {
    const admin = await testPerson(gateway, app, { account, role: as })
    const colleague = await testPerson(gateway, app, { account, role: 'viewer' })
    const foreign = await gateway.db.transaction((tx) => merchantOfAccount(tx, elsewhere))
    await gateway.db.query('insert into members (merchant_id, user_id, role) values ($1, $2, $3)', [
      foreign.id,
      admin.userId,
      'owner',
    ])
    const made = [
      await invite(admin, `own-${admin.userId}@example.com`, 'admin'),
      await linkBy(admin, `/${showId('usr', colleague.userId)}/reset`),
    ]
    const kept = [
      await invite(owner, `kept-${admin.userId}@example.com`, 'viewer'),
      await linkBy(admin, '', { email: 'x@example.com', role: 'viewer' }, `${homeOf(elsewhere)}/team`),
    ]
    const changed = await owner.post(`${team}/${showId('usr', admin.userId)}${path}`, fields)
    assert.equal(changed.status, 303)
    for (const link of made)
      assert.equal(await isGood(link), !ends, `${as} ${path} ${JSON.stringify(fields)}`)
    for (const link of kept) assert.ok(await isGood(link), 'of another one, or of another team')
  }
})

test('whoever is removed while he makes a link makes none', async () => {
  const admin = await testPerson(gateway, app, { account, role: 'admin' })
  const person: Person = {
    userId: admin.userId,
    email: admin.email,
    name: 'Admin',
    sessionId: null,
    address: '192.0.2.1',
  }
  const change = { person, role: 'admin', merchantId, accountId: account.id } as const
  const given = { email: 'late@example.com', role: 'admin' }
  await owner.post(`${team}/${showId('usr', admin.userId)}`, { role: 'viewer' })
  const asking = gateway.db.transaction((tx) => inviteMember(gateway, tx, change, given))
  await assert.rejects(asking, { reason: 'role_changed' })
})

test('whoever comes in by one invitation comes in by no other', async () => {
  const email = 'twice@example.com'
  const [high, low] = [await invite(owner, email, 'admin'), await invite(owner, email, 'viewer')]
  const newcomer = visit(app)
  assert.equal((await newcomer.post(low, { ...NEWCOMER, email })).status, 303)
  assert.ok(!(await isGood(high)))
  assert.equal((await newcomer.post(high)).status, 404)
})

test('a member’s role is the team’s to change; the command line’s link alone raises it', async () => {
  const member = await testPerson(gateway, app, { account, role: 'finance' })
  const draft = { kind: 'invite', email: member.email, merchantId, invitedBy: owner.userId } as const
  const { token } = await insertInvitation(gateway.db, { ...draft, role: 'admin' })
  const refused = await member.post(`/dashboard/join/${token}`)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /belong to this team already/)
  assert.equal(await roleOf(member), 'finance')

  await gateway.db.query("delete from members where role = 'owner' and user_id <> $1", [owner.userId])
  assert.equal((await owner.post(await shellLink(owner.email, 'viewer'))).status, 409)
  assert.equal(await roleOf(owner), 'owner', 'a merchant keeps its last owner')
  assert.equal((await member.post(await shellLink(member.email, 'owner'))).status, 303)
  assert.equal(await roleOf(member), 'owner')
})
