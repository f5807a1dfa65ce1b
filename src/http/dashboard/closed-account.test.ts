/** The operator closes an account behind a fresh confirmation; its members are told on every page, and withdraw what is theirs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testApp } from '../../../test/api.ts'
import { codeOf, hiddenField, homeOf, testPerson } from '../../../test/dashboard.ts'
import { tellPayouts } from '../../../test/payout-story.ts'
import { listActs } from '../../audit/audit-log.sql.ts'
import { showId } from '../../core/ids.ts'

const PAGE = '/dashboard/operator/merchants'

test('closed and reopened with a code each time, recorded, and said to members above every page', async () => {
  const story = await tellPayouts('sim-litecoin')
  const { gateway, account } = story
  await story.earn('LTC', 100_00n)
  const app = await testApp(gateway)
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const operator = await testPerson(gateway, app, { isOperator: true, factor: 'password' })
  const setup = await operator.get('/dashboard/me/totp')
  const secret = /data-copy="([A-Z2-7]{32})"/.exec(setup.html)?.[1] ?? assert.fail(setup.text)
  await operator.post('/dashboard/me/totp', { code: codeOf(secret, -1) })
  const act = async (what: 'close' | 'reopen', code: string) => {
    const path = `/dashboard/operator/accounts/${showId('acct', account.id)}/${what}`
    assert.ok((await operator.get(PAGE)).html.includes(`action="${path}"`), `the page offers to ${what}`)
    const asked = await operator.post(path)
    return { asked, done: await operator.post(path, { challenge: hiddenField(asked, 'challenge'), code }) }
  }
  const stranger = await owner.post(`/dashboard/operator/accounts/${showId('acct', account.id)}/close`)
  assert.equal(stranger.status, 403)

  const closed = await act('close', codeOf(secret))
  assert.match(closed.asked.text, /takes no new payments, checkouts, links or keys from now on/)
  assert.equal(closed.done.location, `${PAGE}?done=account-closed`)
  assert.match((await operator.get(PAGE)).text, /closed .* Reopen/)

  const home = homeOf(account)
  for (const page of ['', '/payments', '/balance', '/withdrawals', '/keys', '/settings'])
    assert.match((await owner.get(home + page)).text, /^This account was closed on/, page)
  await gateway.db.query("update merchants set time_zone = 'Asia/Kolkata'")
  const [, closedAt = '', shown = ''] =
    /closed on <time datetime="([^"]*)">([^<]*)</.exec((await owner.get(home)).html) ?? []
  const at = { timeZone: 'Asia/Kolkata', hour: '2-digit', minute: '2-digit' } as const
  assert.ok(shown.endsWith(new Date(closedAt).toLocaleTimeString('en-GB', at)), shown)
  const link = await owner.post(`${home}/links`, { label: 'Tea', amount: '5', currency: 'USD' })
  assert.equal(link.status, 403)
  assert.match(link.text, /this account is closed/i)
  const point = await owner.post(`${home}/points-of-sale`, { name: 'Counter', currency: 'USD' })
  assert.equal(point.status, 403)
  assert.ok(await story.request('LTC', '0.5'), 'what it holds can be withdrawn')

  const reopened = await act('reopen', codeOf(secret, 1))
  assert.equal(reopened.done.location, `${PAGE}?done=account-reopened`)
  assert.doesNotMatch((await owner.get(home)).text, /closed/)
  const acts = (await listActs(gateway.db, { limit: 50 })).filter(({ action }) =>
    /^account\.(close|reopen)$/.test(action),
  )
  assert.deepEqual(
    acts.map(({ action, actor, accountId }) => [action, actor.kind, accountId]),
    [
      ['account.reopen', 'user', account.id],
      ['account.close', 'user', account.id],
    ],
  )
})
