/** The inputs of a transaction, with their keys: nothing is signed for a coin that is not at the address its row names. */
import type { SignedInput } from '../chains/bitcoin/sign.ts'
import { invariant } from '../core/errors.ts'
import type { OwnedCoin } from './requests.sql.ts'
import type { ChainKeys } from './vault.ts'

export function inputsOf(keys: ChainKeys, coins: readonly OwnedCoin[]): SignedInput[] {
  return coins.map((coin) => {
    invariant(
      Buffer.from(keys.address(coin.branch, coin.position).lookup).equals(coin.script),
      `coin ${coin.txid}:${coin.index} is not at the address that its row names`,
    )
    return { ...coin, privateKey: keys.privateKey(coin.branch, coin.position) }
  })
}
