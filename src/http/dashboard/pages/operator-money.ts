/** The gateway's own money: its wallets, what it earned, was given and lost, how that is taken out, and what each account pays. */
import { listAccounts, lockAccount } from '../../../accounts/accounts.sql.ts'
import { ASSETS, isAsset, MODES, type Mode, modeOfChain } from '../../../core/assets.ts'
import { invalidField } from '../../../core/errors.ts'
import { GATEWAY_ACCOUNTS } from '../../../core/gateway-account.ts'
import { readId, showId } from '../../../core/ids.ts'
import { formatDecimal, larger } from '../../../core/money.ts'
import { expected } from '../../../db/list-filters.ts'
import { changeAccount } from '../../../flows/accounts/change-account.ts'
import { listHotWallets } from '../../../flows/operation/gateway-books.sql.ts'
import { readBacklog } from '../../../flows/operation/health.sql.ts'
import {
  cancelOwnPayout,
  type OwnBalance,
  type OwnOrder,
  quoteOwnPayout,
  readOwnBalances,
  requestOwnPayout,
} from '../../../flows/withdrawals/request-own-payout.ts'
import { walletAtoms } from '../../../ledger/own-sums.ts'
import { listWithdrawals } from '../../../withdrawals/list-withdrawals.sql.ts'
import { OWN_KINDS, WITHDRAWAL_STATUSES, type Withdrawal } from '../../../withdrawals/withdrawal.ts'
import { waitingOf } from '../../../withdrawals/withdrawal-resource.ts'
import { listRecentWithdrawals } from '../../../withdrawals/withdrawals.sql.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { listPage } from '../list.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import {
  button,
  type Column,
  card,
  coinsColumn,
  copyable,
  empty,
  facts,
  field,
  formProblem,
  select,
  submit,
  table,
} from '../parts.ts'
import { type DashboardRow, type Move, type PersonCall, personRow, type Sheet } from '../row.ts'
import { requireAsShown } from '../shown-figures.ts'
import { badge, coins, time } from '../words.ts'
import { whyFailed } from './withdrawal-words.ts'

const LISTED_PAYOUTS = 10

const percent = (bps: bigint): string => `${formatDecimal(bps, 2)} %`

async function moneyPage(call: PersonCall): Promise<Sheet> {
  const { db, settings } = call.gateway
  const [balances, hotWallets, { unswept }, live, test] = await Promise.all([
    readOwnBalances(db),
    listHotWallets(db),
    readBacklog(db),
    ...MODES.map((mode) => listRecentWithdrawals(db, GATEWAY_ACCOUNTS[mode], LISTED_PAYOUTS)),
  ])
  const payouts = [...(live ?? []), ...(test ?? [])]
  return {
    title: 'Wallets & fees',
    nav: 'op-money',
    isLive: payouts.some(isUnderWay),
    content: html`<header class="head"><h1>Wallets & fees</h1><div class="actions"><a class="button plain" href="${call.base}/operator/money/pay-outs">All that was taken out</a></div></header>${formProblem(call)}<p class="lead">The gateway’s own side of the books, per chain and coin. Payments cost ${percent(settings.feeBps)}, payouts ${percent(settings.payoutFeeBps)}; both are yours.</p>
${balances.length > 0 ? books(balances) : empty('Nothing was booked yet', 'The first confirmed deposit shows here.')}
${payouts.length > 0 && taken(call, payouts)}
${balances.length > 0 && takeOut(call, balances)}
${await accountFees(call)}
${card('Hot wallets', hotWallets.length > 0 ? html`<ul class="rows">${hotWallets.map((wallet) => html`<li><strong>${wallet.chain}</strong> ${copyable(wallet.address, 'Copy the address')}</li>`)}</ul><p class="hint">Coins you send there are your capital: gas, and a cushion for payouts.</p>` : html`<p class="hint">None yet; <code>npx beck wallet init</code> makes them.</p>`)}
${card('Not swept yet', unswept.length > 0 ? html`<ul class="rows">${unswept.map((row) => html`<li><strong>${row.chain}</strong> ${coins(row.atoms, row.asset)}</li>`)}</ul>` : html`<p class="hint">Nothing lies at deposit addresses.</p>`)}`,
  }
}

const books = (balances: readonly OwnBalance[]) =>
  table<OwnBalance>(
    'The gateway’s books',
    [
      { label: 'Chain', cell: (row) => row.chain },
      coinsColumn('Can be taken out', payableOf),
      {
        label: 'Wallet',
        isFigure: true,
        cell: (row) => html`<strong>${coins(walletAtoms(row), row.asset)}</strong>`,
      },
      coinsColumn('Owed to merchants', (row) => row.owed),
      coinsColumn('Fees earned', (row) => row.fees),
      coinsColumn('Capital', (row) => row.capital),
      coinsColumn('On its way', (row) => row.leaving, { isMinor: true }),
      coinsColumn('Network fees', (row) => row.networkFees, { isMinor: true }),
      coinsColumn('Loss', (row) => row.loss, { isMinor: true }),
    ],
    balances,
  )

const payableOf = ({ payable: { fees, capital } }: OwnBalance): bigint => larger(fees, capital)

const takenColumns = (call: PersonCall): readonly Column<Withdrawal>[] => [
  { label: 'Asked for', sort: 'created_at', cell: (row) => time(row.createdAt) },
  coinsColumn('Arrives', (row) => row.netAtoms),
  { label: 'Of', cell: (row) => `${row.kind}, ${row.chain}` },
  {
    label: 'Status',
    cell: (row) =>
      html`${badge(row.status)}${waitingOf(row) && html`<br><span class="hint">waits for ${waitingOf(row)}</span>`}${row.status === 'failed' && html`<br><span class="hint">${whyFailed(row)}</span>`}`,
  },
  { label: 'To', cell: (row) => copyable(row.destination, 'Copy the address') },
  {
    label: '',
    cell: (row) =>
      row.status === 'requested' &&
      !row.cancelWanted &&
      button(`${call.base}/operator/money/pay-outs/${showId('wd', row.id)}/cancel`, 'Cancel', {
        name: `Cancel ${showId('wd', row.id)}`,
      }),
  },
]

const isUnderWay = ({ status }: Withdrawal): boolean => status === 'requested' || status === 'broadcast'

const taken = (call: PersonCall, payouts: readonly Withdrawal[]) =>
  html`${table('Taken out', takenColumns(call), payouts)}<p class="hint">The latest ${LISTED_PAYOUTS} of live and of test.</p>`

const PAYOUT_FILTERS: readonly Filter[] = [
  { ...choiceOf('side', 'Side', ['test']), any: 'live' },
  choiceOf('filter_status', 'Status', WITHDRAWAL_STATUSES),
  choiceOf('filter_asset', 'Coin', ASSETS),
  choiceOf('filter_kind', 'Of', OWN_KINDS),
]

/** All that the gateway took out of its own, of one side at a time: each has its books. */
const payoutsPage = (call: PersonCall): Promise<Sheet> =>
  listPage<Withdrawal>(call, {
    nav: 'op-money',
    trail: [['Wallets & fees', `${call.base}/operator/money`]],
    title: 'Taken out',
    read({ side = 'live', ...query }) {
      const mode = MODES.find((each) => each === side)
      if (!mode) throw expected('side', `one of ${MODES.join(', ')}`, side)
      return listWithdrawals(call.gateway.db, GATEWAY_ACCOUNTS[mode], query)
    },
    isUnderWay,
    filters: PAYOUT_FILTERS,
    tabs: [
      ['Live', ''],
      ['Test', 'side=test'],
    ],
    columns: takenColumns(call),
    emptyPart: empty('Nothing was taken out', 'Fees and capital that you pay out to yourself show here.'),
  })

const takeOut = (call: PersonCall, balances: readonly OwnBalance[]) => {
  const choices = balances.flatMap((row) =>
    OWN_KINDS.filter((kind) => row.payable[kind] > 0n).map(
      (kind) =>
        [
          `${kind} ${modeOfChain(row.chain)} ${row.asset}`,
          `${kind} on ${row.chain}: ${coins(row.payable[kind], row.asset)}`,
        ] as const,
    ),
  )
  return card(
    'Take out fees and capital',
    choices.length === 0
      ? html`<p class="hint">Nothing now: what merchants have, fees under way and gas stay.</p>`
      : html`<form method="post" action="${call.base}/operator/money/pay-outs">${select(call, { name: 'of', label: 'What', choices })}${field(call, { name: 'amount', label: 'Amount', required: true, inputmode: 'decimal', maxlength: 80, hint: 'In the coin, such as 0.015. The network’s fee is taken from it.' })}${field(call, { name: 'destination_address', label: 'To the address', required: true, maxlength: 128, autocomplete: 'off' })}<p class="hint">It takes the road of every withdrawal: the signer’s limits and allowlist hold for it.</p>${submit('Go on')}</form>`,
  )
}

async function accountFees(call: PersonCall) {
  const accounts = await listAccounts(call.gateway.db)
  if (accounts.length === 0) return null
  const choices = accounts.map(
    ({ id, name, mode, feeBps }) =>
      [
        showId('acct', id),
        `${name} (${mode}): ${feeBps === null ? 'as all' : percent(BigInt(feeBps))}`,
      ] as const,
  )
  return card(
    'What an account pays',
    html`<form method="post" action="${call.base}/operator/money/fees">${select(call, { name: 'account', label: 'Account', choices })}${field(call, { name: 'fee', label: 'Fee', inputmode: 'decimal', maxlength: 8, unit: '%', hint: `0 to 10. Empty for what all pay, ${percent(call.gateway.settings.feeBps)}. For payments that are made from now on.` })}${submit('Set the fee')}</form>`,
  )
}

/** @throws {Refusal} `invalid`. */
function orderOf({ form }: PersonCall): OwnOrder {
  const [kindName, modeName, asset = ''] = form.get('of').split(' ')
  const kind = OWN_KINDS.find((known) => known === kindName)
  const mode: Mode | undefined = MODES.find((known) => known === modeName)
  if (!kind || !mode || !isAsset(asset))
    throw invalidField('of', 'invalid_choice', 'choose what is taken out')
  return { kind, mode, asset, amount: form.get('amount'), destination: form.get('destination_address') }
}

async function requestPayout(call: PersonCall): Promise<Move> {
  const { gateway, base } = call
  const order = orderOf(call)
  await change(call, async (tx, record) => {
    const withdrawal = await requestOwnPayout(gateway, tx, order)
    requireAsShown(call, [withdrawal])
    record({
      action: 'fees.pay_out',
      accountId: withdrawal.accountId,
      subject: showId('wd', withdrawal.id),
      after: {
        kind: withdrawal.kind,
        asset: withdrawal.asset,
        amount_atoms: String(withdrawal.amountAtoms),
        destination_address: withdrawal.destination,
      },
    })
  })
  gateway.wake('pay-out')
  return { to: `${base}/operator/money`, done: 'withdrawn' }
}

async function cancelPayout(call: PersonCall): Promise<Move> {
  await change(call, async (tx, record) => {
    const { accountId, id } = await cancelOwnPayout(tx, readId('wd', call.params.id ?? ''))
    record({ action: 'fees.cancel', accountId, subject: showId('wd', id) })
  })
  return { to: `${call.base}/operator/money`, done: 'withdrawal-cancelled' }
}

async function setFee(call: PersonCall): Promise<Move> {
  const id = readId('acct', call.form.get('account'))
  await change(call, async (tx, record) => {
    const before = id && (await lockAccount(tx, id))
    const account = await changeAccount(tx, id, { fee: call.form.get('fee') || null })
    record({
      action: 'account.change',
      accountId: account.id,
      subject: showId('acct', account.id),
      before: before && { fee_bps: before.feeBps },
      after: { fee_bps: account.feeBps },
    })
  })
  return { to: `${call.base}/operator/money`, done: 'saved' }
}

export const operatorMoneyRows: readonly DashboardRow[] = [
  personRow('operator', 'GET /operator/money', { handle: moneyPage }),
  personRow('operator', 'GET /operator/money/pay-outs', { handle: payoutsPage }),
  personRow('operator', 'POST /operator/money/pay-outs', {
    confirm: 'fresh',
    async consequence(call) {
      const order = orderOf(call)
      const cost = await quoteOwnPayout(call.gateway, call.gateway.db, order)
      const shown = (atoms: bigint) => coins(atoms, order.asset)
      const words = html`<p class="lead">Send <strong>${shown(cost.netAtoms)}</strong> of ${order.kind} to ${copyable(order.destination, 'Copy the address')}. It cannot be taken back.</p>${facts(
        [
          ['Taken out', shown(cost.amountAtoms)],
          ['Network fee', shown(cost.networkFeeAtoms)],
          ['Arrives', html`<strong>${shown(cost.netAtoms)}</strong>`],
        ],
      )}`
      return { words, figures: [{ asset: order.asset, ...cost }] }
    },
    handle: requestPayout,
    redraw: moneyPage,
  }),
  personRow('operator', 'POST /operator/money/pay-outs/:id/cancel', {
    confirm: 'recent',
    handle: cancelPayout,
    redraw: moneyPage,
  }),
  personRow('operator', 'POST /operator/money/fees', {
    confirm: 'recent',
    handle: setFee,
    redraw: moneyPage,
  }),
]
