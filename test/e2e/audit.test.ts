/** Every command that changes something is in the audit log, with who ran it where; `beck audit` shows and proves it. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'beck-audit-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const url = await testDatabaseUrl()
const environment = {
  DATABASE_URL: url,
  BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
  BECK_DATA_DIR: dataDir,
  BECK_KEYSTORE_PASSPHRASE: 'correct horse battery staple',
  SSH_CONNECTION: '203.0.113.9 50000 192.0.2.1 22',
}

/** What a command prints, and how it ended. */
async function beck(...args: readonly string[]) {
  const command = startBeckProcess(args, environment)
  const answer = await command.hears(() => true)
  return { answer, code: await command.ended }
}

interface ShownAct {
  readonly action: string
  readonly subject: string | null
  readonly actor: object
  readonly address: string
  readonly after: Record<string, unknown> | null
  readonly before: Record<string, unknown> | null
}

const listed = async (...args: readonly string[]) =>
  ((await beck('audit', 'list', ...args)).answer.acts as ShownAct[]).reverse()

test('commands leave a record of who ran them where and what they changed', async () => {
  const draft = ['--name', 'Shop', '--email', 'shop@example.com', '--mode', 'live']
  const { answer: account } = await beck('accounts', 'create', ...draft)
  const id = String(account.id)
  await beck('accounts', 'set', '--account', id, '--brand-name', 'Tea', '--late-funds', 'accept')
  const { answer: key } = await beck('keys', 'create', '--account', id, '--name', 'till', '--scopes', 'all')
  await beck('keys', 'revoke', String(key.id))
  await beck('wallet', 'init')
  await beck('wallet', 'show')
  await beck('backup', join(dataDir, 'backup'))
  const acts = await listed()
  assert.deepEqual(
    acts.map(({ action, subject }) => [action, subject]),
    [
      ['account.create', id],
      ['account.change', id],
      ['key.create', key.id],
      ['key.revoke', key.id],
      ['wallet.init', null],
      ['backup.make', join(dataDir, 'backup')],
    ],
  )
  for (const { actor, address } of acts) {
    assert.deepEqual(actor, { kind: 'cli', id: process.env.SUDO_USER ?? userInfo().username, name: null })
    assert.equal(address, '203.0.113.9')
  }
  const change = acts[1]
  assert.deepEqual(change?.before, { brand_name: null, accepts_late_funds: false })
  assert.deepEqual(change?.after, { brand_name: 'Tea', accepts_late_funds: true })
  assert.ok(!JSON.stringify(acts).includes(String(key.key)), 'no secret is in it')
  assert.equal((await listed('--account', id)).length, 4)
})

test('a whole log verifies, one with an act less does not, and one without its end does not against a noted end', async () => {
  const whole = await beck('audit', 'verify')
  assert.equal(whole.code, 0)
  assert.equal(whole.answer.entries, 6)
  const head = String(whole.answer.head)
  const db = openDatabase({ url, connectionsMax: 1 })
  after(() => db.close())
  const without = async (condition: string, ...args: readonly string[]) => {
    const { rows } = await db.query<{ whole: object }>(
      `select coalesce(json_agg(a), '[]') as whole from audit_log a where ${condition}`,
    )
    await db.transaction(async (tx) => {
      await tx.query('alter table audit_log disable trigger user')
      await tx.query(`delete from audit_log where ${condition}`)
    })
    const verified = await beck('audit', 'verify', ...args)
    await db.query('insert into audit_log select * from json_populate_recordset(null::audit_log, $1::json)', [
      JSON.stringify(rows[0]?.whole),
    ])
    return verified
  }
  const holed = await without('place = 3')
  assert.equal(holed.code, 1)
  assert.equal(holed.answer.broken, 'there is no act at place 3')
  const cut = await without('place = 6', '--head', head)
  assert.equal(cut.code, 1)
  assert.equal(cut.answer.broken, 'there is no act at place 6')
})
