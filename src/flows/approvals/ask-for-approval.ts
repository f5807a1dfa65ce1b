/**
 * Whether what was just held has to be approved, by the policy that the signer published, and the request that other people
 * answer. The signer counts by its own policy: where this one was behind, a request is opened once the signer waits for it.
 */
import { type ApprovalCount, approvalsNeeded } from '../../approvals/approval-policy.ts'
import { listUnasked, openRequest } from '../../approvals/approval-requests.sql.ts'
import { findPolicy } from '../../approvals/published.sql.ts'
import type { Asset } from '../../core/assets.ts'
import { newId, type PayoutBatchId } from '../../core/ids.ts'
import type { Database, Tx } from '../../db/database.ts'
import { sumLeftFreely } from '../../withdrawals/left-freely.sql.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'

/** In the transaction that holds the amount, so that there is no moment in which nobody would be asked. */
export async function askForApproval(tx: Tx, withdrawal: Withdrawal): Promise<void> {
  const needed = await approvalsOf(tx, [withdrawal])
  if (needed === 0) return
  const { accountId, id, askedBy } = withdrawal
  const asked = { act: 'withdrawal', withdrawalId: id } as const
  await openRequest(tx, { accountId, id: newId('apr'), asked, askedBy, needed })
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

/** As many as any of them needs, each with what left before it. They are written already, and not counted twice. */
async function approvalsOf(tx: Tx, lines: readonly Withdrawal[]): Promise<0 | ApprovalCount> {
  const [first] = lines
  const inForce = first ? await findPolicy(tx, first.accountId) : null
  if (!first || !inForce) return 0
  const left = new Map<Asset, bigint>()
  let needed: 0 | ApprovalCount = 0
  for (const line of lines) {
    const { asset, amountAtoms } = line
    if (!inForce.policy.coins[asset]) continue
    const before = left.get(asset) ?? (await sumLeftFreely(tx, first.accountId, asset, lines))
    const ofLine = approvalsNeeded(inForce.policy, line, before)
    if (ofLine > needed) needed = ofLine
    left.set(asset, before + amountAtoms)
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
