/** `beck restored`: a database that PostgreSQL's own means brought back is held as one of `beck restore` is. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openDatabase } from '../../src/db/database.ts'
import { listFreezes } from '../../src/ledger/freezes.sql.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { fillTestWallets, TEST_SECRET_KEY } from '../wallet.ts'

test('nothing live is paid out, no sender is trusted and no fresh address is handed out; not beside a server', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-restored-'))
  after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
  const url = await testDatabaseUrl()
  const env = {
    DATABASE_URL: url,
    BECK_SECRET_KEY: TEST_SECRET_KEY.toString('hex'),
    BECK_DATA_DIR: dataDir,
  }
  // As a server is connected.
  const server = openDatabase({ url })
  await fillTestWallets(server, { freshPerChain: 3, chains: ['bitcoin'] })
  await server.query(`insert into nonces (chain, sender, next) values ('ethereum', '0x1', 7)`)
  const refused = startBeckProcess(['restored'], env)
  assert.equal(await refused.ended, 1)
  assert.match(JSON.stringify(refused.said), /server_running/)
  assert.deepEqual(await listFreezes(server), [], 'a refusal changes nothing')
  await server.close()

  const restored = startBeckProcess(['restored'], env)
  assert.equal(await restored.ended, 0)
  assert.deepEqual(restored.said, [{ frozen: ['BTC', 'LTC', 'ETH', 'USDC', 'USDT'] }])
  const db = openDatabase({ url })
  after(() => db.close())
  assert.equal((await listFreezes(db)).length, 5)
  assert.equal((await db.query('select from nonces')).rowCount, 0)
  const { rows } = await db.query(
    'select chain, bool_and(withheld) as withheld, count(*) > 2000 as ahead from addresses where branch = 0 group by 1 order by 1',
  )
  assert.ok(rows.length > 0)
  for (const { withheld, ahead } of rows as { withheld: boolean; ahead: boolean }[])
    assert.deepEqual([withheld, ahead], [true, true])
})
