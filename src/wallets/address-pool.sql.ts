/** Fresh deposit addresses, derived ahead of time so that no request does curve arithmetic. */
import type { ChainName } from '../core/assets.ts'
import type { AccountId, PaymentId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'

export interface AddressPool {
  /**
   * Takes the next fresh address for a payment, for good: an address is never issued twice.
   *
   * @throws {Refusal} `unavailable`, reason `no_address`, when the chain has no wallet yet (`beck wallet init`) or its
   *   pool ran dry.
   * @throws {InvariantBroken} when the row's MAC does not hold: somebody wrote it who should not.
   */
  issue(tx: Tx, chain: ChainName, accountId: AccountId, paymentId: PaymentId): Promise<string>
  /** Whether an issued address is still the one we derived; checked before a page shows it. */
  isAuthentic(tx: Pick<Tx, 'query'>, chain: ChainName, address: string): Promise<boolean>
}
