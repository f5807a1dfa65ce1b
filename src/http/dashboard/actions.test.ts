/** Every action of the table is a form on a page of whoever may do it, and no page shows anybody what he may not do. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { pinApprover, publishAddress, publishPolicy } from '../../../test/approvals.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testPayment, testSession } from '../../../test/gateway.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { createApiKey } from '../../accounts/api-keys.sql.ts'
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import { invalid } from '../../core/errors.ts'
import { type CustomerId, showId } from '../../core/ids.ts'
import { createWebhookEndpoint } from '../../events/webhook-endpoints.sql.ts'
import { changeAccount } from '../../flows/accounts/change-account.ts'
import { closeAccount } from '../../flows/accounts/close-account.ts'
import { pickCoin } from '../../flows/checkout/checkout.ts'
import { freeze, thaw } from '../../ledger/freezes.sql.ts'
import { PERMISSIONS_OF, type Permission, ROLES } from '../../users/permissions.ts'
import type { DashboardRow } from './row.ts'
import { dashboardRows } from './rows.ts'

const story = await tellPayouts('sim-bitcoin')
const { gateway, account } = story
const app = await testApp(gateway)
const home = homeOf(account)
const owner = await testPerson(gateway, app, { account, role: 'owner' })
const operator = await testPerson(gateway, app, { isOperator: true })

// A merchant to whom everything happened that a page has a form for.
await story.earn('BTC', 65_000n)
const pending = await testPayment(gateway, account, { customerEmail: 'ada@example.com' })
const overpaid = await testPayment(gateway, account, { asset: 'BTC' })
await story.pay(overpaid, overpaid.dueAtoms * 2n)
await story.mine(2)
await story.look()
const withdrawal = await story.request('BTC', '0.0001')
await pinApprover(gateway.db, account.id, owner.userId)
await publishPolicy(gateway.db, account.id)
await publishAddress(gateway.db, account.id, {
  network: 'bitcoin',
  address: DESTINATIONS['sim-bitcoin'],
  name: 'Cold',
})
await story.request('BTC', '0.0002')
const session = await testSession(gateway, account)
await gateway.db.transaction((tx) =>
  pickCoin(gateway, tx, session.id, { asset: 'LTC', amountMinor: null, email: null }),
)
await gateway.db.transaction((tx) =>
  createWebhookEndpoint(tx, gateway.secrets, {
    accountId: account.id,
    url: 'https://shop.example/hook',
    events: ['payment.created'],
  }),
)
await createApiKey(gateway.db, {
  accountId: account.id,
  mode: 'test',
  name: 'Shop',
  scopes: ['payments:read'],
})
const closed = await testAccount(gateway)
await gateway.db.transaction((tx) => closeAccount(tx, closed.id, 'close'))
await raiseAlert(gateway.db, { kind: 'frozen', accountId: null, subject: 'LTC', message: 'they differ' })
await testPayment(gateway, account)
await owner.post(`${home}/points-of-sale`, { name: 'Counter', currency: 'USD' })
await gateway.db.transaction((tx) =>
  changeAccount(tx, account.id, { logo: Buffer.from('89504e470d0a1a0a', 'hex') }),
)
await owner.post(`${home}/checkout`, { amount: '5', currency: 'USD' })
await owner.post(`${home}/links`, { label: 'Tea', amount: '5', currency: 'USD' })
await owner.post(`${home}/team`, { email: 'new@example.com', role: 'viewer' })
await owner.post(`${home}/views`, { page: 'payments', name: 'Mine', query: 'filter_asset=BTC' })
await owner.post(`${home}/payments/${showId('pay', pending.id)}/notes`, { note: 'Call back' })
const { rows: customers } = await gateway.db.query<{ id: CustomerId }>('select id from customers')
await owner.post(`${home}/customers/${customers[0] ? showId('cus', customers[0].id) : ''}/notes`, {
  note: 'Regular',
})
const people = new Map<string, Awaited<ReturnType<typeof testPerson>>>([['owner', owner]])
for (const role of ROLES)
  if (role !== 'owner') people.set(role, await testPerson(gateway, app, { account, role }))

const matcherOf = (row: DashboardRow): RegExp =>
  new RegExp(
    `^/dashboard${row.path.replace(/:account/, home.split('/').at(-1) ?? '').replace(/:\w+/g, '[^/?]+')}$`,
  )
const posts = dashboardRows
  .filter(({ method }) => method === 'POST')
  .map((row) => ({ row, matches: matcherOf(row) }))
const rowOf = (action: string) => {
  const path = action.split('?')[0] ?? ''
  // The more literal one: `/payments/new` before `/payments/:id`.
  return posts
    .filter(({ matches }) => matches.test(path))
    .sort((a, b) => a.row.path.split(':').length - b.row.path.split(':').length)[0]?.row
}

/** Follows every link within the dashboard from some pages on, one page of each kind. */
async function walk(
  who: typeof owner,
  from: readonly string[],
): Promise<{ forms: Set<string>; pages: number; checkouts: Set<string> }> {
  const forms = new Set<string>()
  const checkouts = new Set<string>()
  const seen = new Set<string>()
  const todo = [...from]
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    const plain = path.split('#')[0] ?? ''
    if (seen.has(plain) || seen.size > 400 || /\/export\?|sign-out|\/sign-in/.test(plain)) continue
    seen.add(plain)
    const { status, html, headers } = await who.get(plain)
    assert.ok(status < 400, `${plain}: ${status}`)
    if (!String(headers['content-type']).includes('html')) continue
    for (const [checkout] of html.matchAll(/cs_[0-9a-z]{26}/g)) checkouts.add(checkout)
    for (const [, action = ''] of html.matchAll(/<form method="post" action="([^"]+)"/g))
      forms.add(action.replaceAll('&amp;', '&'))
    for (const [, action = ''] of html.matchAll(/data-(?:create-from|quote)="([^"]+)"/g)) forms.add(action)
    for (const [, href = ''] of html.matchAll(/<a [^>]*href="(\/dashboard[^"]*)"/g))
      todo.push(href.replaceAll('&amp;', '&'))
  }
  return { forms, pages: seen.size, checkouts }
}

const starts = [
  home,
  `${home}/withdrawals/${showId('wd', withdrawal.id)}`,
  `${home}/payments?filter_asset=BTC`,
]

test('an owner finds a form for every action of his merchant, and no form leads nowhere', async () => {
  const { forms, pages } = await walk(owner, starts)
  assert.ok(pages > 30, `only ${pages} pages were found`)
  const reached = new Set([...forms].map(rowOf))
  assert.ok(
    !reached.has(undefined),
    `forms without a row: ${[...forms].filter((each) => !rowOf(each)).join(', ')}`,
  )
  const missing = posts
    .map(({ row }) => row)
    .filter((row) => row.path.startsWith('/:account') && !reached.has(row))
    .map(({ path }) => path)
  // Shown in states that this merchant is not in: before the first payment, beside a broken endpoint.
  assert.deepEqual(
    missing.sort(),
    [
      '/:account/settings/currency',
      '/:account/webhooks/:id/enable',
      // On the page that shows what was checked.
      '/:account/withdrawals/batches',
    ].sort(),
  )
})

test('while a withdrawal is typed it says what would arrive, or why nothing would; nothing is confirmed that is not there', async () => {
  const finance = people.get('finance') ?? assert.fail()
  const order = { asset: 'BTC', amount: '0.001', destination_address: DESTINATIONS['sim-bitcoin'] }
  const told = async (changes: Partial<Record<keyof typeof order, string>> = {}) => {
    const seen = await finance.post(`${home}/withdrawals/quote`, { ...order, ...changes })
    assert.deepEqual([seen.status, seen.headers['content-type']], [200, 'text/plain; charset=utf-8'])
    return seen.html
  }
  assert.match(await told(), /^0\.000\d+ BTC would arrive; fees take 0\.0\d+ BTC\.$/)
  assert.match(await told({ amount: '5' }), /^5 BTC was asked for and 0\.0\d+ BTC is available/)
  assert.match(await told({ amount: 'much' }), /^Amount must be a decimal of BTC/)
  assert.match(await told({ destination_address: 'nowhere' }), /^"nowhere" is no bitcoin testnet address/)
  const asked = await finance.post(`${home}/withdrawals`, { ...order, amount: '5' })
  assert.deepEqual([asked.status, /exceeds the available 0\.0\d+ BTC/.test(asked.text)], [422, true])

  await freeze(gateway.db, 'sim-bitcoin', 'BTC', 'they differ')
  assert.match(await told(), /^Withdrawals of BTC are frozen/)
  const line = /BTC is not paid out since .*: the operator looks into a difference/
  assert.match((await finance.get(home)).text, line)
  assert.doesNotMatch((await people.get('developer')?.get(home))?.text ?? assert.fail(), line)
  await thaw(gateway.db, 'sim-bitcoin', 'BTC')
})

test('an operator finds a form for every action of his', async () => {
  const { forms } = await walk(operator, ['/dashboard/operator/merchants', '/dashboard/operator/alerts'])
  const reached = new Set([...forms].map(rowOf))
  const missing = posts.map(({ row }) => row).filter((row) => row.access === 'operator' && !reached.has(row))
  assert.deepEqual(
    missing.map(({ path }) => path),
    // Shown while one waits to be signed.
    ['/operator/money/pay-outs/:id/cancel'],
  )
})

for (const role of ROLES) {
  test(`${role}: no page shows a form or a link that the server then refuses, nor a checkout to whom may make none`, async () => {
    const who = people.get(role)
    assert.ok(who)
    const { forms, checkouts } = await walk(who, [home])
    const may = PERMISSIONS_OF[role].includes('payments:write')
    assert.equal(checkouts.has(showId('cs', session.id)), may, 'beside its payment')
    assert.equal(checkouts.size, may ? 2 : 0, 'in the audit log too')
    for (const action of forms) {
      const row = rowOf(action)
      assert.ok(row, action)
      if (!row.path.startsWith('/:account')) continue
      const needs = [
        row.access as Permission,
        ...('alsoNeeds' in row && row.alsoNeeds ? [row.alsoNeeds] : []),
      ]
      for (const needed of needs)
        assert.ok(PERMISSIONS_OF[role].includes(needed), `${action} is shown to ${role} without ${needed}`)
    }
  })
}

/** What the rows of forms refuse with here, whatever they are sent. */
const MADE_UP = invalid('made_up', 'a reason that nobody foresaw', [
  { field: 'nowhere_at_all', message: 'is of no form' },
])

test('whatever a form is refused for stands on the page that shows it again', async () => {
  const mine = await walk(owner, starts)
  const theirs = await walk(operator, ['/dashboard/operator/merchants', '/dashboard/operator/money'])
  const forms = [...mine.forms].map((action) => [owner, action] as const)
  const refused = new Set<string>()
  for (const [who, action] of [...forms, ...[...theirs.forms].map((each) => [operator, each] as const)]) {
    const row = rowOf(action)
    if (!row?.redraw || refused.has(row.path)) continue
    refused.add(row.path)
    const { handle, confirm, consequence } = row
    Object.assign(row, { handle: () => Promise.reject(MADE_UP), confirm: undefined, consequence: undefined })
    const { text } = await who.post(action)
    Object.assign(row, { handle, confirm, consequence })
    assert.match(text, /Nowhere at all: is of no form/, row.path)
  }
  assert.ok(refused.size > 30, `only ${refused.size} forms`)
})
