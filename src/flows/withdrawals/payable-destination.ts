/** Whether coins can be paid to an address: it is valid, money would come back from it, and it takes what is sent there. */
import type { Account } from '../../accounts/account.ts'
import { type Asset, type ChainName, networkOf } from '../../core/assets.ts'
import { unavailable, unprocessable } from '../../core/errors.ts'
import type { Queryable } from '../../db/database.ts'
import { sharedRead } from '../../db/together.ts'
import { isSweepDelegate } from '../../treasury/sweep-delegates.sql.ts'
import { isOwnAddress } from '../../wallets/address-pool.sql.ts'
import { findCurrentWallet, type Wallet } from '../../wallets/wallets.sql.ts'
import { type Destination, LostAddress, readDestination } from '../../withdrawals/destination.ts'
import { countReverts } from '../../withdrawals/reverts.sql.ts'
import type { Gateway } from '../gateway.ts'

/** So many withdrawals of an account may revert within a day before it waits. */
const REVERTS_PER_DAY = 3

/** Valid on this network in this mode, and not a place that money would not come back from. */
export async function requirePayable(
  gateway: Pick<Gateway, 'secrets' | 'settings'>,
  db: Queryable,
  asset: Asset,
  chain: ChainName,
  address: string,
): Promise<{ readonly wallet: Wallet; readonly destination: Destination }> {
  const wallet = await readWallet(db, gateway.secrets, chain)
  const destination = readDestination(asset, wallet?.mode ?? null, address)
  if (gateway.settings.tokenContracts.some((contract) => contract.toLowerCase() === address.toLowerCase()))
    throw new LostAddress(
      `${address} is a token's contract; what is sent there is lost. Give the wallet's own address`,
    )
  if (!wallet)
    throw unavailable(
      'no_wallet',
      `${asset} cannot be paid out yet: the operator runs \`npx beck wallet init\` once`,
    )
  if (await isOwnAddress(db, chain, destination.lookup))
    throw new LostAddress(`${address} is an address of this gateway itself; give a wallet of your own`)
  if (await isSweepDelegate(db, chain, address))
    throw new LostAddress(`${address} is the contract that sweeps run at; what is sent there is lost`)
  return { wallet, destination }
}

const readWallet = sharedRead(findCurrentWallet)

/** What reverts costs whoever asked for it its gas, and takes a nonce of the hot wallet from others. */
export async function requireNoRevert(
  db: Queryable,
  account: Pick<Account, 'id'>,
  asset: Asset,
  address: string,
): Promise<void> {
  if (networkOf(asset) !== 'ethereum') return
  const { count, here } = await countReverts(db, account.id, asset, address)
  if (here)
    throw unprocessable(
      'destination_reverts',
      `a payout of ${asset} to ${address} reverted within the last day: the address, or the token, does not take it. Use another address, or try again tomorrow`,
      [{ field: 'destination_address', message: `did not take ${asset}` }],
    )
  if (count >= REVERTS_PER_DAY)
    throw unprocessable(
      'withdrawals_revert',
      `${count} withdrawals of this account reverted within the last day; no more than ${REVERTS_PER_DAY} may. Ask the receivers how they take coins, and try again tomorrow`,
    )
}
