/** Fresh deposit addresses, derived ahead of time so that no request does curve arithmetic. */
import { type ChainName, hasAccounts } from '../core/assets.ts'
import { InvariantBroken, type Refusal, unavailable } from '../core/errors.ts'
import { pause } from '../core/pause.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database, Queryable } from '../db/database.ts'
import { arraysOf, overRows } from '../db/row-statements.ts'
import { runRows } from '../db/together.ts'
import { type AddressRow, openAddressReserves, type ReservedAddress } from './address-reserves.sql.ts'
import {
  type Branch,
  DEPOSIT_BRANCH,
  type DerivedAddress,
  INTERNAL_BRANCH,
  type NetworkMode,
  readAccountKey,
} from './derivation.ts'
import {
  currentWallets,
  findCurrentWallet,
  requireCurrent,
  soundWallets,
  type Wallet,
  type WalletRow,
} from './wallets.sql.ts'

/** A fresh address that this process may give to a payment. The statement that writes the payment issues it. */
export type FreshAddress = ReservedAddress

/** How long a payment waits for an address of a chain that had some, and how often it looks. */
const DRY_MS_MAX = 3_000
const DRY_POLL_MS = 50

export interface AddressPool {
  /**
   * A fresh address out of those that this process has set aside. That is a hint that keeps processes out of each
   * other's way: only the row says whether it is still fresh, and it is never issued twice.
   *
   * @throws {Refusal} `unavailable`, reason `no_address`, when the chain has no wallet yet (`beck wallet init`), or its
   *   pool ran dry and is being filled; the message says which.
   * @throws {InvariantBroken} when the row's MAC does not hold: somebody wrote it who should not.
   */
  take(db: Queryable, chain: ChainName): Promise<FreshAddress>
  /** It was not needed after all. */
  giveBack(fresh: FreshAddress): void
  /** One of them was not what the database says: before another is taken, all that are set aside are looked at. */
  doubt(chain: ChainName): void
}

export function openAddressPool(secrets: Secrets): AddressPool {
  const reserves = openAddressReserves()
  // Set aside together, addresses share their wallet: it is checked once.
  const current = new WeakSet<WalletRow>()
  /** When a chain last had one; nothing of a chain of which one waited in vain since. */
  const hadAtMs = new Map<ChainName, number>()
  /**
   * A pool that ran dry is being filled: better that a payment waits than that it is refused. When none came while one waited, nobody
   * fills it, and those that follow are refused at once, until there is one again: they would hold the places of payments of other coins.
   */
  const patiently = async (db: Queryable, chain: ChainName): Promise<FreshAddress | null> => {
    const begunMs = performance.now()
    const isWaitedFor = !('inTransaction' in db) && hadAtMs.has(chain)
    for (;;) {
      const row = await reserves.take(db, chain)
      if (row) hadAtMs.set(chain, performance.now())
      if (row || !isWaitedFor) return row
      if (performance.now() >= begunMs + DRY_MS_MAX) {
        if ((hadAtMs.get(chain) ?? 0) < begunMs) hadAtMs.delete(chain)
        return null
      }
      await pause(DRY_POLL_MS)
    }
  }
  return {
    async take(db, chain) {
      const row = await patiently(db, chain)
      if (!row) throw await noAddress(db, secrets, chain)
      if (!current.has(row.wallet)) requireCurrent(secrets, row.wallet)
      current.add(row.wallet)
      if (!isDerived(secrets, row))
        throw new InvariantBroken(
          `address ${row.address} of ${chain} was not derived by this gateway: its row in addresses was tampered with`,
        )
      return row
    },
    giveBack: (fresh) => reserves.giveBack(fresh),
    doubt: (chain) => reserves.doubt(chain),
  }
}

/** Whom it is up to: the one who asks again in a moment, or the operator. */
async function noAddress(db: Queryable, secrets: Secrets, chain: ChainName): Promise<Refusal> {
  const hasWallet = (await findCurrentWallet(db, secrets, chain)) !== null
  return unavailable(
    'no_address',
    hasWallet
      ? `no fresh ${chain} address is ready: more are being derived, try again in a second; if it stays, the operator sees whether a worker runs`
      : `${chain} has no wallet to take addresses from: the operator runs \`npx beck wallet init\` once`,
  )
}

/** What the MAC of an address covers. */
export const addressMacParts = (row: Omit<AddressRow, 'mac' | 'lookup'>): string[] => [
  row.chain,
  row.series,
  String(row.branch),
  String(row.position),
  row.address,
]

const isDerived = (secrets: Secrets, row: AddressRow): boolean =>
  secrets.isMac(row.mac, 'address', addressMacParts(row))

/** Whether a destination is an address of ours, of either branch, issued or not. */
export async function isOwnAddress(db: Queryable, chain: ChainName, lookup: Uint8Array): Promise<boolean> {
  return (await runRows(db, FIND_OWN, [{ chain, lookup }])).length > 0
}

const FIND_OWN = overRows(
  { chain: 'text', lookup: 'bytea' },
  (rows) =>
    `select place from ${rows} where exists (select from addresses a where a.chain = r.chain and a.lookup = r.lookup)`,
)

export interface PoolTarget {
  /** Fresh deposit addresses to keep on each chain. */
  readonly fresh: number
  /** Own addresses to keep ahead of the last one a signed transaction sends change to. */
  readonly change: number
}

const BATCH = 256

/** Addresses in a row under one xpub: plain data, so that a thread can be given it. */
export interface DeriveRange {
  readonly chain: ChainName
  readonly mode: NetworkMode
  readonly xpub: string
  readonly branch: Branch
  readonly from: bigint
  readonly count: number
}
export type Derive = (range: DeriveRange) => DerivedAddress[] | Promise<DerivedAddress[]>

/** On the thread that asks: a tenth of a millisecond each, in which nothing else is answered. */
export const deriveHere: Derive = ({ chain, mode, xpub, branch, from, count }) =>
  readAccountKey(chain, mode, xpub).deriveMany(branch, from, count)

/**
 * Derives addresses ahead for every current wallet until each chain has its target. Two fillers at once derive the
 * same addresses; the second insert changes nothing.
 *
 * @param target - Of each chain.
 * @returns How many addresses were added to each chain that has a wallet.
 * @throws {InvariantBroken} when a wallet's MAC does not hold; by then the others have their addresses.
 */
export async function fillAddressPool(
  db: Database,
  secrets: Secrets,
  target: PoolTarget | ((chain: ChainName) => PoolTarget),
  derive: Derive = deriveHere,
): Promise<ReadonlyMap<ChainName, number>> {
  const added = new Map<ChainName, number>()
  const { wallets, broken } = await soundWallets(db, secrets)
  for (const wallet of wallets) {
    const { fresh, change } = typeof target === 'function' ? target(wallet.chain) : target
    const pool = { db, secrets, wallet, derive }
    const { freshCount, nextFresh, nextInternal } = await poolLevel(db, wallet, fresh)
    const internalEnd = hasAccounts(wallet.chain) ? 1n : wallet.nextChange + BigInt(change)
    const internal = await deriveRange(pool, INTERNAL_BRANCH, nextInternal, internalEnd)
    const freshEnd = nextFresh + BigInt(fresh - freshCount)
    added.set(wallet.chain, internal + (await deriveRange(pool, DEPOSIT_BRANCH, nextFresh, freshEnd)))
  }
  if (broken) throw broken
  return added
}

/**
 * For a database that may not know what was handed out: all fresh addresses are withheld, and further ones are derived to
 * be watched. What buyers pay there is found; no other buyer is ever sent there.
 *
 * @param ahead - How many further ones on each chain.
 * @param least - Of one chain, the first positions of both branches that are to be derived at least.
 * @throws {InvariantBroken} when a wallet's MAC does not hold; then nothing is withheld, so that a retry derives no more.
 */
export async function withholdFresh(
  db: Queryable,
  secrets: Secrets,
  ahead: (chain: ChainName) => number,
  least?: { readonly chain: ChainName; readonly fresh: bigint; readonly internal: bigint },
): Promise<void> {
  for (const wallet of await currentWallets(db, secrets)) {
    if (least && least.chain !== wallet.chain) continue
    const pool = { db, secrets, wallet, derive: deriveHere }
    const { nextFresh, nextInternal } = await poolLevel(db, wallet, 0)
    const from = least && least.fresh > nextFresh ? least.fresh : nextFresh
    await deriveRange(pool, DEPOSIT_BRANCH, nextFresh, from + BigInt(ahead(wallet.chain)))
    if (least) await deriveRange(pool, INTERNAL_BRANCH, nextInternal, least.internal)
    await db.query(
      `update addresses set withheld = true
       where chain = $1 and series = $2 and branch = 0 and issued_at is null`,
      [wallet.chain, wallet.series],
    )
    if (least)
      await db.query(
        'update wallets set next_change = greatest(next_change, $3::bigint) where chain = $1 and series = $2',
        [wallet.chain, wallet.series, least.internal],
      )
  }
}

/**
 * How many addresses each chain may have handed out since the database was last written, if business went on as before:
 * as many as in an equal time before. A month at most is looked back.
 */
export async function countIssuedLately(db: Queryable): Promise<Map<ChainName, number>> {
  const { rows } = await db.query<{ chain: ChainName; issued: bigint }>(
    `select a.chain, count(*) as issued from addresses a, (select max(issued_at) as at from addresses) as last
     where a.issued_at > last.at - least(now() - last.at, interval '31 days') group by a.chain`,
  )
  return new Map(rows.map(({ chain, issued }) => [chain, Number(issued)]))
}

/**
 * Somebody was told an address that this database never handed out: what is under it in the pool was handed out too, most
 * likely, and is withheld from others. Change and the hot wallet are no part of the pool.
 */
export async function withholdPaid(
  tx: Queryable,
  chain: ChainName,
  lookups: readonly Uint8Array[],
): Promise<void> {
  if (lookups.length === 0) return
  await tx.query(
    `update addresses a set withheld = true
     from (select series, max(position) as position from addresses
       where chain = $1 and lookup = any($2) and branch = 0 and issued_at is null group by series) as paid
     where a.chain = $1 and a.series = paid.series and a.branch = 0 and a.position <= paid.position
       and a.issued_at is null and not a.withheld`,
    [chain, lookups.map((lookup) => Buffer.from(lookup))],
  )
}

async function deriveRange(
  pool: {
    readonly db: Queryable
    readonly secrets: Secrets
    readonly wallet: Wallet
    readonly derive: Derive
  },
  branch: Branch,
  from: bigint,
  end: bigint,
): Promise<number> {
  const { db, secrets, wallet, derive } = pool
  const { chain, mode, xpub } = wallet
  for (let start = from; start < end; start += BigInt(BATCH)) {
    const count = Math.min(BATCH, Number(end - start))
    const derived = await derive({ chain, mode, xpub, branch, from: start, count })
    const series = { chain, series: wallet.series, branch }
    await insertAddresses(
      db,
      series,
      derived.map((each, place) => {
        const row = { ...each, position: start + BigInt(place) }
        return { ...row, mac: secrets.mac('address', addressMacParts({ ...series, ...row })) }
      }),
    )
  }
  return end > from ? Number(end - from) : 0
}

async function insertAddresses(
  db: Queryable,
  { chain, series, branch }: Pick<AddressRow, 'chain' | 'series' | 'branch'>,
  rows: readonly (DerivedAddress & Pick<AddressRow, 'position' | 'mac'>)[],
): Promise<void> {
  await db.query(
    `insert into addresses (chain, series, branch, position, lookup, address, mac)
     select $1::text, $2::text, $3::smallint, * from unnest($4::bigint[], $5::bytea[], $6::text[], $7::bytea[])
     on conflict do nothing`,
    [chain, series, branch, ...arraysOf(rows, 'position', 'lookup', 'address', 'mac')],
  )
}

interface PoolLevel {
  readonly freshCount: number
  readonly nextFresh: bigint
  readonly nextInternal: bigint
}

/** Fresh addresses counted no further than the target, and the first position of each branch not derived yet. */
async function poolLevel(db: Queryable, wallet: Wallet, target: number): Promise<PoolLevel> {
  const { rows } = await db.query<PoolLevel>(
    `select
       (select count(*) from (select from addresses where chain = $1 and series = $2 and branch = 0
          and issued_at is null and not withheld limit $3) as fresh)::float8 as "freshCount",
       (select coalesce(max(position) + 1, 0) from addresses where chain = $1 and series = $2 and branch = 0) as "nextFresh",
       (select coalesce(max(position) + 1, 0) from addresses where chain = $1 and series = $2 and branch = 1) as "nextInternal"`,
    [wallet.chain, wallet.series, target],
  )
  return rows[0] ?? { freshCount: 0, nextFresh: 0n, nextInternal: 0n }
}
