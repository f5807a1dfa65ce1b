import { openPorts } from '../config/ports.ts'
import { invalid } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { formatCoins } from '../core/money.ts'
import { bookSpend } from '../flows/recovery/book-spend.ts'
import { openLog } from '../process/log.ts'
import { recordCommand } from './record-command.ts'
import type { Terminal } from './terminal.ts'
import { withStore } from './tool.ts'

/** Books what the chain shows as taken from our coins and the database does not know. */
export async function bookForgottenSpend(
  terminal: Terminal,
  network: string,
  txid: string,
  given: { loss?: true },
): Promise<void> {
  const { asset, paid, feeAtoms, lossAtoms, movedAtoms, gasAtoms } = await withStore(
    async ({ db, secrets }, config) => {
      const ports = openPorts(config, db, openLog('warn'))
      try {
        const port = ports.find(({ chain }) => chain === network)
        if (!port)
          throw invalid(
            'unknown_network',
            `no node is set for "${network}"; expected one of ${ports.map(({ chain }) => chain).join(', ')}`,
          )
        // Before it is done, for it takes transactions of its own: one that then fails was tried.
        await db.transaction((tx) =>
          recordCommand(tx, {
            action: 'spend.book',
            subject: txid,
            after: { network, loss: given.loss ?? false },
          }),
        )
        return await bookSpend({ db, secrets }, port, txid.toLowerCase(), { loss: given.loss ?? false })
      } finally {
        await Promise.all(ports.map((port) => port.close()))
      }
    },
  )
  const withdrawals = paid.map((id) => showId('wd', id))
  const loss = formatCoins(lossAtoms, asset)
  terminal.answer(
    {
      network,
      txid,
      asset,
      withdrawals,
      fee_atoms: String(feeAtoms),
      loss_atoms: String(lossAtoms),
      moved_atoms: String(movedAtoms),
      gas_atoms: String(gasAtoms),
    },
    [
      ...withdrawals.map((id) => `${id} was paid by it and completes once it is followed.`),
      ...(lossAtoms > 0n ? [`${loss} are booked as the gateway's loss.`] : []),
      ...(movedAtoms > 0n
        ? [
            `${formatCoins(movedAtoms, asset)} went from one address of yours to another: what arrived is no capital of yours any more.`,
          ]
        : []),
      ...(gasAtoms > 0n
        ? [
            `${formatCoins(gasAtoms, asset)} went to the address of a payment: gas for a sweep. What the payment counted of it as its buyer's is taken back.`,
          ]
        : []),
      'Now: npx beck reconcile, and where the books agree: npx beck reconcile --unfreeze.',
    ],
  )
}
