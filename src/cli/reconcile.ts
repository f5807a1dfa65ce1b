import { openPorts } from '../config/ports.ts'
import { formatAmount, formatCoins } from '../core/money.ts'
import type { Database } from '../db/database.ts'
import { openLog } from '../process/log.ts'
import { type Proof, reconcile, unfreeze } from '../proof/reconcile.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

/**
 * Proves the books against themselves and against every chain that can be asked, and names what disagrees.
 *
 * @param options.unfreeze - Lifts the freezes of coins whose books agree.
 */
export async function proveBooks(terminal: Terminal, options: { unfreeze?: true }): Promise<void> {
  const { proof, lifted } = await withStore(async ({ db }, config) => {
    const ports = openPorts(config, db, openLog('warn'))
    try {
      const proof = await reconcile(db, ports)
      return { proof, lifted: options.unfreeze ? await liftFreezes(db, proof) : [] }
    } finally {
      await Promise.all(ports.map((port) => port.close()))
    }
  })
  const balances = proof.differences.length === 0
  terminal.answer(
    JSON.parse(
      JSON.stringify({ balances, ...proof, unfrozen: lifted }, (_key, value) =>
        typeof value === 'bigint' ? value.toString() : value,
      ),
    ),
    [
      ...linesOf(proof),
      ...lifted.map(({ chain, asset }) => `${chain} ${asset}: pays out again`),
      balances ? 'The books balance.' : 'The books do NOT balance.',
    ],
  )
  if (!balances) process.exitCode = 1
}

const liftFreezes = (db: Database, proof: Proof) =>
  db.transaction(async (tx) => {
    const lifted = await unfreeze(tx, proof)
    for (const { chain, asset } of lifted)
      await recordCommand(tx, { action: 'freeze.lift', subject: `${chain} ${asset}` })
    return lifted
  })

/** What the command says of a proof, a line each. */
export const linesOf = (proof: Proof): string[] => [
  ...table(
    proof.holdings.map(({ chain, asset, walletAtoms, outside, shownAtoms }) => [
      chain,
      asset,
      `books ${formatAmount(walletAtoms, asset)}`,
      `blocks ${formatAmount(shownAtoms, asset)}`,
      Object.entries(outside)
        .map(([reason, atoms]) => `${reason} ${formatAmount(atoms, asset)}`)
        .join(', '),
    ]),
  ),
  ...proof.gifts.map(
    ({ chain, subject, asset, expectedAtoms, foundAtoms }) =>
      `${chain}: ${subject} holds ${formatCoins(foundAtoms - expectedAtoms, asset)} that no block announced`,
  ),
  ...proof.unswept.map(
    ({ chain, asset, addresses, atoms }) =>
      `${chain}: ${formatCoins(atoms, asset)} lie at ${addresses} deposit addresses until they are worth the gas of a sweep`,
  ),
  ...proof.gasLeft.map(
    ({ chain, addresses, atoms }) =>
      `${chain}: ${formatCoins(atoms, 'ETH')} of the gas of sweeps are left at ${addresses} deposit addresses until they are worth the gas of a sweep`,
  ),
  ...proof.unproven.map(({ chain, reason }) => `${chain}: not compared with the chain: ${reason}`),
  ...proof.differences.map(
    ({ proof: name, chain, asset, subject, expectedAtoms, foundAtoms }) =>
      `DIFFERENCE ${chain} ${asset} ${subject ?? 'all together'} (${name}): expected ${formatAmount(expectedAtoms, asset)}, found ${formatAmount(foundAtoms, asset)}`,
  ),
  ...proof.more.map(
    ({ proof: name, chain, asset, rows }) => `DIFFERENCE ${chain} ${asset} (${name}): and ${rows} rows more`,
  ),
]
