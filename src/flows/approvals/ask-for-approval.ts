/**
 * Whether what was just held has to be approved, by the policy that the signer published, and the request that other people
 * answer. The signer counts by its own policy: where this one was behind, a request is opened once the signer waits for it.
 */
import { type ApprovalCount, approvalsNeeded } from '../../approvals/approval-policy.ts'
import { listUnasked, openRequest } from '../../approvals/approval-requests.sql.ts'
import { isKey } from '../../approvals/asker.ts'
import { findPolicy } from '../../approvals/published.sql.ts'
import { ASSETS } from '../../core/assets.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { newId, type PayoutBatchId } from '../../core/ids.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { sumLeftFreely } from './left-freely.sql.ts'

/** In the transaction that holds the amount, so that there is no moment in which nobody would be asked. */
export async function askForApproval(tx: Tx, withdrawal: Withdrawal): Promise<void> {
  const needed = await approvalsOf(tx, [withdrawal])
  if (needed === 0) return
  const { accountId, id, askedBy } = withdrawal
  const asked = { act: 'withdrawal', withdrawalId: id } as const
  await openRequest(tx, { accountId, id: newId('apr'), asked, askedBy, needed })
  crashPoint('approval:asked')
}

/** The same of many that are asked for, and approved, as one. */
export async function askForBatch(
  tx: Tx,
  batchId: PayoutBatchId,
  lines: readonly Withdrawal[],
): Promise<void> {
  const needed = await approvalsOf(tx, lines)
  const [first] = lines
  if (needed === 0 || !first) return
  const { accountId, askedBy } = first
  const asked = { act: 'batch', batchId } as const
  await openRequest(tx, { accountId, id: newId('apr'), asked, askedBy, needed })
}

/**
 * As many as the last of each coin needs, with those before it and with what left. They are written already, and not counted
 * twice; nothing is summed where the answer is certain without.
 */
async function approvalsOf(tx: Tx, lines: readonly Withdrawal[]): Promise<0 | ApprovalCount> {
  const [first] = lines
  const inForce = first ? await findPolicy(tx, first.accountId) : null
  if (!first || !inForce) return 0
  const { accountId, askedBy } = first
  const { policy } = inForce
  if (isKey(askedBy) && !policy.bindsKeys) return 0
  let needed: 0 | ApprovalCount = 0
  for (const asset of ASSETS) {
    const amounts = lines.filter((line) => line.asset === asset).map(({ amountAtoms }) => amountAtoms)
    if (amounts.length === 0 || !policy.coins[asset]) continue
    const asked = { asset, amountAtoms: amounts.reduce((sum, atoms) => sum + atoms, 0n), askedBy }
    const ofAsset =
      approvalsNeeded(policy, asked, 0n) ||
      approvalsNeeded(policy, asked, await sumLeftFreely(tx, accountId, asset, lines, policy.bindsKeys))
    if (ofAsset > needed) needed = ofAsset
  }
  return needed
}

const UNASKED_PER_TURN = 100

/** Asks for what the signer holds up and nobody was asked for. @returns How many. */
export async function askForUnasked(db: Database): Promise<number> {
  const unasked = await listUnasked(db, UNASKED_PER_TURN)
  for (const { accountId, withdrawalId, asset, askedBy } of unasked)
    await db.transaction(async (tx) => {
      const inForce = await findPolicy(tx, accountId)
      // What the signer wants is not told here; it counts by its own policy, however many are asked for.
      const needed = inForce?.policy.coins[asset]?.approvals ?? 1
      const asked = { act: 'withdrawal', withdrawalId } as const
      await openRequest(tx, { accountId, id: newId('apr'), asked, askedBy, needed })
    })
  return unasked.length
}
