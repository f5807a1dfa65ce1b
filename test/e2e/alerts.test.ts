/** Alerts as their operator meets them: listed, acknowledged, and open again when something new is said. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { raiseAlert } from '../../src/alerts/alerts.sql.ts'
import { openDatabase } from '../../src/db/database.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'beck-alerts-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const url = await testDatabaseUrl()
const settings = {
  DATABASE_URL: url,
  BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
  BECK_DATA_DIR: dataDir,
}
const db = openDatabase({ url, connectionsMax: 1 })
after(() => db.close())

interface Shown {
  readonly id: string
  readonly message: string
  readonly acknowledged_by: string | null
}

async function beck(...args: string[]) {
  const command = startBeckProcess(args, settings)
  const code = await command.ended
  const [answer = assert.fail('it said nothing')] = command.said
  return { code, answer }
}
const open = async () => (await beck('alerts', 'list')).answer.alerts as Shown[]
const raise = (subject: string, message: string) =>
  raiseAlert(db, { kind: 'books_disagree', accountId: null, subject, message })

test('an alert is open until somebody says that he has looked, and stays listed with who it was', async () => {
  assert.deepEqual(await open(), [])
  await raise('litecoin LTC', 'found 1 less')
  await raise('bitcoin BTC', 'found 2 less')
  await raise('bitcoin BTC', 'found 2 less')
  const alerts = await open()
  assert.deepEqual(
    alerts.map(({ message }) => message),
    ['found 2 less', 'found 1 less'],
  )
  const [first = assert.fail()] = alerts
  const { code, answer } = await beck('alerts', 'ack', first.id)
  assert.deepEqual([code, (answer.acknowledged as Shown[]).length], [0, 1])
  assert.deepEqual(
    (await open()).map(({ message }) => message),
    ['found 1 less'],
  )
  const all = (await beck('alerts', 'list', '--all')).answer.alerts as Shown[]
  assert.deepEqual(
    all.map(({ acknowledged_by }) => acknowledged_by),
    ['command line', null],
  )
})

test('the same said again stays acknowledged; something else of the same subject opens it', async () => {
  await raise('bitcoin BTC', 'found 2 less')
  assert.equal((await open()).length, 1)
  await raise('bitcoin BTC', 'found 3 less')
  assert.deepEqual(
    (await open()).map(({ message }) => message),
    ['found 3 less', 'found 1 less'],
  )
  await beck('alerts', 'ack', '--all')
  assert.deepEqual(await open(), [])
})

test('what is no alert is refused, and nothing is acknowledged by mistake', async () => {
  for (const [args, reason] of [
    [[], 'usage'],
    [['01890000-0000-7000-8000-000000000000', '--all'], 'usage'],
    [['everything'], 'invalid_alert'],
  ] as const) {
    const { code, answer } = await beck('alerts', 'ack', ...args)
    assert.equal(code, 1)
    assert.equal((answer.error as { reason: string }).reason, reason)
  }
})
