/** The account xpubs that addresses are derived from: published by the signer, authenticated, one current per chain. */
import type { ChainName } from '../core/assets.ts'
import { conflict, InvariantBroken } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { allRows } from '../db/rows.ts'
import { type NetworkMode, readAccountKey } from './derivation.ts'

export interface Wallet {
  readonly chain: ChainName
  /** Fingerprint of the account key; names the series of its addresses. */
  readonly series: string
  readonly mode: NetworkMode
  readonly xpub: string
  /** Next position of branch 1 that change goes to. */
  readonly nextChange: bigint
}

/** A row that says to be the current wallet; {@link requireCurrent} says whether it is. */
export interface WalletRow extends Pick<Wallet, 'chain' | 'series' | 'xpub'> {
  readonly network: NetworkMode
  readonly mac: Uint8Array
}

/** Whether it is the current one is among them: who writes the database can not make a retired one current again. */
export const walletMacParts = (
  chain: ChainName,
  series: string,
  mode: NetworkMode,
  xpub: string,
  state: 'current' | 'retired',
): string[] => [chain, series, mode, xpub, state]

/** @throws {InvariantBroken} when nobody who knows the secret key made this wallet the current one. */
export function requireCurrent(secrets: Secrets, row: WalletRow): void {
  if (
    secrets.isMac(row.mac, 'wallet', walletMacParts(row.chain, row.series, row.network, row.xpub, 'current'))
  )
    return
  throw new InvariantBroken(
    `the xpub of ${row.chain} was not published under this BECK_SECRET_KEY: another key, or its row in wallets was tampered with`,
  )
}

/** Those whose rows hold, in the order of their chains; what is wrong with the first other one, null when all hold. */
export interface SoundWallets {
  readonly wallets: readonly Wallet[]
  readonly broken: InvariantBroken | null
}

/** The wallets that fresh addresses come from now: one row that somebody changed is no reason to do without the others. */
export async function soundWallets(db: Queryable, secrets: Secrets): Promise<SoundWallets> {
  const wallets: Wallet[] = []
  let broken: InvariantBroken | null = null
  for (const row of await readCurrent(db, null))
    try {
      wallets.push(verified(secrets, row))
    } catch (error) {
      if (!(error instanceof InvariantBroken)) throw error
      broken ??= error
    }
  return { wallets, broken }
}

/**
 * The wallets that fresh addresses come from now.
 *
 * @throws {InvariantBroken} when a row's MAC does not hold: its deposits would go to somebody else's keys.
 */
export async function currentWallets(db: Queryable, secrets: Secrets): Promise<readonly Wallet[]> {
  const { wallets, broken } = await soundWallets(db, secrets)
  if (broken) throw broken
  return wallets
}

/**
 * The one of a chain, null before there is one; rows of other chains are not looked at.
 *
 * @throws {InvariantBroken} when its MAC does not hold.
 */
export async function findCurrentWallet(
  db: Queryable,
  secrets: Secrets,
  chain: ChainName,
): Promise<Wallet | null> {
  const [row] = await readCurrent(db, chain)
  return row ? verified(secrets, row) : null
}

type CurrentRow = WalletRow & Pick<Wallet, 'nextChange'>

/** @param chain - Null for all. */
const readCurrent = (db: Queryable, chain: ChainName | null): Promise<CurrentRow[]> =>
  allRows(
    db,
    `select chain, series, network, xpub, next_change as "nextChange", mac from wallets
     where retired_at is null and ($1::text is null or chain = $1) order by chain`,
    [chain],
  )

function verified(secrets: Secrets, row: CurrentRow): Wallet {
  requireCurrent(secrets, row)
  const { chain, series, network: mode, xpub, nextChange } = row
  return { chain, series, mode, xpub, nextChange }
}

/**
 * Makes a keystore's account xpub the current wallet of a chain. Publishing it again changes nothing. Locks the chain's wallets.
 *
 * @param options.replaces - Retires the current one of another key, whose addresses stay watched and whose coins stay with
 *   the old keystore.
 * @throws {Refusal} `conflict`, reason `other_network`, when the same key was published for another network mode;
 *   `wallet_exists`, when another key's is current and may not be replaced.
 */
export async function publishWallet(
  tx: Tx,
  secrets: Secrets,
  wallet: Pick<Wallet, 'chain' | 'mode' | 'xpub'>,
  options: { readonly replaces: boolean },
): Promise<void> {
  const { chain, mode, xpub } = wallet
  const series = readAccountKey(chain, mode, xpub).fingerprint
  const { rows } = await tx.query<WalletRow & { retired_at: Date | null }>(
    'select chain, series, network, xpub, mac, retired_at from wallets where chain = $1 for update',
    [chain],
  )
  const known = rows.find((row) => row.series === series)
  if (known && known.network !== mode)
    throw conflict(
      'other_network',
      `the wallet of ${chain} was made for ${known.network} and this server is set to ${mode}: one database serves one network; use another database`,
    )
  for (const row of rows) {
    if (row.series === series || row.retired_at) continue
    if (!options.replaces)
      throw conflict(
        'wallet_exists',
        `this database has a wallet of ${chain} already, of ${row.network} and of another key; npx beck wallet init --replace gives it up`,
      )
    await tx.query('update wallets set retired_at = now(), mac = $3 where chain = $1 and series = $2', [
      chain,
      row.series,
      secrets.mac('wallet', walletMacParts(chain, row.series, row.network, row.xpub, 'retired')),
    ])
  }
  await tx.query(
    `insert into wallets (chain, series, network, xpub, mac) values ($1, $2, $3, $4, $5)
     on conflict (chain, series) do update set retired_at = null, mac = excluded.mac`,
    [chain, series, mode, xpub, secrets.mac('wallet', walletMacParts(chain, series, mode, xpub, 'current'))],
  )
}

/** Positions of change below this one are given away; it never goes back. */
export async function raiseNextChange(tx: Tx, chain: ChainName, series: string, next: bigint): Promise<void> {
  await tx.query(
    'update wallets set next_change = greatest(next_change, $3::bigint) where chain = $1 and series = $2',
    [chain, series, next],
  )
}
