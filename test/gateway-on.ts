/** A gateway on a database that is there already, for tests, the simulation and benchmarks: fixed rates, nothing running. */
import { SIMULATED_TOKENS } from '../src/chains/simulated/network.ts'
import { MAINNET_TOKENS } from '../src/core/assets.ts'
import { type Log, SILENT } from '../src/core/log.ts'
import type { Secrets } from '../src/core/secrets.ts'
import type { Database } from '../src/db/database.ts'
import { openDatabaseClock } from '../src/flows/database-clock.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { fixedRates } from '../src/rates/fixed.ts'
import { openAddressPool } from '../src/wallets/address-pool.sql.ts'
import { USUAL_KEPT_DAYS } from './kept-days.ts'
import { TEST_RATES } from './rates.ts'

export function gatewayOn(db: Database, secrets: Secrets, log: Log = SILENT): Gateway {
  const rates = fixedRates(TEST_RATES)
  return {
    db,
    settings: {
      publicUrl: 'http://127.0.0.1:8080',
      dashboardUrl: 'http://localhost:8080',
      feeBps: 100n,
      payoutFeeBps: 10n,
      minFiatMinor: 50n,
      maxFiatMinor: 100_000_000n,
      broadcastWaitMs: 0,
      confirmations: {},
      tokens: MAINNET_TOKENS,
      tokenContracts: Object.values(SIMULATED_TOKENS),
      webhookAllowPrivate: true,
      sendsMail: false,
      keptDays: USUAL_KEPT_DAYS,
    },
    rates: { live: rates, test: rates },
    addresses: openAddressPool(secrets),
    databaseTime: openDatabaseClock(db),
    secrets,
    log,
    wake: () => {},
  }
}
