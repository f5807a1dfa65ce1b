/**
 * `npm run dev`: Beck for whoever changes it. The database stays up, the server starts again when a source changes, and a
 * shop with a month behind it is there from the first time on. What it keeps is in data-dev; delete the folder to begin anew.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { insertAccount } from '../src/accounts/accounts.sql.ts'
import { createApiKey } from '../src/accounts/api-keys.sql.ts'
import { keepSecretKey } from '../src/config/secret-key.ts'
import { showId } from '../src/core/ids.ts'
import { SCOPES } from '../src/core/scopes.ts'
import { openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { DEV_DIR, type DevPlace, findPlace, writePlace } from './place.ts'

const PORT = process.env.PORT ?? '8080'
const say = (line: string) => process.stdout.write(`dev: ${line}\n`)

const cluster = await startCluster({ dataDir: DEV_DIR })
const secretKey = await keepSecretKey(DEV_DIR)
const place = await openShop()
const isNew = place.isNew

/** Builds the pages' files when one of their sources changes. */
const builder = spawn(
  process.execPath,
  ['--watch', '--watch-path=web', '--watch-preserve-output', 'dev/build-web.ts'],
  { stdio: ['ignore', 'ignore', 'inherit'] },
)
const server = spawn(
  process.execPath,
  [
    '--watch',
    '--watch-path=src',
    '--watch-path=web/built',
    '--watch-preserve-output',
    'src/cli/beck.ts',
    'start',
  ],
  {
    stdio: 'inherit',
    env: {
      BECK_WEBHOOK_ALLOW_PRIVATE: '1',
      BECK_LOG_LEVEL: 'warn',
      ...process.env,
      PORT,
      BECK_DATA_DIR: DEV_DIR,
      DATABASE_URL: place.databaseUrl,
      BECK_SECRET_KEY: secretKey.toString('hex'),
    },
  },
)
say(`the shop's key: ${place.key} (kept in data-dev/dev.json)`)
let seed: ChildProcess | undefined
if (isNew) {
  say('a month of payments is being made; this takes a minute, and you can work meanwhile')
  seed = spawn(process.execPath, ['dev/seed.ts'], { stdio: 'inherit' })
}

let ending = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    if (!ending) server.kill('SIGTERM')
    ending = true
  })
server.on('exit', async () => {
  builder.kill()
  seed?.kill()
  await cluster.stop()
  process.exit(0)
})

/** The shop of the first time, or the one that is there; its database may answer at another port than the last time. */
async function openShop(): Promise<DevPlace & { isNew: boolean }> {
  const databaseUrl = cluster.url('postgres')
  const api = `http://localhost:${PORT}`
  const known = await findPlace()
  const db = openDatabase({ url: databaseUrl, connectionsMax: 1 })
  try {
    await migrate(db)
    if (known) {
      const same = { ...known, databaseUrl, api }
      await writePlace(same)
      return { ...same, isNew: false }
    }
    const account = await insertAccount(db, {
      name: 'Corner Shop',
      email: 'shop@example.com',
      mode: 'test',
      currency: 'EUR',
    })
    const { key } = await createApiKey(db, {
      accountId: account.id,
      mode: 'test',
      name: 'development',
      scopes: SCOPES,
    })
    const made = { databaseUrl, api, accountId: showId('acct', account.id), key }
    await writePlace(made)
    return { ...made, isNew: true }
  } finally {
    await db.close()
  }
}
