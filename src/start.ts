/**
 * How a start begins: with what takes longest. PostgreSQL is made, or started, before the modules that wait for it are read;
 * on a machine with two processors they take the same time.
 */
import type { Config } from './config/config.ts'
import { openStore } from './config/store.ts'
import type { Log } from './core/log.ts'
import { requirePort } from './http/port.ts'
import type { Beck } from './main.ts'
import { RUNS, type Share } from './process/shares.ts'

/**
 * @param showsSecrets - Whether what this start says may hold a key or a link: only then is one made.
 * @throws {Refusal} when Beck cannot run here, saying what to do. Whatever was started by then is closed again.
 */
export async function startBeck(config: Config, share: Share, log: Log, showsSecrets = false): Promise<Beck> {
  // Before anything is made: a first start that ends here would have shown its key to nobody.
  if (RUNS[share].includes('api')) await requirePort(config.port, config.host ?? undefined)
  const { promise: isUnderway, resolve: underway } = Promise.withResolvers<void>()
  const opening = openStore(config, log, 'server', underway)
  await Promise.race([isUnderway, opening])
  const { runBeck } = await import('./main.ts').catch(async (error) => {
    await opening.then(
      (store) => store.close(),
      () => {},
    )
    throw error
  })
  return runBeck(config, share, log, { opening, showsSecrets })
}
