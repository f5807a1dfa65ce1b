/** What forms may cost: those of strangers, of people who are signed in, and the dearest of those that are taken. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import test from 'node:test'
import { testApp } from '../../test/api.ts'
import { OWN_FORM, testPerson } from '../../test/dashboard.ts'
import { testAccount, testGateway } from '../../test/gateway.ts'
import { showId } from '../core/ids.ts'
import { readPayoutFile } from '../withdrawals/payout-file.ts'
import { readDashboardForm, readFileForm } from './dashboard/form.ts'
import { readForm } from './hosted/forms.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
await app.listen({ port: 0, host: '127.0.0.1' })
const account = await testAccount(gateway)
const person = await testPerson(gateway, app, { account, role: 'owner' })
const CHECK = `/dashboard/${showId('acct', account.id)}/withdrawals/batches/check`

const URL_ENCODED = 'application/x-www-form-urlencoded'
const BOUNDARY = '----WebKitFormBoundary0123456789abcdef'
const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`
/** A megabyte, as the forms of payouts may have. */
const LARGEST = 1_000_000
const MANY_FIELDS = 'a&'.repeat(LARGEST / 2)
/** Before fields were counted, each of these held the process for seconds; what is left is the time to send a megabyte. */
const MS_MAX = 600

/** Of this process's processor time: what others on the machine do does not count. */
const msSince = (began: NodeJS.CpuUsage): number => process.cpuUsage(began).user / 1_000

interface Sent {
  readonly type?: string
  readonly cookie?: string
  readonly body: string
}

/** @returns The status of the answer, and how long nobody else could be answered. */
async function post(path: string, { type = URL_ENCODED, cookie = '', body }: Sent) {
  const address = app.server.address()
  assert.ok(address && typeof address === 'object')
  const socket = connect({ port: address.port, host: '127.0.0.1' }).setEncoding('latin1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  const headers = { host: 'x', ...OWN_FORM, 'content-type': type, 'content-length': body.length, cookie }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const began = process.cpuUsage()
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  socket.write(Buffer.from(body, 'latin1'))
  const [answer] = await once(socket, 'data')
  await new Promise(setImmediate)
  const ms = msSince(began)
  socket.destroy()
  return { status: Number(String(answer).slice(9, 12)), ms }
}

test('a stranger’s megabyte of fields is not read: he is sent to sign in', async () => {
  for (const path of [CHECK, '/dashboard/x/withdrawals/batches', '/dashboard/x/withdrawals/batches/check']) {
    const { status, ms } = await post(path, { body: MANY_FIELDS })
    assert.equal(status, 303)
    assert.ok(ms < MS_MAX, `${ms} ms`)
  }
  // With a cookie of the right shape, that is nobody's.
  const { status, ms } = await post(CHECK, { body: MANY_FIELDS, cookie: `beck=${'a'.repeat(43)}` })
  assert.equal(status, 303)
  assert.ok(ms < MS_MAX, `${ms} ms`)
})

test('the forms that strangers may send are small, and counted before they are read', async () => {
  const began = process.cpuUsage()
  for (let time = 0; time < 20; time++) {
    const large = await post('/dashboard/sign-in', { body: 'a&'.repeat(64 * 1024) })
    assert.equal(large.status, 413)
    const small = await post('/dashboard/sign-in', { body: 'a&'.repeat(8 * 1024) })
    assert.equal(small.status, 400)
  }
  const ms = msSince(began)
  assert.ok(ms < MS_MAX, `${ms} ms`)
})

test('a megabyte of fields of somebody who is signed in is counted before it is read, of either kind', async () => {
  const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n`
  const parts = part.repeat(Math.floor(LARGEST / part.length) - 1)
  for (const sent of [{ body: MANY_FIELDS }, { type: MULTIPART, body: `${parts}--${BOUNDARY}--\r\n` }]) {
    const { status, ms } = await post(CHECK, { ...sent, cookie: person.cookie })
    assert.equal(status, 400)
    assert.ok(ms < MS_MAX, `${ms} ms`)
  }
})

test('an address with thousands of parameters costs a page of the dashboard next to nothing', async () => {
  const query = Array.from({ length: 3_600 }, (_, n) => n.toString(36)).join('&')
  const began = process.cpuUsage()
  for (let time = 0; time < 100; time++) {
    const { statusCode } = await app.inject({ url: `/dashboard/x/payments?${query}` })
    assert.equal(statusCode, 400)
  }
  const ms = msSince(began)
  assert.ok(ms < MS_MAX, `${ms} ms`)
})

test('a form of a hosted page with too many fields costs next to nothing', () => {
  const body = Buffer.from('a&'.repeat(4 * 1024))
  const began = process.cpuUsage()
  for (let time = 0; time < 3_000; time++) assert.throws(() => readForm(body), { reason: 'malformed_form' })
  const ms = msSince(began)
  assert.ok(ms < MS_MAX, `${ms} ms`)
})

test('a hundred fields are read, and one more is not', async () => {
  const fields = (count: number) => Buffer.from(Array.from({ length: count }, (_, n) => `a=${n}`).join('&'))
  assert.equal(readDashboardForm(fields(100)).all('a').length, 100)
  assert.throws(() => readDashboardForm(fields(101)), { reason: 'malformed_form' })
  assert.equal(readForm(fields(20)).get('a'), '19')
  assert.throws(() => readForm(fields(21)), { reason: 'malformed_form' })
  const parts = (count: number) =>
    Buffer.from(
      `${`--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n`.repeat(count)}--${BOUNDARY}--\r\n`,
    )
  assert.equal((await readFileForm(MULTIPART, parts(100))).all('a').length, 100)
  await assert.rejects(readFileForm(MULTIPART, parts(101)), { reason: 'malformed_form' })
  // A second boundary in the header is not looked for: what is counted is what is read.
  for (const type of [`${MULTIPART}; boundary=x`, 'multipart/form-data', `${MULTIPART}\\x`])
    await assert.rejects(readFileForm(type, parts(1)), { reason: 'malformed_form' })
})

/** The dearest bytes of each kind: what is decoded, replaced, trimmed, and counted in lines. */
const BYTES = [
  '%00',
  '%0A',
  '%ff',
  '+',
  '%',
  '\xe2\x82\xac',
  '\xff',
  '=',
  ',',
  '%22',
  '\n',
  '%EF%BB%BF',
] as const

test('the dearest megabyte that is taken costs less than a tenth of what fields did', async () => {
  const dearest = async (what: string, read: () => unknown) => {
    const began = process.cpuUsage()
    await read()
    const ms = msSince(began)
    assert.ok(ms < MS_MAX, `${what}: ${ms} ms`)
  }
  for (const bytes of BYTES) {
    const filled = (length: number) => bytes.repeat(Math.floor(length / bytes.length))
    const one = (name: string) => Buffer.from(`${name}=${filled(LARGEST - 10)}`, 'latin1')
    const hundred = Buffer.from(
      Array.from({ length: 100 }, (_, n) => `a${n}=${filled(LARGEST / 100 - 10)}`).join('&'),
      'latin1',
    )
    await dearest(`a name of ${bytes}`, () => readDashboardForm(Buffer.from(filled(LARGEST), 'latin1')))
    await dearest(`a note of ${bytes}`, () => readDashboardForm(one('note')))
    await dearest(`a hundred of ${bytes}`, () => readDashboardForm(hundred))
    await dearest(`payouts of ${bytes}`, () =>
      readPayoutFile(readDashboardForm(one('payouts')).get('payouts')),
    )
    const file = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n`
    const body = Buffer.from(`${file}${filled(LARGEST - 200)}\r\n--${BOUNDARY}--\r\n`, 'latin1')
    await dearest(`a file of ${bytes}`, () => readFileForm(MULTIPART, body))
  }
})
