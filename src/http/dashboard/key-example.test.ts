/** The command beside a fresh key does what it says, with nothing to fill in. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp } from '../../../test/api.ts'
import { homeOf, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { listApiKeys } from '../../accounts/api-keys.sql.ts'
import { showId } from '../../core/ids.ts'
import type { Database } from '../../db/database.ts'
import { changeAccount } from '../../flows/accounts/change-account.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const account = await testAccount(gateway)
const home = homeOf(account)
const dev = await testPerson(gateway, app, { account, role: 'developer' })

/** The only command of a page, taken apart. */
function commandOf(html: string) {
  const [, text = ''] = /data-copy="(curl[^"]*)"/.exec(html) ?? []
  const command = text.replaceAll('&quot;', '"').replaceAll('&#39;', "'")
  const [, path = ''] = /^curl http:\/\/127\.0\.0\.1:8080\/v1(\/[a-z-]+)/.exec(command) ?? []
  const [, key = ''] = /-H 'X-API-Key: ([^']+)'/.exec(command) ?? []
  const [, body] = /-d '([^']+)'/.exec(command) ?? []
  return { command, path, key, body: body === undefined ? undefined : JSON.parse(body) }
}

const run = async (scopes: readonly string[]) => {
  const made = await dev.post(`${home}/keys`, { name: 'Shop', scopes })
  assert.equal(made.status, 200, made.text)
  const { path, key, body, command } = commandOf(made.html)
  const answer = await call(app, key, body ? 'POST' : 'GET', path, body ? { body } : {})
  return { command, status: answer.status, data: answer.data }
}

test('a key that may make payments makes one, in a coin that the shop takes', async () => {
  const first = await run(['payments:write', 'payments:read'])
  assert.deepEqual([first.status, first.data?.asset], [201, 'LTC'], first.command)
  await gateway.db.transaction((tx) => changeAccount(tx, account.id, { offeredAssets: ['BTC'] }))
  const second = await run(['payments:write'])
  assert.deepEqual([second.status, second.data?.asset], [201, 'BTC'], second.command)
})

test('a key that only reads reads what it may; one that does neither is shown without a command', async () => {
  for (const scope of ['payments:read', 'balance:read', 'customers:read', 'withdrawals:read'])
    assert.equal((await run([scope])).status, 200, scope)
  for (const scope of ['payment_links:read', 'webhooks:read'])
    assert.equal((await run([scope])).status, 200, scope)
  const { html, text } = await dev.post(`${home}/keys`, { name: 'Links', scopes: ['payment_links:write'] })
  assert.deepEqual([commandOf(html).command, /Try it/.test(text)], ['', false])
})

test('a key is shown, made or rolled, when nothing can be said of coins: without a command that pays', async () => {
  const live = await testAccount(gateway, 'live')
  const query: Database['query'] = async (text, ...rest) => {
    if (text.includes('from chains')) throw new Error('canceling statement due to statement timeout')
    return gateway.db.query(text, ...rest)
  }
  const hurt = { ...gateway, db: { ...gateway.db, query } }
  const owner = await testPerson(hurt, await testApp(hurt), { account: live, role: 'owner' })
  const keys = `${homeOf(live)}/keys`
  const shows = async (path: string, fields: Parameters<typeof owner.post>[1]) => {
    const { status, html, text } = await owner.post(path, fields)
    assert.equal(status, 200, text)
    assert.deepEqual([commandOf(html).command, /Try it/.test(text)], ['', false])
    const [, key = ''] = /data-copy="(bk_[^"]+)"/.exec(html) ?? []
    assert.equal((await call(app, key, 'GET', '/payments')).status, 200, text)
  }
  await shows(keys, { name: 'Shop', scopes: ['payments:write', 'payments:read'] })
  const [made] = await listApiKeys(gateway.db, live.id)
  assert.ok(made)
  await shows(`${keys}/${showId('key', made.id)}/roll`, { overlap: '0', expires: '' })
})

test('no other page has a key in its command: the quickstart says where one comes from', async () => {
  const { html, text } = await dev.get(`${home}/quickstart`)
  assert.equal(commandOf(html).key, 'YOUR_KEY')
  assert.match(text, /Create a key : the page that shows it, once, has this command/)
})
