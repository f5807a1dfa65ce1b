/** What the chain showed, and for whom it was recorded: a MAC keeps it as the watcher wrote it. */
import { TamperedRow } from '../core/errors.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Deposit } from './deposit.ts'

type Shown = Pick<
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
export const depositMacParts = (shown: Shown): string[] => [
  shown.accountId,
  shown.paymentId,
  shown.chain,
  shown.asset,
  shown.txKey,
  String(shown.outputIndex),
  shown.address,
  String(shown.amountAtoms),
  String(shown.requiredConfirmations),
]

export const macOfDeposit = (secrets: Secrets, shown: Shown): Buffer =>
  secrets.mac(PURPOSE, depositMacParts(shown))

/**
 * To be asked before a deposit is booked.
 *
 * @param address - Of its payment: a deposit at another one was led here by a row that somebody changed.
 * @throws {TamperedRow} when it is not as the watcher recorded it, or paid something else.
 */
export function requireOwnDeposit(
  secrets: Secrets,
  deposit: Shown & Pick<Deposit, 'id' | 'mac'>,
  address: string,
): void {
  if (!secrets.isMac(deposit.mac, PURPOSE, depositMacParts(deposit)))
    throw new TamperedRow(
      `deposit ${deposit.id} is not as it was recorded: its row in deposits was tampered with`,
    )
  if (deposit.address !== address)
    throw new TamperedRow(
      `deposit ${deposit.id} was paid to ${deposit.address}, and payment ${deposit.paymentId} was given ${address}: a row in addresses was tampered with`,
    )
}
