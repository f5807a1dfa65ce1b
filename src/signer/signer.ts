/** One turn of the signer: first what it signed and never saw placed, then payouts, bumps and sweeps of each chain. */
import { hasAccounts } from '../core/assets.ts'
import { tendApprovals } from './approvals/take-approvals.ts'
import { cancelWanted, clearMarks, finishPlacing, readyPlaced, type Signer } from './context.ts'
import { consolidateIfCheap, isConsolidationDue } from './gather-utxos.ts'
import { putBackBumps, putBackSentSets, reserveAgain } from './put-back.ts'
import { listChainsWithWork } from './requests.sql.ts'
import { signBumps } from './sign-bumps.ts'
import { signPayouts } from './sign-outputs.ts'
import { signSweeps } from './sign-sweeps.ts'
import { signTransfers } from './sign-transfers.ts'
import type { ChainKeys } from './vault.ts'

export type { Signer } from './context.ts'

/** @returns Whether there may be more to do at once. */
export async function signerTurn(signer: Signer): Promise<boolean> {
  // What a restored database forgot may be all that there is to do.
  const { journal, vault, era } = signer
  const last = compared.get(journal)
  const isFirst = last?.vault !== vault || last.era !== era
  if (isFirst) await putBackBumps(signer)
  // Nothing new is signed while the fate of something signed is open: it may pay the same withdrawals.
  for (const entry of signer.journal.pending()) await finishPlacing(signer, entry)
  const moreApprovals = await tendApprovals(signer, Date.now())
  await clearMarks(signer, isFirst)
  await readyPlaced(signer)
  let more = moreApprovals
  const chains = await listChainsWithWork(signer.db)
  for (const [chain, keys] of signer.vault)
    if (isFirst || (!hasAccounts(chain) && isConsolidationDue(keys))) chains.add(chain)
  let failed = false
  for (const chain of chains) {
    const keys = signer.vault.get(chain)
    if (!keys || signer.stopping?.aborted) continue
    try {
      more = (await signFor(signer, keys)) || more
    } catch (error) {
      failed = true
      signer.log.error({ chain, err: error }, 'signing for a chain failed; the others go on')
    }
  }
  if (isFirst && !failed && !signer.stopping?.aborted) compared.set(journal, { vault, era })
  return more
}

/** The keys with which a journal was compared with the database since this process began, and its era; more may appear later. */
const compared = new WeakMap<Signer['journal'], Pick<Signer, 'vault' | 'era'>>()

async function signFor(signer: Signer, keys: ChainKeys): Promise<boolean> {
  await cancelWanted(signer, keys.chain)
  await putBackSentSets(signer, keys.chain)
  if (!hasAccounts(keys.chain)) await reserveAgain(signer, keys.chain)
  await signBumps(signer, keys)
  if (!hasAccounts(keys.chain)) {
    const more = await signPayouts(signer, keys)
    if (!more) await consolidateIfCheap(signer, keys)
    return more
  }
  await signSweeps(signer, keys)
  return signTransfers(signer, keys)
}
