/** Every row of the dashboard × every role × a stranger × nobody × a confirmation that is too old. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, type Seen, type TestPerson, testPerson, visit } from '../../../test/dashboard.ts'
import { EXPECTED_ACCESS } from '../../../test/dashboard-access.ts'
import { GROUPS } from '../../../test/dashboard-actions/stories.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { newId, newPublicId, showId } from '../../core/ids.ts'
import { SCOPES } from '../../core/scopes.ts'
import { goLive, merchantOfAccount } from '../../flows/people/merchants.ts'
import {
  may,
  PERMISSIONS,
  PERMISSIONS_OF,
  type Permission,
  ROLES,
  type Role,
} from '../../users/permissions.ts'
import type { DashboardRow } from './row.ts'
import { dashboardRows } from './rows.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const foreign = await testAccount(gateway)

const people = new Map<Role, TestPerson>()
for (const role of ROLES) people.set(role, await testPerson(gateway, app, { account, role }))
const stranger = await testPerson(gateway, app, { account: foreign, role: 'owner' })
const operator = await testPerson(gateway, app, { isOperator: true })

const IDS: Readonly<Record<string, string>> = {
  payments: showId('pay', newId('pay')),
  customers: showId('cus', newId('cus')),
  withdrawals: showId('wd', newId('wd')),
  approvals: showId('apr', newId('apr')),
  batches: showId('bat', newId('bat')),
  webhooks: showId('whk', newId('whk')),
  links: showId('plink', newPublicId('plink')),
  sale: showId('pos', newPublicId('pos')),
  keys: showId('key', newId('key')),
  views: showId('view', newId('view')),
  invitations: showId('inv', newId('inv')),
  passkeys: showId('psk', newId('psk')),
  sessions: showId('ses', newId('ses')),
  alerts: '00000000-0000-0000-0000-000000000000',
}

/** The row's path with ids of its kind in it, which belong to nobody. */
function pathOf(row: DashboardRow, home = homeOf(account)): string {
  const path = row.path
    .replace(':token', 'x'.repeat(43))
    .replace(':delivery', showId('dlv', newId('dlv')))
    .replace(':note', showId('note', newId('note')))
    .replace(':user', showId('usr', newId('usr')))
    .replace(/([a-z]+)\/:id/, (_, kind: string) => `${kind}/${IDS[kind] ?? 'x'}`)
  return path.startsWith('/:account') ? home + path.slice('/:account'.length) : `/dashboard${path}`
}

const ask = (who: Pick<TestPerson, 'get' | 'post'>, row: DashboardRow, home?: string): Promise<Seen> =>
  row.method === 'GET' ? who.get(pathOf(row, home)) : who.post(pathOf(row, home))

const reasonOf = (seen: Seen): string | undefined => /data-reason="(\w+)"/.exec(seen.html)?.[1]

/** What the server itself says that it answers to, below the dashboard. A line that cannot be read fails. */
function routesOf(server: typeof app): string[] {
  const lines = server.printRoutes({ commonPrefix: false }).trimEnd().split('\n')
  const open: string[] = []
  return lines.flatMap((line) => {
    const read = /^([│ ]*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?$/.exec(line)
    assert.ok(read, `a line of the routes is not understood: ${line}`)
    const [, indent = '', path = '', methods = ''] = read
    const depth = indent.length / 4
    open.splice(depth, open.length, path)
    const whole = open.join('')
    return whole.startsWith('/dashboard')
      ? methods
          .split(', ')
          .filter((method) => method !== 'HEAD' && method !== '')
          .map((method) => `${method} ${whole}`)
      : []
  })
}

const placeRows = dashboardRows.filter((row) => row.path.startsWith('/:account'))
const needsOf = (row: DashboardRow): readonly Permission[] => [
  row.access as Permission,
  ...('alsoNeeds' in row && row.alsoNeeds ? [row.alsoNeeds] : []),
]
const nameOf = (row: DashboardRow) => `${row.method} ${row.path || '/'}`

test('every row stands in the table of what it needs, and every route of the dashboard is a row', () => {
  const found = new Map<string, string[]>()
  for (const row of dashboardRows) {
    const needs = [row.access, ...('alsoNeeds' in row && row.alsoNeeds ? [row.alsoNeeds] : [])].join(' + ')
    const key = 'testOnly' in row && row.testOnly ? `${needs}, test only` : needs
    const name = `${nameOf(row)}${row.confirm ? ` ${row.confirm}` : ''}`
    found.set(key, [...(found.get(key) ?? []), name].sort())
  }
  assert.deepEqual(Object.fromEntries(found), EXPECTED_ACCESS)
  const rows = dashboardRows.map(({ method, path }) => `${method} /dashboard${path}`)
  // The last is of every other path, printed without its slash: it tells that there is no such page.
  assert.deepEqual(routesOf(app).sort(), [...rows, 'GET /dashboard*'].sort())
})

test('every action has a story in which it is pressed in a browser', () => {
  const stories = Object.values(GROUPS).flatMap((group) => Object.keys(group))
  const actions = dashboardRows.filter(({ method }) => method === 'POST').map(({ path }) => `POST ${path}`)
  assert.deepEqual(stories.sort(), actions.sort())
})

test('a person may what the contract lets a key, and every permission is somebody’s', () => {
  for (const scope of SCOPES) assert.ok((PERMISSIONS as readonly string[]).includes(scope), scope)
  for (const permission of PERMISSIONS) assert.ok(may('owner', permission))
  assert.deepEqual(
    PERMISSIONS.filter((permission) => !may('admin', permission)),
    ['ownership:write'],
  )
  for (const role of ['developer', 'support', 'viewer'] as const)
    assert.ok(!may(role, 'withdrawals:write') && !may(role, 'approvals:write'), `${role} moves no money out`)
  assert.ok(!PERMISSIONS_OF.finance.some((permission) => /keys|webhooks|team|settings/.test(permission)))
})

for (const role of ROLES) {
  test(`${role}: what the role may not is refused by the server, naming the permission; nothing else is`, async () => {
    const person = people.get(role)
    assert.ok(person)
    for (const row of placeRows) {
      const seen = await ask(person, row)
      const permission = needsOf(row).find((each) => !may(role, each))
      if (permission === undefined) {
        assert.notEqual(reasonOf(seen), 'missing_permission', `${nameOf(row)} as ${role}: ${seen.text}`)
        assert.ok(seen.status < 500, `${nameOf(row)} as ${role}: ${seen.status} ${seen.text}`)
      } else {
        assert.equal(seen.status, 403, `${nameOf(row)} as ${role}`)
        assert.equal(reasonOf(seen), 'missing_permission')
        assert.ok(seen.text.includes(permission), `${nameOf(row)} names ${permission}`)
      }
    }
  })

  test(`${role}: the menu shows what the role may open, and nothing else`, async () => {
    const person = people.get(role)
    assert.ok(person)
    const { html } = await person.get(homeOf(account))
    for (const row of placeRows.filter(
      ({ method, path }) => method === 'GET' && /^\/:account\/[a-z]+$/.test(path),
    )) {
      const isShown = html.includes(`href="${pathOf(row)}"`)
      if (isShown) assert.ok(may(role, row.access as Permission), `${row.path} is shown to ${role}`)
    }
  })
}

test('the owner of another merchant learns nothing of this one, not even that it is there', async () => {
  const nowhere = homeOf({ ...account, id: newId('acct') })
  for (const row of placeRows) {
    const seen = await ask(stranger, row)
    const unknown = await ask(stranger, row, nowhere)
    assert.deepEqual([seen.status, reasonOf(seen)], [404, 'page_not_found'], nameOf(row))
    assert.deepEqual([unknown.status, unknown.text], [seen.status, seen.text], nameOf(row))
  }
})

test('the operator of the whole Beck sees no merchant’s pages, and nobody else sees the operator’s', async () => {
  for (const row of placeRows) assert.equal((await ask(operator, row)).status, 404, nameOf(row))
  for (const row of dashboardRows.filter(({ access }) => access === 'operator')) {
    assert.notEqual(reasonOf(await ask(operator, row)), 'missing_permission')
    for (const person of people.values()) {
      const seen = await ask(person, row)
      assert.deepEqual([seen.status, reasonOf(seen)], [403, 'missing_permission'], nameOf(row))
    }
  }
})

test('nobody gets in without a session', async () => {
  for (const row of dashboardRows.filter(({ access }) => access !== 'public')) {
    const seen = await ask(visit(app), row)
    assert.equal(seen.status, 303, nameOf(row))
    assert.match(String(seen.location), /^\/dashboard\/sign-in/)
  }
})

test('half a sign-in opens nothing but its other half', async () => {
  const half = await testPerson(gateway, app, { account, role: 'owner' })
  await gateway.db.query(`update sessions set factor = 'half' where user_id = $1`, [half.userId])
  for (const row of dashboardRows.filter(({ access }) => access !== 'public' && access !== 'half')) {
    const seen = await ask(half, row)
    assert.deepEqual([seen.status, seen.location], [303, '/dashboard/sign-in/factor'], nameOf(row))
  }
})

test('what needs a confirmation asks for it once the last one is too old, and does nothing before', async () => {
  const stale = await testPerson(gateway, app, { account, role: 'owner', isOperator: true })
  await gateway.db.query(
    `update sessions set stepped_up_at = now() - interval '5 minutes' where user_id = $1`,
    [stale.userId],
  )
  const confirmed = dashboardRows.filter(({ confirm }) => confirm !== undefined)
  assert.ok(confirmed.length > 20)
  const acts = async () =>
    (await gateway.db.query<{ n: bigint }>('select count(*) as n from audit_log')).rows[0]?.n
  const before = await acts()
  for (const row of confirmed) {
    const seen = await ask(stale, row)
    if (row.method === 'GET') assert.match(String(seen.location), /^\/dashboard\/step-up\?next=/, nameOf(row))
    // Where the act itself cannot be, that is said instead.
    else
      assert.ok(seen.html.includes('name="challenge"') || seen.status >= 400, `${nameOf(row)}: ${seen.text}`)
  }
  assert.equal(await acts(), before, 'nothing was done')
})

test('what moves money or what gets at it is confirmed', () => {
  const needs = (path: RegExp) => dashboardRows.filter((row) => row.method === 'POST' && path.test(row.path))
  for (const row of needs(/\/(withdrawals|batches|refund)$/)) assert.equal(row.confirm, 'fresh', row.path)
  for (const row of needs(/\/(keys|team|settings|webhooks|go-live|policy|allowlist)(?!.*\/send$)/))
    assert.equal(row.confirm, 'recent', row.path)
})

test('nothing live opens with a password alone, and the sandbox moves nothing live', async () => {
  const merchant = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
  const owner = people.get('owner')
  assert.ok(owner)
  const person = { userId: owner.userId, email: owner.email, name: '', sessionId: null, address: '' }
  const liveId =
    merchant.liveAccountId ?? (await gateway.db.transaction((tx) => goLive(tx, person, merchant.id)))
  const home = homeOf({ ...account, id: liveId })
  const weak = await testPerson(gateway, app, {
    account,
    role: 'owner',
    factor: 'password',
    isOperator: true,
  })
  for (const row of dashboardRows) {
    if (row.access !== 'operator' && !row.path.startsWith('/:account')) continue
    const seen = await ask(weak, row, home)
    assert.deepEqual([seen.status, reasonOf(seen)], [403, 'second_factor_required'], nameOf(row))
  }
  for (const row of placeRows.filter((each) => 'testOnly' in each && each.testOnly)) {
    const seen = await ask(owner, row, home)
    assert.deepEqual([seen.status, reasonOf(seen)], [403, 'test_accounts_only'], nameOf(row))
  }
  assert.equal((await owner.get(home)).status, 200)
})
