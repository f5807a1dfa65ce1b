/** Whoever reads the log finds who was refused, from where, and why: on pages as on the API. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { testPerson, visit } from '../../../test/dashboard.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { showId } from '../../core/ids.ts'
import { SILENT } from '../../core/log.ts'

const lines: Record<string, unknown>[] = []
const log = { ...SILENT, info: (line: object) => void lines.push({ ...line }) }
const gateway = { ...(await testGateway()), log }
const hosted = { limits: { pages: { perSecond: 1 / 3_600, burst: 1 } } }
const app = await testApp(gateway, { trustProxy: 'loopback', hosted })
const account = await testAccount(gateway)
const STRANGER = { 'x-forwarded-for': '198.51.100.7' }
const OWN = { 'sec-fetch-site': 'same-origin', ...STRANGER }

const lastLine = () => {
  const { status, address, reason } = lines.at(-1) ?? {}
  return [status, address, reason]
}

test('a refusal of the dashboard is logged with its address and its reason', async () => {
  const stranger = visit(app)
  await stranger.post('/dashboard/sign-in', {}, { origin: 'https://evil.example', ...STRANGER })
  assert.deepEqual(lastLine(), [403, '198.51.100.7', 'foreign_form'])
  const wrong = { email: 'nobody@example.com', password: 'quiet amber lantern' }
  await stranger.post('/dashboard/sign-in', wrong, OWN)
  assert.deepEqual(lastLine(), [401, '198.51.100.7', 'wrong_password'])
  for (let time = 0; time < 10; time++) await stranger.post('/dashboard/sign-in', wrong, OWN)
  assert.deepEqual(lastLine(), [403, '198.51.100.7', 'too_many_attempts'])
  const viewer = await testPerson(gateway, app, { account, role: 'viewer' })
  await viewer.post(`/dashboard/${showId('acct', account.id)}/keys`, { name: 'x' }, OWN)
  assert.deepEqual(lastLine(), [403, '198.51.100.7', 'missing_permission'])
})

test('and so is one of a hosted page', async () => {
  const path = `/checkout/cs_${'a'.repeat(26)}`
  await app.inject({ url: path, headers: STRANGER })
  await app.inject({ url: path, headers: STRANGER })
  assert.deepEqual(lastLine(), [429, '198.51.100.7', 'rate_limit_exceeded'])
})
