/**
 * What the signer cannot ask a node itself: what the network charges now and, on chains with accounts, where the nonces
 * of our senders stand and what these hold. The signer takes them as hints within bounds of its own.
 */
import type { ChainPort, FeeRates } from '../../chains/chain.ts'
import { type ChainName, networkOfChain } from '../../core/assets.ts'
import { larger, notBelowZero, smaller } from '../../core/money.ts'
import { findFeeRates, storeFeeRates } from '../../treasury/fee-rates.sql.ts'
import { boundedRate, type NetworkRates, RATE_BOUNDS } from '../../treasury/fees.ts'
import { raiseNonce, storeBalances } from '../../treasury/senders.sql.ts'
import { listSweptAddresses } from '../../treasury/sweeps.sql.ts'
import { HOT_WALLET_POSITION, INTERNAL_BRANCH, readAccountKey } from '../../wallets/derivation.ts'
import { findCurrentWallet } from '../../wallets/wallets.sql.ts'
import type { Gateway } from '../gateway.ts'

/** @returns The rates now; null where the node has no estimate and none is guessed: what was known before holds for ten minutes. */
export async function refreshFeeRates(gateway: Gateway, port: ChainPort): Promise<NetworkRates | null> {
  const { chain } = port
  const rates = ratesOf(port, await port.feeRates())
  if (rates) {
    gateway.concerns?.delete(`fees ${chain}`)
    await storeFeeRates(gateway.db, chain, rates)
  } else if ((await findFeeRates(gateway.db, chain)) === null)
    gateway.concerns?.set(
      `fees ${chain}`,
      `the node of ${chain} has no estimate of fees: withdrawals wait until it has watched some hours of blocks`,
    )
  return rates
}

/** Never below what the node's mempool takes. */
function ratesOf(port: ChainPort, seen: FeeRates): NetworkRates | null {
  const network = networkOfChain(port.chain)
  if (seen.kind === 'gas')
    return {
      rate: boundedRate(network, seen.baseFeeWei),
      priorityRate: smaller(notBelowZero(seen.priorityFeeWei), RATE_BOUNDS[network].ceiling),
      fork: seen.fork,
    }
  if (seen.atomsPerKvb === null && !seen.mayGuess) return null
  const estimate = seen.atomsPerKvb ?? RATE_BOUNDS[network].fallback
  const rate = larger(estimate, seen.floorAtomsPerKvb)
  return { rate: boundedRate(network, rate), priorityRate: 0n }
}

/** Nonces and balances of the hot wallet and of the addresses under a sweep. Chains with outputs have neither. */
export async function refreshSenders(gateway: Gateway, port: ChainPort): Promise<void> {
  const { chain } = port
  if (!port.nextNonce) return
  const hot = await hotWalletOf(gateway, chain)
  if (hot === null) return
  for (const address of [hot, ...(await listSweptAddresses(gateway.db, chain))]) {
    const { height, hash } = await port.tip()
    await raiseNonce(gateway.db, chain, address, await port.nextNonce(address))
    const balances = await port.holdings({ outpoints: [], addresses: [address], at: hash })
    await storeBalances(gateway.db, chain, address, balances, height)
  }
}

/** The address that payouts leave from on a chain with accounts; null without a wallet. */
export async function hotWalletOf(
  gateway: Pick<Gateway, 'db' | 'secrets'>,
  chain: ChainName,
): Promise<string | null> {
  const wallet = await findCurrentWallet(gateway.db, gateway.secrets, chain)
  if (!wallet) return null
  const name = `${chain} ${wallet.mode} ${wallet.xpub}`
  const known = hotWallets.get(name)
  if (known !== undefined) return known
  const { address } = readAccountKey(chain, wallet.mode, wallet.xpub).derive(
    INTERNAL_BRANCH,
    HOT_WALLET_POSITION,
  )
  hotWallets.set(name, address)
  return address
}

/** Derived once: it is asked for after every block. */
const hotWallets = new Map<string, string>()
