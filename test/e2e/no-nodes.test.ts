/** Commands that prove or search the chains, run where no node is set: they say so, and do not end as if all were well. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freeze } from '../../src/ledger/freezes.sql.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabase } from '../database.ts'
import { fillTestWallets, TEST_SECRET_KEY } from '../wallet.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'beck-no-nodes-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const db = await testDatabase()
const env = {
  DATABASE_URL: db.url,
  BECK_SECRET_KEY: TEST_SECRET_KEY.toString('hex'),
  BECK_DATA_DIR: dataDir,
}
await fillTestWallets(db, { freshPerChain: 1, chains: ['bitcoin', 'sim-bitcoin'] })

async function command(...args: readonly string[]) {
  const beck = startBeckProcess(args, env)
  return { code: await beck.ended, said: beck.said[0] }
}

test('a search of the wallets names the live ones that nobody was asked about, and fails', async () => {
  assert.deepEqual(await command('wallet', 'find', '--gap', '1'), {
    code: 1,
    said: { finds: [], recorded: {}, not_searched: ['bitcoin'] },
  })
})

test('coins of a chain that was followed elsewhere stay frozen, and the command that was to lift them fails', async () => {
  await db.query(
    `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time) values ('bitcoin', 'BTC', 'x', 1, 'x', now())`,
  )
  await freeze(db, 'bitcoin', 'BTC', 'restored')
  await freeze(db, 'litecoin', 'LTC', 'restored')
  const unproven = [{ chain: 'bitcoin', reason: 'no node is set for it here' }]
  const looked = await command('reconcile')
  assert.deepEqual([looked.code, looked.said], [0, { ...(looked.said as object), balances: false, unproven }])
  const { code, said } = await command('reconcile', '--unfreeze')
  assert.equal(code, 1)
  assert.deepEqual(said, {
    ...(said as object),
    unproven,
    unfrozen: [{ chain: 'litecoin', asset: 'LTC' }],
    stillFrozen: [
      {
        chain: 'bitcoin',
        asset: 'BTC',
        reason: 'not compared with the chain: no node is set for it here',
      },
    ],
  })
})
