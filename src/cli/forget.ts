/** `beck forget customer`: removes one person. */
import { invalid, notFound } from '../core/errors.ts'
import { readId, showId } from '../core/ids.ts'
import { forgetCustomers } from '../flows/operation/forget-customer.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

export async function forgetCustomer(
  terminal: Terminal,
  person: string,
  options: { readonly account?: string },
): Promise<void> {
  const account = options.account === undefined ? null : readId('acct', options.account)
  if (options.account !== undefined && account === null)
    throw invalid('invalid_account', `"${options.account}" is no account; npx beck accounts list shows them`)
  const id = readId('cus', person)
  const forgotten = await withStore(({ db, secrets }) =>
    forgetCustomers(db, secrets, id ? { id } : { email: person }, account, (tx, customer) =>
      recordCommand(tx, {
        accountId: customer.accountId,
        action: 'customer.forget',
        subject: showId('cus', customer.id),
      }),
    ),
  )
  if (forgotten.length === 0) throw notFound('customer_not_found', 'no customer has this email or id')
  const isAuditAnew = forgotten.some(({ acts }) => acts > 0)
  terminal.answer(
    {
      forgotten: forgotten.map(({ accountId, id: customer, ...counts }) => ({
        account_id: showId('acct', accountId),
        id: showId('cus', customer),
        ...counts,
      })),
    },
    [
      ...table(
        forgotten.map(({ accountId, id: customer, payments, sessions, events, acts }) => [
          showId('cus', customer),
          `of ${showId('acct', accountId)}`,
          `${payments} payments, ${sessions} checkout sessions, ${events} events, ${acts} acts`,
        ]),
      ),
      ...(isAuditAnew ? ['', 'The audit log has another end now; npx beck audit verify prints it.'] : []),
      '',
      'Answers kept for retries hold the email for up to 24 hours more; backups for as long as you keep them.',
    ],
  )
}
