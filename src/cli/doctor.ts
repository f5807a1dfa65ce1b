/** `beck doctor`: looks at everything Beck stands on; each finding that is not fine says what to do. */
import { hasLiveAccount } from '../accounts/accounts.sql.ts'
import { type Config, readConfig } from '../config/config.ts'
import { openStore, type Store } from '../config/store.ts'
import { messageOf } from '../core/errors.ts'
import { openLog } from '../process/log.ts'
import { checkSigner } from '../process/signer-process.ts'
import { clock } from './doctor/clock.ts'
import { type Finding, wrong } from './doctor/finding.ts'
import { disk, keystore, nodeVersion, privateFiles, settings } from './doctor/host.ts'
import { chains, mails, rates } from './doctor/outside.ts'
import { redis } from './doctor/redis.ts'
import {
  alerts,
  database,
  hasLiveWallet,
  history,
  roles,
  secretKey,
  signerRuns,
  signers,
} from './doctor/storage.ts'
import type { Terminal } from './terminal.ts'

/** Ends with 1 when something is wrong; a warning alone does not. */
export async function diagnose(terminal: Terminal): Promise<void> {
  const findings = await Array.fromAsync(examine())
  const healthy = findings.every(({ state }) => state !== 'wrong')
  const signs = { fine: '  ok  ', warning: ' look ', wrong: 'WRONG ' }
  terminal.answer(
    { healthy, findings },
    findings.flatMap(({ about, state, message, advice }) => [
      `${signs[state]} ${about}: ${message}`,
      ...(advice ? [`        ${advice}`] : []),
    ]),
  )
  if (!healthy) process.exitCode = 1
}

async function* examine(): AsyncGenerator<Finding> {
  yield nodeVersion()
  let config: Config
  try {
    config = readConfig(process.env)
  } catch (error) {
    yield wrong('settings', messageOf(error), 'correct the variables; README.md lists them')
    return
  }
  yield* settings(config)
  let store: Store
  try {
    store = await openStore(config, openLog('silent'), 'tool')
  } catch (error) {
    yield wrong('database', messageOf(error), 'start PostgreSQL, or correct DATABASE_URL')
    return
  }
  try {
    yield await disk(config)
    const schema = await database(store)
    yield* schema
    if (schema.some(({ state }) => state === 'wrong')) return
    yield await secretKey(config, store)
    yield await history(store)
    yield await alerts(store)
    yield* privateFiles(config)
    yield* signers(store)
    const hasLive = await hasLiveAccount(store.db)
    const hasNodes = Object.values(config.nodes).some((node) => node !== null)
    const hasWallet = await hasLiveWallet(store)
    const need = { isNeeded: hasLive || hasNodes, hasWallet, signerRuns: await signerRuns(store) }
    yield* keystore(config, process.env, need, () => checkSigner(store))
    yield* await chains(config, store)
    yield await rates(config, hasLive)
    yield* redis(config)
    yield* roles(store)
    yield* mails(config)
    if (hasLive && config.fixedRates === null) yield await clock()
  } finally {
    await store.close()
  }
}
