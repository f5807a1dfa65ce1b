import { openPorts } from '../config/ports.ts'
import { formatAmount, formatCoins } from '../core/money.ts'
import type { Database } from '../db/database.ts'
import { openLog } from '../process/log.ts'
import { type KeptFreeze, type Proof, reconcile, unfreeze } from '../proof/reconcile.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

/**
 * Proves the books against themselves and against every chain that can be asked, and names what disagrees. Ends with 1 when
 * something does, or a coin stays frozen whose freeze was to be lifted.
 *
 * @param options.unfreeze - Lifts the freezes of coins whose books agree.
 */
export async function proveBooks(terminal: Terminal, options: { unfreeze?: true }): Promise<void> {
  const { proof, lifted, kept } = await withStore(async ({ db }, config) => {
    const ports = openPorts(config, db, openLog('warn'))
    try {
      const proof = await reconcile(db, ports)
      const { lifted, kept } = options.unfreeze ? await liftFreezes(db, proof) : NOTHING_ASKED
      return { proof, lifted, kept }
    } finally {
      await Promise.all(ports.map((port) => port.close()))
    }
  })
  const agrees = proof.differences.length === 0
  const balances = agrees && proof.unproven.length === 0
  terminal.answer(
    JSON.parse(
      JSON.stringify({ balances, ...proof, unfrozen: lifted, stillFrozen: kept }, (_key, value) =>
        typeof value === 'bigint' ? value.toString() : value,
      ),
    ),
    [
      ...linesOf(proof),
      ...lifted.map(({ chain, asset }) => `${chain} ${asset}: pays out again`),
      ...kept.map(({ chain, asset, reason }) => `STILL FROZEN ${chain} ${asset}: ${reason}`),
      verdictOf(proof, kept),
    ],
  )
  if (!agrees || kept.length > 0) process.exitCode = 1
}

const NOTHING_ASKED: Awaited<ReturnType<typeof liftFreezes>> = { lifted: [], kept: [] }

const liftFreezes = (db: Database, proof: Proof) =>
  db.transaction(async (tx) => {
    const outcome = await unfreeze(tx, proof)
    for (const { chain, asset } of outcome.lifted)
      await recordCommand(tx, { action: 'freeze.lift', subject: `${chain} ${asset}` })
    return outcome
  })

/** The last line: of what was not looked at it says nothing good. */
export function verdictOf(
  { differences, unproven }: Pick<Proof, 'differences' | 'unproven'>,
  kept: readonly KeptFreeze[],
): string {
  if (differences.length > 0) return 'The books do NOT balance.'
  const missing = unproven.map(({ chain }) => chain).join(', ')
  const verdict = missing
    ? `The books balance as far as they were compared: ${missing} was not.`
    : 'The books balance.'
  return kept.length > 0 ? `${verdict} Coins stay frozen; run it again.` : verdict
}

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
