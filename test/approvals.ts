/** What the signer publishes of approvals, written as it writes it, for tests of what the server makes of it. */
import { type ApprovalPolicy, policyJson } from '../src/approvals/approval-policy.ts'
import type { AccountId, UserId } from '../src/core/ids.ts'
import type { Database } from '../src/db/database.ts'
import { insertPasskey } from '../src/users/factors.sql.ts'
import { makePasskey, type TestPasskey } from './authenticator.ts'

/** The passkey is his on the dashboard too. @param countsIn - Hours until it counts. */
export async function pinApprover(
  db: Database,
  accountId: AccountId,
  userId: UserId,
  { passkey = makePasskey(), countsIn = -1 }: { passkey?: TestPasskey; countsIn?: number } = {},
): Promise<TestPasskey> {
  const { credentialId, publicKey } = passkey
  await db.transaction((tx) =>
    insertPasskey(tx, { userId, credentialId, publicKey, counter: 0n, transports: [], name: 'Key' }),
  )
  await db.query(
    `insert into pinned_approvers (account_id, credential_id, user_id, name, fingerprint, pinned_at, counts_from)
     values ($1, $2, $3, 'Somebody', $4, now(), now() + $5 * interval '1 hour')`,
    [accountId, credentialId, userId, credentialId.toString('hex').slice(0, 40), countsIn],
  )
  return passkey
}

export const COIN_POLICY: ApprovalPolicy = {
  coins: { BTC: { fromAtoms: 10_000n, approvals: 1 } },
  bindsKeys: true,
  allowlist: { isRequired: false, delayHours: 24 },
}

export async function publishPolicy(
  db: Database,
  accountId: AccountId,
  policy: ApprovalPolicy = COIN_POLICY,
): Promise<void> {
  await db.query(
    `insert into approval_policies (account_id, number, policy, since) values ($1, 1, $2, now())
     on conflict (account_id) do update set number = approval_policies.number + 1, policy = excluded.policy`,
    [accountId, policyJson(policy)],
  )
}

export async function publishAddress(
  db: Database,
  accountId: AccountId,
  address: { network: string; address: string; name: string },
): Promise<void> {
  await db.query(
    `insert into allowed_addresses (account_id, network, address, name, added_at, usable_from)
     values ($1, $2, $3, $4, now(), now())`,
    [accountId, address.network, address.address, address.name],
  )
}
