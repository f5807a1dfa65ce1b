import { readFile } from 'node:fs/promises'
import { type Account, readAccountDraft } from '../accounts/account.ts'
import { insertAccount, listAccounts, lockAccount } from '../accounts/accounts.sql.ts'
import { invalid } from '../core/errors.ts'
import { readId, showId } from '../core/ids.ts'
import { formatDecimal } from '../core/money.ts'
import type { Tx } from '../db/database.ts'
import { type AccountChanges, changeAccount } from '../flows/accounts/change-account.ts'
import { CLOSING_ACTS, closeAccount } from '../flows/accounts/close-account.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { inTransaction, withStore } from './tool.ts'

export async function createAccount(
  terminal: Terminal,
  given: { name: string; email: string; mode: string; currency: string },
): Promise<void> {
  const draft = readAccountDraft(given)
  const { account, others } = await inTransaction(async (tx) => {
    const others = (await listAccounts(tx))
      .filter(({ email, mode }) => email === draft.email && mode === draft.mode)
      .map(({ id }) => showId('acct', id))
    const made = await insertAccount(tx, draft)
    const { id: subject, created_at: _at, closed_at: _open, ...after } = shown(made)
    await recordCommand(tx, { accountId: made.id, action: 'account.create', subject, after })
    return { account: shown(made), others }
  })
  terminal.answer({ ...account, same_email: others }, [
    `${account.id}  ${account.name} (${account.mode}, ${account.currency})`,
    `A key for it: npx beck keys create --account ${account.id} --name server --scopes payments:write,payments:read`,
    ...(others.length > 0
      ? [`Note: ${others.join(', ')} had this email in ${account.mode} mode before; was it made twice?`]
      : []),
  ])
}

type Changed =
  | ('name' | 'currency' | 'brandName' | 'logo' | 'color' | 'frameOrigins' | 'successUrl' | 'cancelUrl')
  | ('lateFunds' | 'tolerance' | 'fee' | 'coins' | 'contact' | 'termsUrl' | 'privacyUrl')

/** What is not given stays as it is; `none` takes it away. */
export async function setAccount(
  terminal: Terminal,
  given: { readonly account: string } & { readonly [option in Changed]?: string },
): Promise<void> {
  const text = (value: string | undefined) => (value === 'none' ? null : value)
  const origins = given.frameOrigins === 'none' ? '' : given.frameOrigins
  const changes: AccountChanges = {
    name: given.name,
    currency: given.currency,
    brandName: text(given.brandName),
    brandColor: text(given.color),
    successUrl: text(given.successUrl),
    cancelUrl: text(given.cancelUrl),
    frameOrigins: origins?.split(',').filter((origin) => origin.trim() !== ''),
    logo: given.logo === undefined ? undefined : given.logo === 'none' ? null : await readPicture(given.logo),
    tolerance: given.tolerance,
    fee: given.fee === 'default' ? null : given.fee,
    offeredAssets: given.coins === 'all' ? null : given.coins?.split(','),
    contact: text(given.contact),
    termsUrl: text(given.termsUrl),
    privacyUrl: text(given.privacyUrl),
    acceptsLateFunds: given.lateFunds === undefined ? undefined : acceptsLateFunds(given.lateFunds),
  }
  const id = readId('acct', given.account)
  const account = await inTransaction(async (tx) => {
    const was = id && (await lockAccount(tx, id))
    const changed = await changeAccount(tx, id, changes)
    if (was) await recordChange(tx, was, changed)
    return changed
  })
  const shown = settings(account)
  terminal.answer(
    shown,
    Object.entries(shown).map(
      ([name, value]) => `${name.padEnd(18)}${value === null ? 'none' : String(value) || 'none'}`,
    ),
  )
}

/** Records only what differs. */
async function recordChange(tx: Tx, was: Account, is: Account): Promise<void> {
  const [old, next] = [settings(was), settings(is)]
  const differs = Object.keys(next).filter(
    (name) => JSON.stringify(Reflect.get(old, name)) !== JSON.stringify(Reflect.get(next, name)),
  )
  const only = (of: object) => Object.fromEntries(differs.map((name) => [name, Reflect.get(of, name)]))
  await recordCommand(tx, {
    accountId: is.id,
    action: 'account.change',
    subject: next.id,
    before: only(old),
    after: only(next),
  })
}

function acceptsLateFunds(text: string): boolean {
  if (text === 'accept' || text === 'hold') return text === 'accept'
  throw invalid('invalid_late_funds', `--late-funds is hold or accept, got "${text}"`)
}

async function readPicture(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw invalid('unreadable_logo', `the picture ${path} cannot be read: ${String(cause)}`)
  }
}

const settings = (account: Account) => ({
  id: showId('acct', account.id),
  name: account.name,
  currency: account.currency,
  brand_name: account.brandName,
  brand_logo: account.brandLogo,
  brand_color: account.brandColor,
  frame_origins: account.frameOrigins,
  success_url: account.successUrl,
  cancel_url: account.cancelUrl,
  accepts_late_funds: account.acceptsLateFunds,
  coins: account.offeredAssets ?? 'all',
  contact: account.contact,
  terms_url: account.termsUrl,
  privacy_url: account.privacyUrl,
  tolerance_percent: formatDecimal(BigInt(account.toleranceBps), 2),
  fee_percent: account.feeBps === null ? 'default' : formatDecimal(BigInt(account.feeBps), 2),
})

/** Closed, it takes no new payments; what is under way ends as ever, and it can be opened again. */
export async function setAccountClosed(
  terminal: Terminal,
  text: string,
  act: keyof typeof CLOSING_ACTS,
): Promise<void> {
  const account = await inTransaction(async (tx) => {
    const changed = await closeAccount(tx, readId('acct', text), act)
    const { closed_at } = shown(changed)
    const subject = showId('acct', changed.id)
    await recordCommand(tx, {
      accountId: changed.id,
      action: CLOSING_ACTS[act],
      subject,
      after: { closed_at },
    })
    return changed
  })
  terminal.answer(shown(account), [
    act === 'close'
      ? `${account.name} is closed: no new payments, checkouts, links or keys. What is under way goes on, and its balance can be withdrawn.`
      : `${account.name} is open again.`,
  ])
}

export async function showAccounts(terminal: Terminal): Promise<void> {
  const accounts = (await withStore(({ db }) => listAccounts(db))).map(shown)
  terminal.answer(
    { accounts },
    table(
      accounts.map((each) => [
        each.id,
        each.mode,
        each.closed_at ? 'closed' : 'open',
        each.currency,
        each.name,
        each.email,
      ]),
      'There is no account yet: npx beck accounts create --name Shop --email shop@example.com --mode test',
    ),
  )
}

const shown = ({ id, name, email, mode, currency, createdAt, closedAt }: Account) => ({
  id: showId('acct', id),
  name,
  email,
  mode,
  currency,
  created_at: createdAt.toISOString(),
  closed_at: closedAt?.toISOString() ?? null,
})
