import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testGateway } from '../../test/gateway.ts'
import { listActsOf } from './list-acts.sql.ts'

test('a page behind a thousand acts is found like the first', async () => {
  const gateway = await testGateway()
  const account = await testAccount(gateway)
  await gateway.db.query(
    `insert into audit_log (id, account_id, actor_kind, action, subject, at)
     select gen_random_uuid(), $1, 'system', 'key.revoke', 'key_' || n, now() - make_interval(secs => n) from generate_series(1, 1100) n`,
    [account.id],
  )
  for (const [page, first] of [
    [1, 'key_1'],
    [11, 'key_1001'],
  ] as const) {
    const { items, total } = await listActsOf(gateway.db, account.id, { page, limit: 100 })
    assert.deepEqual([items[0]?.subject, items.length, total], [first, 100, 1_100])
  }
})
