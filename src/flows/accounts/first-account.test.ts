/** The account and the key that nobody asked for are in the audit log too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { listActs } from '../../audit/audit-log.sql.ts'
import { showId } from '../../core/ids.ts'
import { openFirstAccount } from './first-account.ts'

test('the account of a first start and its key stand in the audit log as Beck’s own, and a second start makes neither', async () => {
  const db = await testDatabase()
  const made = await openFirstAccount({ db })
  assert.ok(made)
  assert.equal(await openFirstAccount({ db }), null)
  const acts = (await listActs(db, { limit: 10 })).reverse()
  assert.deepEqual(
    acts.map(({ action, actor, accountId }) => [action, actor.kind, accountId]),
    [
      ['account.create', 'system', made.account.id],
      ['key.create', 'system', made.account.id],
    ],
  )
  assert.equal(acts[0]?.subject, showId('acct', made.account.id))
  assert.ok(!JSON.stringify(acts).includes(made.key))
})
