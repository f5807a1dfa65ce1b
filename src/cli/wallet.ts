import { unavailable } from '../core/errors.ts'
import { hasSigner, runSigner } from '../process/signer-process.ts'
import { recordCommand } from './record-command.ts'
import type { Terminal } from './terminal.ts'
import { withStore } from './tool.ts'

/** The signer alone opens the keystore: the command is its own, with this terminal. */
export async function runWallet(terminal: Terminal, command: readonly string[]): Promise<void> {
  if (!hasSigner()) throw unavailable('no_signer', 'this copy of Beck has no signer')
  const args = terminal.isJson ? [...command, '--json'] : command
  const [verb = '', ...rest] = command
  process.exitCode = await withStore(async (store) => {
    // Before it is done, for the signer does it: one that then fails was tried.
    if (verb !== 'show' && verb !== 'allowed' && rest[0] !== 'list')
      await store.db.transaction((tx) =>
        recordCommand(tx, { action: `wallet.${verb}`, subject: rest.join(' ') || null }),
      )
    return runSigner(args, store)
  })
}
