import { findAllowed, findPolicy } from '../../approvals/published.sql.ts'
import { type Asset, networkOf } from '../../core/assets.ts'
import { unprocessable } from '../../core/errors.ts'
import type { AccountId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { sharedRead } from '../../db/together.ts'

const readPolicy = sharedRead(findPolicy)

/**
 * Tells early what the signer would refuse: a payout to an address that is not on the list, where the policy wants it to be.
 *
 * @throws {Refusal} `unprocessable`, `not_on_allowlist`.
 */
export async function requireOnAllowlist(
  db: Queryable,
  accountId: AccountId,
  asset: Asset,
  address: string,
): Promise<void> {
  const inForce = await readPolicy(db, accountId)
  if (!inForce?.policy.allowlist.isRequired) return
  if (await findAllowed(db, accountId, networkOf(asset), address)) return
  throw unprocessable(
    'not_on_allowlist',
    `${address} is not on this account's allowlist, and payouts go only to addresses that are; ask for it to be added on the dashboard`,
    [{ field: 'destination_address', message: 'is not on the allowlist' }],
  )
}
