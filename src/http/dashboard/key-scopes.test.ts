/** Who may give a key what: the page offers no more than the server takes. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { listApiKeys } from '../../accounts/api-keys.sql.ts'
import { showId } from '../../core/ids.ts'
import { SCOPES } from '../../core/scopes.ts'
import { goLive, merchantOfAccount } from '../../flows/people/merchants.ts'

const gateway = await testGateway()
const app = await testApp(gateway)

test('a form of a live account offers a developer the scopes that he may give, and rolls no key with others', async () => {
  const account = await testAccount(gateway)
  const owner = await testPerson(gateway, app, { account, role: 'owner' })
  const developer = await testPerson(gateway, app, { account, role: 'developer' })
  const person = { userId: owner.userId, email: owner.email, name: '', sessionId: null, address: '' }
  const live = await gateway.db.transaction(async (tx) =>
    goLive(tx, person, (await merchantOfAccount(tx, account)).id),
  )
  const at = homeOf({ ...account, id: live })
  const offered = (html: string) =>
    [...html.matchAll(/name="scopes" value="([\w:]+)"/g)].map(([, value = '']) => value)
  const { html } = await developer.get(`${at}/keys/new`)
  const ticked = [...html.matchAll(/name="scopes" value="([\w:]+)" checked/g)].map(([, value = '']) => value)
  assert.ok(ticked.length > 0 && !offered(html).includes('balance:read'))
  assert.equal((await developer.post(`${at}/keys`, { name: 'Own', scopes: ticked })).status, 200)
  assert.equal((await developer.post(`${at}/keys`, { name: 'All', scopes: offered(html) })).status, 200)
  assert.equal(offered((await owner.get(`${at}/keys/new`)).html).length, SCOPES.length)

  await owner.post(`${at}/keys`, { name: 'Books', scopes: ['balance:read'] })
  const beyond = (await listApiKeys(gateway.db, live)).find(({ name }) => name === 'Books')
  const roll = `${at}/keys/${showId('key', beyond?.id ?? assert.fail())}/roll`
  const seen = (await developer.get(`${at}/keys`)).html
  assert.deepEqual([seen.includes(roll), seen.includes('aria-label="Roll Own"')], [false, true])
  assert.equal((await developer.get(roll)).status, 403)
  assert.ok((await owner.get(`${at}/keys`)).html.includes(roll))
})
