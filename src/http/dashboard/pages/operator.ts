/** Merchants of the whole Beck: made, closed and opened again. */
import type { Account } from '../../../accounts/account.ts'
import { findAccount, findAccounts } from '../../../accounts/accounts.sql.ts'
import { notFound } from '../../../core/errors.ts'
import { type AccountId, readId, showId } from '../../../core/ids.ts'
import { isoOrNull } from '../../../core/time.ts'
import { CLOSING_ACTS, closeAccount } from '../../../flows/accounts/close-account.ts'
import { listAccountsAlone } from '../../../flows/people/accounts-alone.sql.ts'
import { openMerchant } from '../../../flows/people/merchants.ts'
import { type ListedMerchant, listMerchants } from '../../../users/merchants.sql.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { drawList, readList } from '../list.ts'
import { createdColumn } from '../list-columns.ts'
import type { Filter } from '../list-query.ts'
import { button, card, copyable, empty, FIAT_CHOICES, field, formProblem, select, submit } from '../parts.ts'
import { type DashboardRow, type PersonCall, personRow, type Sheet } from '../row.ts'
import { badge, count, time } from '../words.ts'

const MERCHANT_FILTERS: readonly Filter[] = [
  { name: 'filter_name', label: 'Name', kind: 'text' },
  { name: 'filter_account', label: 'Account id', kind: 'text' },
  { name: 'filter_id', label: 'Merchant id', kind: 'text' },
]
const ALONE_MAX = 50

async function merchantsPage(call: PersonCall): Promise<Sheet> {
  const { db } = call.gateway
  const [list, alone] = await Promise.all([
    readList(call, MERCHANT_FILTERS, (query) => listMerchants(db, query)),
    listAccountsAlone(db, ALONE_MAX),
  ])
  const listed = list.page.items.flatMap(({ liveAccountId, testAccountId }) => [liveAccountId, testAccountId])
  const accounts = await findAccounts(db, [...listed.filter((id) => id !== null), ...alone])
  const byId = new Map(accounts.map((account) => [account.id, account]))
  const cell = (id: AccountId | null) => {
    const account = id && byId.get(id)
    return account && html`${copyable(showId('acct', id), 'Copy the account id')}${closing(call, account)}`
  }
  return {
    title: 'Merchants',
    nav: 'op-merchants',
    content: html`${drawList<ListedMerchant>(call, {
      title: 'Merchants',
      lead: formProblem(call),
      list,
      filters: MERCHANT_FILTERS,
      columns: [
        {
          label: 'Name',
          sort: 'name',
          cell: (row) =>
            html`<strong>${row.name}</strong><br>${copyable(showId('mer', row.id), 'Copy the merchant’s id')}`,
        },
        { label: 'Live account', name: 'live', cell: (row) => cell(row.liveAccountId) },
        { label: 'Test account', name: 'test', cell: (row) => cell(row.testAccountId) },
        { label: 'Team', name: 'team', isFigure: true, cell: (row) => count(row.members) },
        createdColumn(call, 'Since', { isMinor: true }),
      ],
      emptyPart: empty('No merchant yet', 'Make one below.'),
    })}
${aloneCard(
  call,
  alone.flatMap((id) => byId.get(id) ?? []),
)}
${card('New merchant', html`<form method="post" action="${call.base}/operator/merchants"><div class="pair">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 255 })}${field(call, { name: 'email', label: 'Email', type: 'email', required: true, maxlength: 254 })}${select(call, { name: 'currency', label: 'Settlement currency', choices: FIAT_CHOICES })}</div><p class="hint">You become its first owner; invite its people from its team page.</p>${submit('Make the merchant')}</form>`)}`,
  }
}

const aloneCard = (call: PersonCall, alone: readonly Account[]): Part =>
  alone.length > 0 &&
  card(
    'Accounts without people',
    html`<ul class="rows">${alone.map((account) => html`<li><div><strong>${account.name}</strong><span>${account.mode}, ${copyable(showId('acct', account.id), 'Copy the account id')}</span></div>${closing(call, account)}<code>npx beck users invite EMAIL --account ${showId('acct', account.id)} --role owner</code></li>`)}</ul>${alone.length === ALONE_MAX && html`<p class="hint">The newest ${ALONE_MAX}; <code>npx beck accounts list</code> has all.</p>`}`,
  )

/** Whether an account is closed, and the way to the other of the two. */
function closing(call: PersonCall, { id, name, mode, closedAt }: Account) {
  const act = closedAt ? 'reopen' : 'close'
  const label = closedAt ? 'Reopen' : 'Close'
  const form = button(`${call.base}/operator/accounts/${showId('acct', id)}/${act}`, label, {
    name: `${label} ${name} (${mode})`,
  })
  return html`<div>${closedAt && html`${badge('closed')} ${time(closedAt)} `}${form}</div>`
}

/** Closing and reopening, each confirmed for itself. */
const closingRow = (act: keyof typeof CLOSING_ACTS): DashboardRow =>
  personRow('operator', `POST /operator/accounts/:id/${act}`, {
    confirm: 'fresh',
    async consequence(call) {
      const account = await accountOf(call)
      const words =
        act === 'close'
          ? html`<p class="lead"><strong>${account.name}</strong> (${account.mode}) takes no new payments, checkouts, links or keys from now on. Payments and withdrawals under way go on, its balance can be withdrawn, nothing is deleted, and you can open it again.</p>`
          : html`<p class="lead"><strong>${account.name}</strong> (${account.mode}) takes payments again.</p>`
      return { words }
    },
    async handle(call) {
      await change(call, async (tx, record) => {
        const { id, closedAt } = await closeAccount(tx, readId('acct', call.params.id ?? ''), act)
        record({
          action: CLOSING_ACTS[act],
          accountId: id,
          subject: showId('acct', id),
          after: { closed_at: isoOrNull(closedAt) },
        })
      })
      return {
        to: `${call.base}/operator/merchants`,
        done: act === 'close' ? 'account-closed' : 'account-reopened',
      }
    },
    redraw: merchantsPage,
  })

async function accountOf({ gateway, params }: PersonCall): Promise<Account> {
  const id = readId('acct', params.id ?? '')
  const account = id && (await findAccount(gateway.db, id))
  if (!account) throw notFound('account_not_found', 'there is no such account')
  return account
}

export const operatorRows: readonly DashboardRow[] = [
  personRow('operator', 'GET /operator/merchants', { handle: merchantsPage }),
  personRow('operator', 'POST /operator/merchants', {
    confirm: 'recent',
    async handle(call) {
      const { form, gateway, person } = call
      const { account } = await gateway.db.transaction((tx) =>
        openMerchant(tx, person, {
          name: form.get('name'),
          email: form.get('email'),
          currency: form.get('currency') || 'USD',
          isMember: true,
        }),
      )
      return { to: `${call.base}/${showId('acct', account.id)}` }
    },
    redraw: merchantsPage,
  }),
  closingRow('close'),
  closingRow('reopen'),
]
