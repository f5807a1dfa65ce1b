/** A gateway for live coins as its operator runs it: set up and asked with the command line and the API alone. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { freePort } from '../src/db/embedded/embedded.ts'
import { type BeckProcess, startBeckProcess } from './beck-process.ts'
import { testDatabaseUrl } from './database.ts'
import { type Answer, type Call, callsTo } from './installation.ts'

export interface LiveInstallation {
  readonly dataDir: string
  /** Starts Beck and waits until it is ready. */
  start(): Promise<BeckProcess>
  /** What a command of `beck` prints. */
  beck(...args: readonly string[]): Promise<Answer>
  /** A live account with a key of all scopes. @returns The way to call its API, and the account's id. */
  openAccount(): Promise<Call & { readonly accountId: string }>
}

/** @param nodes - The nodes, and what else is to be set on top of fixed rates and a closed network. */
export async function liveInstallation(nodes: Readonly<Record<string, string>>): Promise<LiveInstallation> {
  const port = await freePort()
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-live-'))
  after(() => rm(dataDir, { recursive: true, force: true }))
  const environment = {
    PORT: String(port),
    BECK_DATA_DIR: dataDir,
    BECK_SECRET_KEY: Buffer.alloc(32, 7).toString('hex'),
    BECK_KEYSTORE_PASSPHRASE: 'correct horse battery staple',
    BECK_RATES: 'fixed:BTC/USD=65000,LTC/USD=100,ETH/USD=2500,USDC/USD=1,USDT/USD=1',
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
    BECK_SANDBOX_BLOCK_MS: '0',
    ...nodes,
    DATABASE_URL: nodes.DATABASE_URL ?? (await testDatabaseUrl()),
  }
  const beck: LiveInstallation['beck'] = async (...args) => {
    const command = startBeckProcess(args, environment)
    const answer = await command.hears(() => true)
    assert.equal(await command.ended, 0)
    return answer
  }
  return {
    dataDir,
    beck,
    async start() {
      const running = startBeckProcess(['start'], environment)
      await running.hears((object) => 'url' in object)
      return running
    },
    async openAccount() {
      const draft = ['--name', 'Shop', '--email', 'shop@example.com', '--mode', 'live', '--currency', 'USD']
      const account = await beck('accounts', 'create', ...draft)
      const { key } = await beck(
        'keys',
        'create',
        '--account',
        account.id,
        '--name',
        'all',
        '--scopes',
        'all',
      )
      return Object.assign(callsTo(`http://127.0.0.1:${port}`, key), { accountId: String(account.id) })
    },
  }
}
