import { type Account, readAccountDraft } from '../accounts/account.ts'
import { insertAccount, listAccounts } from '../accounts/accounts.sql.ts'
import { showId } from '../core/ids.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

export async function createAccount(
  terminal: Terminal,
  given: { name: string; email: string; mode: string; currency: string },
): Promise<void> {
  const draft = readAccountDraft(given)
  const account = shown(await withStore(({ db }) => insertAccount(db, draft)))
  terminal.answer(account, [
    `${account.id}  ${account.name} (${account.mode}, ${account.currency})`,
    `A key for it: beck keys create --account ${account.id} --name server --scopes all`,
  ])
}

export async function showAccounts(terminal: Terminal): Promise<void> {
  const accounts = (await withStore(({ db }) => listAccounts(db))).map(shown)
  terminal.answer(
    { accounts },
    accounts.length === 0
      ? ['There is no account yet: beck accounts create --name Shop --email shop@example.com --mode test']
      : table(accounts.map(({ id, mode, currency, name, email }) => [id, mode, currency, name, email])),
  )
}

const shown = ({ id, name, email, mode, currency, createdAt }: Account) => ({
  id: showId('acct', id),
  name,
  email,
  mode,
  currency,
  created_at: createdAt.toISOString(),
})
