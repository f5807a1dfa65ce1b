/** The inputs of a transaction, with their keys: nothing is signed for a UTXO that is not at the address its row names. */
import type { SignedInput } from '../chains/bitcoin/sign.ts'
import { invariant } from '../core/errors.ts'
import { depositDepth } from '../treasury/select-utxos.ts'
import type { Signer } from './context.ts'
import { listSpendable, type OwnedUtxo } from './spendable-utxos.sql.ts'
import type { ChainKeys } from './vault.ts'

export function inputsOf(keys: ChainKeys, utxos: readonly OwnedUtxo[]): SignedInput[] {
  return utxos.map((utxo) => {
    invariant(
      Buffer.from(keys.address(utxo.branch, utxo.position).lookup).equals(utxo.script),
      `coin ${utxo.txid}:${utxo.index} is not at the address that its row names`,
    )
    return { ...utxo, privateKey: keys.privateKey(utxo.branch, utxo.position) }
  })
}

/** The largest that may be spent now, no more than the limit: {@link listSpendable}. */
export const spendableNow = (
  { db, config }: Signer,
  { chain, series }: ChainKeys,
  limit: number,
): Promise<OwnedUtxo[]> =>
  listSpendable(db, { chain, series, depositDepth: depositDepth(config, chain), limit })
