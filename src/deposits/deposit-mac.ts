/** What the chain showed, and for whom it was recorded: a MAC keeps it as the watcher wrote it. */
import { TamperedRow } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Deposit } from './deposit.ts'

type Observed = Pick<
  Deposit,
  | 'accountId'
  | 'paymentId'
  | 'chain'
  | 'asset'
  | 'txKey'
  | 'outputIndex'
  | 'address'
  | 'amountAtoms'
  | 'requiredConfirmations'
>

const PURPOSE = 'deposit'

/** What the MAC of a deposit covers. */
export const depositMacParts = (observed: Observed): string[] => [
  observed.accountId,
  observed.paymentId,
  observed.chain,
  observed.asset,
  observed.txKey,
  String(observed.outputIndex),
  observed.address,
  String(observed.amountAtoms),
  String(observed.requiredConfirmations),
]

export const macOfDeposit = (secrets: Secrets, observed: Observed): Buffer =>
  secrets.mac(PURPOSE, depositMacParts(observed))

/**
 * To be asked before a deposit is booked.
 *
 * @param address - Of its payment: a deposit at another one was led here by a row that somebody changed.
 * @throws {TamperedRow} when it is not as the watcher recorded it, or paid something else.
 */
export function requireAuthenticDeposit(
  secrets: Secrets,
  deposit: Observed & Pick<Deposit, 'id' | 'mac'>,
  address: string,
): void {
  if (!secrets.isMac(deposit.mac, PURPOSE, depositMacParts(deposit)))
    throw new TamperedRow(
      `deposit ${showId('dep', deposit.id)} is not as it was recorded: its row in deposits was tampered with`,
    )
  if (deposit.address !== address)
    throw new TamperedRow(
      `deposit ${showId('dep', deposit.id)} was paid to ${deposit.address}, and payment ${showId('pay', deposit.paymentId)} was given ${address}: a row in addresses was tampered with`,
    )
}
