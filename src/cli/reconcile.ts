import { ASSET_FACTS } from '../core/assets.ts'
import { formatDecimal } from '../core/money.ts'
import { reconcile } from '../flows/reconcile.ts'
import { openLog } from '../log.ts'
import { openPorts } from '../main.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

/** Proves the books against themselves and against every chain that can be asked. */
export async function proveBooks(terminal: Terminal): Promise<void> {
  const proof = await withStore(async ({ db }, config) => {
    const ports = openPorts(config, db, openLog('warn'))
    try {
      return await reconcile(db, ports)
    } finally {
      await Promise.all(ports.map((port) => port.close()))
    }
  })
  const balances = proof.differences.length === 0
  terminal.answer(
    JSON.parse(
      JSON.stringify({ balances, ...proof }, (_key, value) =>
        typeof value === 'bigint' ? value.toString() : value,
      ),
    ),
    [
      ...table(
        proof.holdings.map(({ chain, asset, walletAtoms, chainAtoms }) => [
          chain,
          asset,
          `books ${formatDecimal(walletAtoms, ASSET_FACTS[asset].decimals)}`,
          `chain ${formatDecimal(chainAtoms, ASSET_FACTS[asset].decimals)}`,
        ]),
      ),
      ...proof.unproven.map(({ chain, reason }) => `${chain}: not compared with the chain: ${reason}`),
      ...proof.differences.map((difference) => `DIFFERENCE ${JSON.stringify(difference)}`),
      balances ? 'The books balance.' : 'The books do NOT balance.',
    ],
  )
  if (!balances) process.exitCode = 1
}
