/**
 * What the signer keeps in its own folder, as it published it: to be shown, and to tell people early what it will say. Nothing
 * that is decided by these rows makes anything leave.
 */
import { BECH32_LENGTH_MIN, foldedAddress } from '../core/address.ts'
import type { Network } from '../core/assets.ts'
import type { AccountId, UserId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { allRows } from '../db/rows.ts'
import { runRows } from '../db/together.ts'
import { type ApprovalPolicy, readPolicy } from './approval-policy.ts'
import type { AllowedAddress } from './approval-request.ts'

export interface PublishedPolicy {
  /** The how-manieth of the account. */
  readonly number: number
  readonly policy: ApprovalPolicy
  readonly since: Date
}

/** The policy in force; null for none. */
export async function findPolicy(db: Queryable, accountId: AccountId): Promise<PublishedPolicy | null> {
  const { rows } = await db.query<{ number: number; policy: unknown; since: Date }>(
    'select number, policy, since from approval_policies where account_id = $1',
    [accountId],
  )
  const [row] = rows
  const policy = row ? readPolicy(row.policy) : null
  return row && policy ? { ...row, policy } : null
}

export interface PinnedApprover {
  readonly userId: UserId
  readonly credentialId: Buffer
  /** Of the person as he is called now; as he was when he was pinned where he is gone. */
  readonly name: string
  readonly fingerprint: string
  readonly pinnedAt: Date
  readonly countsFrom: Date
  /** Whether it counts by now, by the database's clock. */
  readonly counts: boolean
  /** His role in the merchant's team now; null for one who left it, or may not sign in. */
  readonly role: string | null
}

/** Those that were not removed. */
export const listApprovers = (db: Queryable, accountId: AccountId): Promise<PinnedApprover[]> =>
  allRows(
    db,
    `select p.user_id as "userId", p.credential_id as "credentialId", coalesce(u.name, p.name) as name, p.fingerprint,
       p.pinned_at as "pinnedAt", p.counts_from as "countsFrom", p.counts_from <= now() as counts,
       (select x.role from merchants m join members x on x.merchant_id = m.id and x.user_id = u.id
        where p.account_id in (m.live_account_id, m.test_account_id)) as role
     from pinned_approvers p left join users u on u.id = p.user_id and u.disabled_at is null
     where p.account_id = $1 and p.removed_at is null order by p.pinned_at, p.credential_id`,
    [accountId],
  )

/** The fingerprints of a person's passkeys that were not removed at the signer, at whichever account. */
export const listFingerprints = (
  db: Queryable,
  userId: UserId,
): Promise<{ readonly fingerprint: string }[]> =>
  allRows(
    db,
    `select distinct p.fingerprint from pinned_approvers p where p.user_id = $1 and p.removed_at is null
     order by p.fingerprint`,
    [userId],
  )

/** People, not passkeys: two of one person are one approval. */
export const countPeople = (approvers: readonly Pick<PinnedApprover, 'userId'>[]): number =>
  new Set(approvers.map(({ userId }) => userId)).size

export interface ListedAddress extends AllowedAddress {
  readonly addedAt: Date
  readonly usableFrom: Date
  readonly isUsable: boolean
}

export const listAllowed = (db: Queryable, accountId: AccountId): Promise<ListedAddress[]> =>
  allRows(
    db,
    `select network, address, name, added_at as "addedAt", usable_from as "usableFrom", usable_from <= now() as "isUsable"
     from allowed_addresses where account_id = $1 order by name, network, address`,
    [accountId],
  )

/** Whichever way it is written, as {@link foldedAddress} has it. */
export async function findAllowed(
  db: Queryable,
  accountId: AccountId,
  network: Network,
  address: string,
): Promise<ListedAddress | null> {
  const [found] = await runRows<ListedAddress>(db, FIND_ALLOWED, [
    { account_id: accountId, network, folded: foldedAddress(network, address) },
  ])
  return found ?? null
}

const FIND_ALLOWED = overRows(
  { account_id: 'uuid', network: 'text', folded: 'text' },
  (
    rows,
  ) => `select place, a.network, a.address, a.name, a.added_at as "addedAt", a.usable_from as "usableFrom",
      a.usable_from <= now() as "isUsable"
    from ${rows} join allowed_addresses a on a.account_id = r.account_id and a.network = r.network
      and r.folded = case when a.network = 'ethereum' or length(a.address) >= ${BECH32_LENGTH_MIN} then lower(a.address)
        else a.address end`,
)

export interface UntoldApprover {
  readonly accountId: AccountId
  readonly name: string
  readonly fingerprint: string
  readonly pinnedAt: Date
  readonly countsFrom: Date
  readonly removedAt: Date | null
}

/** Pinned or removed, and no owner was told of it; this transaction tells. */
export const takeUntoldApprovers = (tx: Tx): Promise<UntoldApprover[]> =>
  allRows(
    tx,
    `update pinned_approvers set told_at = clock_timestamp()
     where told_at is null or (removed_at is not null and told_at < removed_at)
     returning account_id as "accountId", name, fingerprint, pinned_at as "pinnedAt", counts_from as "countsFrom",
       removed_at as "removedAt"`,
  )
