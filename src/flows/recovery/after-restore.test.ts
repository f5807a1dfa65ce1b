/** Addresses that a restored database does not know it handed out are handed out to nobody else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPayment } from '../../../test/gateway.ts'
import { tellStory } from '../../../test/story.ts'
import { countIssuedLately } from '../../wallets/address-pool.sql.ts'

test('what the chain shows paid and nobody remembers handing out withholds all that came before it', async () => {
  const story = await tellStory()
  const { db } = story.gateway
  const known = await testPayment(story.gateway, story.account)
  const { rows } = await db.query<{ address: string; position: bigint }>(
    `select address, position from addresses
     where chain = 'sim-litecoin' and branch = 0 and issued_at is null order by position offset 4 limit 1`,
  )
  const forgotten = rows[0] ?? assert.fail('the pool has addresses')
  await story.pay({ ...known, address: forgotten.address }, 1_000_000n)
  await story.mine(1)
  await story.look()

  const next = await testPayment(story.gateway, story.account)
  const given = await db.query<{ position: bigint }>('select position from addresses where address = $1', [
    next.address,
  ])
  assert.ok(Number(given.rows[0]?.position) > Number(forgotten.position))
  const { rows: pool } = await db.query<{ withheld: boolean; below: boolean }>(
    `select withheld, position <= $1 as below from addresses
     where chain = 'sim-litecoin' and branch = 0 and issued_at is null`,
    [forgotten.position],
  )
  assert.ok(pool.length > 0)
  assert.ok(pool.every(({ withheld, below }) => withheld === below))
})

test('as many are withheld ahead as business of an equal time before the backup asks for', async () => {
  const { gateway, account } = await tellStory()
  await gateway.db.query('delete from addresses where issued_at is not null')
  // The backup is two hours old; six payments were made in the two hours before it, and three before that.
  await gateway.db.query(
    `insert into addresses (chain, lookup, address, branch, position, series, mac, account_id, payment_id, issued_at)
     select 'litecoin', sha256(n::text::bytea), 'old ' || n, 0, n, 'old', sha256('mac'), $1, gen_random_uuid(),
       now() - interval '2 hours' - n * interval '21 minutes' from generate_series(0, 8) as n`,
    [account.id],
  )
  const issued = await countIssuedLately(gateway.db)
  assert.deepEqual([issued.get('litecoin'), issued.get('bitcoin')], [6, undefined])
})
