/**
 * Fresh addresses that a process has set aside for the payments to come, so that each payment need not look for one, nor
 * step around those that others are taking. What was set aside and not issued is free again after a minute.
 */
import type { ChainName } from '../core/assets.ts'
import { takenTogether } from '../core/taken-together.ts'
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import type { Branch, NetworkMode } from './derivation.ts'
import type { WalletRow } from './wallets.sql.ts'

export interface AddressRow {
  readonly chain: ChainName
  readonly lookup: Uint8Array
  readonly series: string
  readonly branch: Branch
  readonly position: bigint
  readonly address: string
  readonly mac: Uint8Array
}

/** With the wallet that it is of, which said to be the current one. */
export interface ReservedAddress extends AddressRow {
  readonly wallet: WalletRow
}

/** For how long others leave alone what one has set aside, and for how long that one relies on it. */
const RESERVED_SECONDS = 60
const RELIED_ON_MS = 45_000
/** A quiet process sets few aside; a busy one twice as many each time. */
const BATCH_MIN = 4
const BATCH_MAX = 256
const BUSY_MS = 500

export interface AddressReserves {
  /** Null when the database has no fresh one left. */
  take(db: Queryable, chain: ChainName): Promise<ReservedAddress | null>
  giveBack(row: ReservedAddress): void
  /** The next one is taken only after a look at all of them; what is not fresh, or not of the current wallet, is dropped. */
  doubt(chain: ChainName): void
}

/** So many of those that were taken last are remembered: what is on its way to its payment is among them, but for a flood. */
const GIVEN_MAX = 1_024

interface SetAside {
  readonly row: ReservedAddress
  readonly untilMs: number
}

interface Reserve {
  rows: SetAside[]
  /** Doubted, while they are looked at. */
  readonly lookedAt: Set<SetAside>
  batch: number
  filledAtMs: number
  readonly fill: (db: Queryable) => Promise<number>
  isDoubted: boolean
  /** The addresses that were taken last, oldest first. */
  readonly given: Set<string>
}

export function openAddressReserves(now: () => number = () => performance.now()): AddressReserves {
  const reserves = new Map<ChainName, Reserve>()
  const of = (chain: ChainName): Reserve => {
    const known = reserves.get(chain) ?? {
      rows: [],
      lookedAt: new Set(),
      batch: BATCH_MIN,
      filledAtMs: Number.NEGATIVE_INFINITY,
      fill: takenTogether((db) => fill(db, chain)),
      isDoubted: false,
      given: new Set(),
    }
    reserves.set(chain, known)
    return known
  }

  const fill = async (db: Queryable, chain: ChainName): Promise<number> => {
    const reserve = of(chain)
    const isBusy = now() - reserve.filledAtMs < BUSY_MS
    reserve.batch = Math.max(BATCH_MIN, Math.min(BATCH_MAX, isBusy ? reserve.batch * 2 : reserve.batch / 4))
    const rows = await reserveFresh(db, chain, reserve.batch, () => ownOf(reserve))
    reserve.filledAtMs = now()
    reserve.rows.push(...rows.map((row) => ({ row, untilMs: now() + RELIED_ON_MS })))
    return rows.length
  }

  return {
    async take(db, chain) {
      // What a transaction sets aside is undone with it: it takes one, under its own lock.
      if ('inTransaction' in db) {
        const reserve = of(chain)
        const [taken = null] = await reserveFresh(db, chain, 1, () => underwayOf(reserve))
        reserve.rows = reserve.rows.filter(({ row }) => row.address !== taken?.address)
        return taken
      }
      for (;;) {
        const reserve = of(chain)
        if (reserve.isDoubted) await dropStale(db, reserve)
        const next = reserve.rows.shift()
        if (next && next.untilMs < now()) continue
        if (next) {
          remember(reserve.given, next.row.address)
          const isLow = reserve.rows.length < reserve.batch / 2 && now() - reserve.filledAtMs < BUSY_MS
          // Who comes to an empty reserve is told what went wrong.
          if (isLow) reserve.fill(db).catch(() => {})
          return next.row
        }
        if ((await reserve.fill(db)) === 0) return null
      }
    },
    giveBack(row) {
      const { rows, given } = of(row.chain)
      given.delete(row.address)
      rows.unshift({ row, untilMs: now() + RELIED_ON_MS / 2 })
    },
    doubt: (chain) => {
      of(chain).isDoubted = true
    },
  }
}

async function dropStale(db: Queryable, reserve: Reserve): Promise<void> {
  reserve.isDoubted = false
  const doubted = reserve.rows.splice(0)
  for (const each of doubted) reserve.lookedAt.add(each)
  try {
    const fresh = await listStillFresh(
      db,
      doubted.map(({ row }) => row),
    )
    reserve.rows.unshift(...doubted.filter(({ row }) => fresh.has(row.address)))
  } finally {
    for (const each of doubted) reserve.lookedAt.delete(each)
  }
}

/** What this process gave to a payment that may be under way, or doubts: nobody is helped by taking those from itself. */
const underwayOf = ({ lookedAt, given }: Reserve): string[] => [
  ...given,
  ...[...lookedAt].map(({ row }) => row.address),
]

/** With what it has set aside for others to come. */
const ownOf = (reserve: Reserve): string[] => [
  ...underwayOf(reserve),
  ...reserve.rows.map(({ row }) => row.address),
]

function remember(given: Set<string>, address: string): void {
  given.delete(address)
  given.add(address)
  const [oldest] = given
  if (given.size > GIVEN_MAX && oldest !== undefined) given.delete(oldest)
}

/**
 * The addresses of those that nobody was given, that are as they were read (another secret key writes other MACs), and
 * whose wallet is the current one still. Each row is found by its key (`offset 0`), not among all that are fresh.
 */
async function listStillFresh(db: Queryable, rows: readonly ReservedAddress[]): Promise<Set<string>> {
  const [first] = rows
  if (!first) return new Set()
  const { rows: fresh } = await db.query<{ address: string }>(
    `select a.address from unnest($2::bytea[], $3::bytea[], $4::bytea[]) as known (lookup, mac, wallet_mac)
     join wallets w on w.chain = $1 and w.retired_at is null and w.mac = known.wallet_mac
     cross join lateral (select * from addresses where chain = $1 and lookup = known.lookup offset 0) a
     where a.mac = known.mac and a.series = w.series and a.issued_at is null and not a.withheld`,
    [first.chain, ...arraysOf(rows, 'lookup', 'mac'), rows.map(({ wallet }) => wallet.mac)],
  )
  return new Set(fresh.map(({ address }) => address))
}

/**
 * Sets fresh addresses of the current wallet aside, lowest position first. When all that are left belong to other
 * processes, some of the highest are taken from them: better that two meet at a row than that there is no address.
 *
 * @param own - Addresses that are not taken from this process itself; asked for when all that are left are set aside.
 */
async function reserveFresh(
  db: Queryable,
  chain: ChainName,
  limit: number,
  own: () => readonly string[],
): Promise<ReservedAddress[]> {
  const free = await db.query<ReservedRow>(RESERVE_FREE, [chain, limit, RESERVED_SECONDS])
  const { rows } =
    free.rows.length > 0
      ? free
      : await db.query<ReservedRow>(RESERVE_ANY, [chain, Math.min(limit, BATCH_MIN), RESERVED_SECONDS, own()])
  const [first] = rows
  if (!first) return []
  // One statement sees one current wallet.
  const { series, network, xpub, wallet_mac: mac } = first
  const wallet = { chain, series, network, xpub, mac }
  return rows.map((row) => ({ ...row, wallet })).sort((a, b) => (a.position < b.position ? -1 : 1))
}

type ReservedRow = AddressRow & { network: NetworkMode; xpub: string; wallet_mac: Buffer }

/** Locks the rows it sets aside, stepping over those that others are locking at this moment. */
const reserve = (where: string, order: string) => `
  with current as (
    select series, network, xpub, mac from wallets where chain = $1 and retired_at is null
  ), fresh as (
    select a.chain, a.lookup from addresses a
    where a.chain = $1 and a.branch = 0 and a.issued_at is null and not a.withheld ${where}
      and a.series = (select series from current)
    order by a.position ${order} limit $2 for update skip locked
  )
  update addresses a set reserved_until = now() + make_interval(secs => $3)
  from fresh, current where a.chain = fresh.chain and a.lookup = fresh.lookup
  returning a.chain, a.lookup, a.series, a.branch, a.position, a.address, a.mac, current.network, current.xpub,
    current.mac as wallet_mac`
const RESERVE_FREE = reserve('and (a.reserved_until is null or a.reserved_until < now())', 'asc')
const RESERVE_ANY = reserve('and a.address <> all($4::text[])', 'desc')
