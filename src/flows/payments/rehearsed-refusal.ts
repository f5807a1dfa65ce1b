/** Answers of bad days, on test accounts: a merchant's own code meets them before a node or an exchange is really away. */
import type { Account } from '../../accounts/account.ts'
import { unavailable } from '../../core/errors.ts'

/** References that ask for one, and what it says. */
const REHEARSED: Readonly<Record<string, readonly [reason: string, message: string]>> = {
  'sandbox:chain_unavailable': [
    'chain_unavailable',
    'the coin is not to be had now, as while its node is behind',
  ],
  'sandbox:no_rate': ['no_rate', 'there is no rate now, as while exchanges disagree'],
  'sandbox:no_address': ['no_address', 'there is no fresh address now, as while none is derived'],
}

/** @throws {Refusal} `unavailable`, when a test account's reference asks for it. */
export function refuseAsRehearsed(account: Pick<Account, 'mode'>, reference: string | null): void {
  const [reason, message] = (account.mode === 'test' && reference && REHEARSED[reference]) || []
  if (reason && message)
    throw unavailable(reason, `${message}; the reference of this test payment asked for it`)
}
