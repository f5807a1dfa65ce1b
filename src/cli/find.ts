import { openPorts } from '../config/ports.ts'
import { invalid } from '../core/errors.ts'
import { formatAmount } from '../core/money.ts'
import { openDatabaseClock } from '../flows/database-clock.ts'
import { findFunds } from '../flows/recovery/find-funds.ts'
import { openLog } from '../process/log.ts'
import { sandboxRates } from '../rates/sandbox.ts'
import { openAddressPool } from '../wallets/address-pool.sql.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

const GAP_MAX = 100_000

/** Finds everything that the keystore's words own, with nothing but the nodes. Ends with 1 unless every live wallet was searched. */
export async function findWalletFunds(terminal: Terminal, given: { gap: string }): Promise<void> {
  const gap = /^\d{1,6}$/.test(given.gap) ? Number(given.gap) : 0
  if (gap < 1 || gap > GAP_MAX)
    throw invalid('invalid_gap', `--gap is from 1 to ${GAP_MAX}, got "${given.gap}"`)
  const { finds, recorded, notSearched } = await withStore(async ({ db, secrets }, config) => {
    const log = openLog('warn')
    const ports = openPorts(config, db, log)
    const rates = sandboxRates()
    const gateway = {
      db,
      secrets,
      log,
      settings: config.settings,
      rates: { live: rates, test: rates },
      addresses: openAddressPool(secrets),
      databaseTime: openDatabaseClock(db),
      wake: () => {},
    }
    try {
      // Before it is done, for it takes transactions of its own: coins that it finds become capital.
      await db.transaction((tx) => recordCommand(tx, { action: 'wallet.find', after: { gap } }))
      return await findFunds(gateway, ports, gap)
    } finally {
      await Promise.all(ports.map((port) => port.close()))
    }
  })
  terminal.answer(
    {
      finds: finds.map((find) => ({ ...find, atoms: String(find.atoms) })),
      recorded,
      not_searched: notSearched,
    },
    [
      ...table(
        finds.map(({ chain, asset, atoms, address, path }) => [
          chain,
          asset,
          formatAmount(atoms, asset),
          address,
          path,
        ]),
      ),
      finds.length === 0 ? 'Nothing was found.' : '',
      ...Object.entries(recorded).map(
        ([chain, count]) => `${chain}: ${count} coins are known again; they become capital.`,
      ),
      ...notSearched.map((chain) => `not searched: no node is set for ${chain}`),
    ],
  )
  if (notSearched.length > 0) process.exitCode = 1
}
