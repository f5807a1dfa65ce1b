/** What the signer shows of its folder: approvers, policies, allowlists. The server reads it; nobody believes it. */
import type { Mode, Network } from '../../core/assets.ts'
import type { AccountId, UserId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'

export interface PinRow {
  readonly accountId: AccountId
  /** Base64url. */
  readonly credentialId: string
  readonly userId: UserId
  readonly name: string
  readonly fingerprint: string
  readonly pinnedAt: Date
  readonly countsFrom: Date
}

export interface PolicyRow {
  readonly accountId: AccountId
  readonly number: number
  readonly policy: unknown
  readonly since: Date
}

export interface AddressRow {
  readonly accountId: AccountId
  readonly network: Network
  readonly address: string
  readonly name: string
  readonly addedAt: Date
  readonly usableFrom: Date
}

export interface Shown {
  readonly pins: readonly PinRow[]
  readonly policies: readonly PolicyRow[]
  readonly addresses: readonly AddressRow[]
}

/** What is shown of one side's accounts; of approvers those that were not removed. */
export async function readShown(db: Queryable, mode: Mode): Promise<Shown> {
  const of = (table: string) => `from ${table} t join accounts a on a.id = t.account_id and a.mode = $1`
  const { rows: pins } = await db.query<Omit<PinRow, 'credentialId'> & { credentialId: Buffer }>(
    `select t.account_id as "accountId", t.credential_id as "credentialId", t.user_id as "userId", t.name, t.fingerprint,
       t.pinned_at as "pinnedAt", t.counts_from as "countsFrom"
     ${of('pinned_approvers')} where t.removed_at is null`,
    [mode],
  )
  const { rows: policies } = await db.query<PolicyRow>(
    `select t.account_id as "accountId", t.number, t.policy, t.since ${of('approval_policies')}`,
    [mode],
  )
  const { rows: addresses } = await db.query<AddressRow>(
    `select t.account_id as "accountId", t.network, t.address, t.name, t.added_at as "addedAt", t.usable_from as "usableFrom"
     ${of('allowed_addresses')}`,
    [mode],
  )
  return {
    pins: pins.map((row) => ({ ...row, credentialId: row.credentialId.toString('base64url') })),
    policies,
    addresses,
  }
}

/** Shows an approver. One that was removed and is there again is told of anew. */
export async function showPin(tx: Tx, row: PinRow): Promise<void> {
  await tx.query(
    `insert into pinned_approvers (account_id, credential_id, user_id, name, fingerprint, pinned_at, counts_from)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (account_id, credential_id) do update set user_id = excluded.user_id, name = excluded.name,
       fingerprint = excluded.fingerprint, pinned_at = excluded.pinned_at, counts_from = excluded.counts_from,
       removed_at = null, told_at = null`,
    [
      row.accountId,
      Buffer.from(row.credentialId, 'base64url'),
      row.userId,
      row.name,
      row.fingerprint,
      row.pinnedAt,
      row.countsFrom,
    ],
  )
}

export async function showRemoved(
  tx: Tx,
  { accountId, credentialId }: Pick<PinRow, 'accountId' | 'credentialId'>,
): Promise<void> {
  await tx.query(
    `update pinned_approvers set removed_at = now(), told_at = null
     where account_id = $1 and credential_id = $2 and removed_at is null`,
    [accountId, Buffer.from(credentialId, 'base64url')],
  )
}

export async function showPolicy(tx: Tx, { accountId, number, policy, since }: PolicyRow): Promise<void> {
  await tx.query(
    `insert into approval_policies (account_id, number, policy, since) values ($1, $2, $3, $4)
     on conflict (account_id) do update set number = excluded.number, policy = excluded.policy, since = excluded.since`,
    [accountId, number, JSON.stringify(policy), since],
  )
}

export async function hidePolicy(tx: Tx, { accountId }: Pick<PolicyRow, 'accountId'>): Promise<void> {
  await tx.query('delete from approval_policies where account_id = $1', [accountId])
}

export async function showAddress(tx: Tx, row: AddressRow): Promise<void> {
  await tx.query(
    `insert into allowed_addresses (account_id, network, address, name, added_at, usable_from) values ($1, $2, $3, $4, $5, $6)
     on conflict (account_id, network, address) do update set name = excluded.name, added_at = excluded.added_at,
       usable_from = excluded.usable_from`,
    [row.accountId, row.network, row.address, row.name, row.addedAt, row.usableFrom],
  )
}

export async function hideAddress(
  tx: Tx,
  { accountId, network, address }: Pick<AddressRow, 'accountId' | 'network' | 'address'>,
): Promise<void> {
  await tx.query('delete from allowed_addresses where account_id = $1 and network = $2 and address = $3', [
    accountId,
    network,
    address,
  ])
}
