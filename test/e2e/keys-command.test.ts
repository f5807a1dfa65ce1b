/** `beck keys create` for somebody who lost the key of his first start, or has not read the guide. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { SCOPES } from '../../src/core/scopes.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'beck-keys-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const settings = {
  DATABASE_URL: await testDatabaseUrl(),
  BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
  BECK_DATA_DIR: dataDir,
}

async function beck(...args: string[]): Promise<Record<string, unknown>> {
  const command = startBeckProcess(args, settings)
  await command.ended
  return command.said[0] ?? assert.fail('it said nothing')
}
const create = (name: string, mode: string) =>
  beck('accounts', 'create', '--name', name, '--email', `${mode}@example.com`, '--mode', mode)
const refusal = ({ error }: Record<string, unknown>) => error as { reason: string; message: string }

test('a lost key of the only test account is made anew without naming anything', async () => {
  assert.equal(refusal(await beck('keys', 'create')).reason, 'missing_account')
  const account = await create('Shop', 'test')
  const made = await beck('keys', 'create')
  assert.equal(made.account_id, account.id)
  assert.deepEqual(made.scopes, SCOPES)
  assert.match(String(made.key), /^bk_test_/)
  const { keys } = await beck('keys', 'list')
  assert.deepEqual(
    (keys as { id: unknown }[]).map(({ id }) => id),
    [made.id],
  )
})

test('with more than one account the choice is asked for by name, and a live key needs its scopes', async () => {
  const live = await create('Real', 'live')
  const { reason, message } = refusal(await beck('keys', 'create'))
  assert.equal(reason, 'missing_account')
  assert.match(message, /Shop.*Real|Real.*Shop/)
  assert.equal(refusal(await beck('keys', 'list')).reason, 'missing_account')
  assert.equal(refusal(await beck('keys', 'create', '--account', String(live.id))).reason, 'missing_scopes')
})

test('an account that is made twice is told, and is given another name', async () => {
  const first = await create('Twice', 'test')
  const again = await create('Twice', 'test')
  assert.ok((again.same_email as string[]).includes(String(first.id)))
  const renamed = await beck('accounts', 'set', '--account', String(again.id), '--name', 'Once')
  assert.equal(renamed.name, 'Once')
  assert.equal(
    refusal(await beck('accounts', 'set', '--account', String(again.id), '--name', ' ')).reason,
    'invalid_name',
  )
})
