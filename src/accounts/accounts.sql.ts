import type { Mode } from '../core/assets.ts'
import { GATEWAY_ACCOUNTS } from '../core/gateway-account.ts'
import { type AccountId, newId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import type { Account, AccountDraft, ConfirmationRule } from './account.ts'
import type { Logo } from './brand.ts'

interface AccountRow extends Omit<Account, 'confirmationRules'> {
  readonly rules: readonly { asset: ConfirmationRule['asset']; from_minor: number; confirmations: number }[]
}

const COLUMNS = `id, name, email, mode, currency, accepts_late_funds as "acceptsLateFunds", tolerance_bps as "toleranceBps",
  fee_bps as "feeBps", confirmation_rules as rules, success_url as "successUrl", cancel_url as "cancelUrl",
  brand_name as "brandName", brand_logo as "brandLogo", brand_color as "brandColor", offered_assets as "offeredAssets",
  contact, terms_url as "termsUrl", privacy_url as "privacyUrl", frame_origins as "frameOrigins",
  case when sandbox_trouble_until > now() then sandbox_trouble end as trouble, created_at as "createdAt", closed_at as "closedAt"`

const fromRow = ({ rules, ...account }: AccountRow): Account => ({
  ...account,
  confirmationRules: rules.map(({ asset, from_minor, confirmations }) => ({
    asset,
    fromMinor: BigInt(from_minor),
    confirmations,
  })),
})

/** @param text - Answers with {@link COLUMNS}. */
async function read(db: Queryable, text: string, values: readonly unknown[]): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(text, values)
  return rows.map(fromRow)
}

export async function insertAccount(db: Queryable, draft: AccountDraft): Promise<Account> {
  const [account] = await read(
    db,
    `insert into accounts (id, name, email, mode, currency) values ($1::uuid, $2, $3, $4, $5) returning ${COLUMNS}`,
    [newId('acct'), draft.name, draft.email, draft.mode, draft.currency],
  )
  return account as Account
}

export async function findAccount(db: Queryable, accountId: AccountId): Promise<Account | null> {
  const [account] = await read(db, `select ${COLUMNS} from accounts where id = $1::uuid`, [accountId])
  return account ?? null
}

export const findAccounts = (db: Queryable, ids: readonly AccountId[]): Promise<Account[]> =>
  read(db, `select ${COLUMNS} from accounts where id = any($1::uuid[])`, [ids])

/** The account, locked until the transaction ends: of two changes at once the second starts from the first. */
export async function lockAccount(tx: Tx, accountId: AccountId): Promise<Account | null> {
  const [account] = await read(tx, `select ${COLUMNS} from accounts where id = $1::uuid for no key update`, [
    accountId,
  ])
  return account ?? null
}

/** What the account has set, all of it. The logo is kept or taken away here, see {@link keepLogo}. */
export async function updateAccountSettings(tx: Tx, account: Account): Promise<void> {
  await tx.query(
    `update accounts set accepts_late_funds = $2, success_url = $3, cancel_url = $4, brand_name = $5,
              brand_logo = $6, brand_color = $7, frame_origins = $8, tolerance_bps = $9, fee_bps = $10,
              offered_assets = $11, contact = $12, terms_url = $13, privacy_url = $14, name = $15, currency = $16,
              confirmation_rules = $17::jsonb
     where id = $1`,
    [
      account.id,
      account.acceptsLateFunds,
      account.successUrl,
      account.cancelUrl,
      account.brandName,
      account.brandLogo,
      account.brandColor,
      account.frameOrigins,
      account.toleranceBps,
      account.feeBps,
      account.offeredAssets,
      account.contact,
      account.termsUrl,
      account.privacyUrl,
      account.name,
      account.currency,
      JSON.stringify(
        account.confirmationRules.map(({ asset, fromMinor, confirmations }) => ({
          asset,
          from_minor: Number(fromMinor),
          confirmations,
        })),
      ),
    ],
  )
}

/** Whether a payment was ever made. */
export async function hasPayments(db: Queryable, accountId: AccountId): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    'select exists (select from payments where account_id = $1) as found',
    [accountId],
  )
  return rows[0]?.found === true
}

/** The same, where payments that are being made now are waited for: the account is locked against them. */
export async function hasPaymentsForSure(tx: Tx, accountId: AccountId): Promise<boolean> {
  await tx.query('select from accounts where id = $1 for update', [accountId])
  return hasPayments(tx, accountId)
}

/** @param trouble - Null when all is well again. */
export async function setSandboxTrouble(
  tx: Tx,
  id: AccountId,
  trouble: Account['trouble'],
  minutes: number,
): Promise<void> {
  await tx.query(
    `update accounts set sandbox_trouble = $2, sandbox_trouble_until = now() + make_interval(mins => $3) where id = $1`,
    [id, trouble, minutes],
  )
}

/** How many simulated blocks an account may add: so many at once, and so many a second. */
export interface MiningAllowance {
  readonly atOnce: number
  readonly perSecond: number
}

/**
 * Takes blocks from a test account's allowance, all of them or none: a token bucket in one column, for all processes.
 *
 * @returns Seconds to wait; 0 when they were taken.
 */
export async function takeBlocks(
  tx: Tx,
  id: AccountId,
  blocks: number,
  { atOnce, perSecond }: MiningAllowance,
): Promise<number> {
  const { rows } = await tx.query<{ isTaken: boolean; waitSeconds: number }>(
    `with asked as (
       select id, clock_timestamp() as at,
         greatest(sandbox_mined_until, clock_timestamp()) + make_interval(secs => $2::float8) as until
       from accounts where id = $1 for no key update
     ), taken as (
       update accounts a set sandbox_mined_until = until from asked
       where a.id = asked.id and until <= at + make_interval(secs => $3::float8)
       returning a.id
     )
     select exists (select from taken) as "isTaken",
       ceil(extract(epoch from until - at) - $3::float8)::float8 as "waitSeconds" from asked`,
    [id, blocks / perSecond, atOnce / perSecond],
  )
  const [row] = rows
  return !row || row.isTaken ? 0 : Math.max(1, row.waitSeconds)
}

/** @param logo - Null takes it away. */
export async function keepLogo(tx: Tx, accountId: AccountId, logo: Logo | null): Promise<void> {
  if (logo === null) await tx.query('delete from account_logos where account_id = $1', [accountId])
  else {
    await tx.query(
      `insert into account_logos (account_id, name, bytes) values ($1, $2, $3)
       on conflict (account_id) do update set name = excluded.name, bytes = excluded.bytes`,
      [accountId, logo.name, logo.bytes],
    )
  }
}

export async function findLogo(db: Queryable, name: string): Promise<Uint8Array | null> {
  const { rows } = await db.query<{ bytes: Uint8Array }>(
    'select bytes from account_logos where name = $1 limit 1',
    [name],
  )
  return rows[0]?.bytes ?? null
}

/**
 * The gateway's own account, made when it is asked for first, and locked until the transaction ends: of two who pay out what it
 * earned the second sees what the first took.
 */
export async function lockGatewayAccount(tx: Tx, mode: Mode): Promise<Account> {
  const id = GATEWAY_ACCOUNTS[mode]
  await tx.query(
    `insert into accounts (id, name, email, mode, currency) values ($1, 'The gateway', 'gateway@localhost', $2, 'USD')
     on conflict (id) do nothing`,
    [id, mode],
  )
  const [account] = await read(tx, `select ${COLUMNS} from accounts where id = $1 for update`, [id])
  return account as Account
}

/** Every merchant's account, oldest first; for the operator only. */
export const listAccounts = (db: Queryable): Promise<Account[]> =>
  read(db, `select ${COLUMNS} from accounts where id <> all($1::uuid[]) order by created_at, id`, [
    Object.values(GATEWAY_ACCOUNTS),
  ])

/** Whether any account is live: only then are live rates needed. */
export async function hasLiveAccount(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (select 1 from accounts where mode = 'live') as found`,
  )
  return rows[0]?.found === true
}

/**
 * Whether there is any account. While there is none, the table is locked against others who would make the first one,
 * until the transaction ends.
 */
export async function lockAccounts(tx: Tx): Promise<boolean> {
  if (await hasAccount(tx)) return true
  await tx.query('lock table accounts in share row exclusive mode')
  return hasAccount(tx)
}

async function hasAccount(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('select exists (select 1 from accounts) as found')
  return rows[0]?.found === true
}
