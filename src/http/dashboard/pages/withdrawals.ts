/** Money out: what was asked for, what became of it, and a new request with its quote before it is confirmed. */
import { requestsOfWithdrawals } from '../../../approvals/approval-requests.sql.ts'
import { ASSETS, type Asset, isAsset, networkOf } from '../../../core/assets.ts'
import { invalidField, notFound, Refusal } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { readBalanceNow } from '../../../flows/balance/balance.sql.ts'
import { failInSandbox } from '../../../flows/sandbox.ts'
import { cancelWithdrawal } from '../../../flows/withdrawals/cancel-withdrawal.ts'
import { quotePayable } from '../../../flows/withdrawals/price-withdrawal.ts'
import { requestWithdrawal } from '../../../flows/withdrawals/request-withdrawal.ts'
import { exportWithdrawals, listWithdrawals } from '../../../withdrawals/list-withdrawals.sql.ts'
import { findBatchOf } from '../../../withdrawals/payout-batches.sql.ts'
import { WITHDRAWAL_KINDS, WITHDRAWAL_STATUSES, type Withdrawal } from '../../../withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../../withdrawals/withdrawals.sql.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { type ExportColumns, exportRow } from '../export.ts'
import { listPage } from '../list.ts'
import { copyColumn, createdColumn } from '../list-columns.ts'
import { choiceOf, type Filter } from '../list-query.ts'
import {
  button,
  card,
  checks,
  coinsColumn,
  copyable,
  empty,
  facts,
  field,
  formProblem,
  notice,
  select,
  sentence,
  submit,
} from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, SENT, type Sheet } from '../row.ts'
import { requireAsShown } from '../shown-figures.ts'
import { transaction } from '../transaction.ts'
import { badge, coinNetwork, coins, decimal, time } from '../words.ts'
import { whyFailed } from './withdrawal-words.ts'

const FILTERS: readonly Filter[] = [
  choiceOf('filter_status', 'Status', WITHDRAWAL_STATUSES),
  choiceOf('filter_asset', 'Coin', ASSETS),
  choiceOf('filter_kind', 'Kind', WITHDRAWAL_KINDS),
  { name: 'filter_to', label: 'Address or transaction, in full', kind: 'text' },
]

const isUnderWay = ({ status }: Withdrawal): boolean => status === 'requested' || status === 'broadcast'

function withdrawalsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const zone = place.membership.timeZone
  const request =
    call.may('withdrawals:write') &&
    html`<a class="button primary" href="${here}/withdrawals/new">Withdraw</a><a class="button plain" href="${here}/withdrawals/batches/new">Bulk payout</a>`
  return listPage<Withdrawal>(call, {
    nav: 'withdrawals',
    title: 'Withdrawals',
    read: (query) => listWithdrawals(gateway.db, place.account.id, query),
    isUnderWay,
    filters: FILTERS,
    exports: Object.keys(EXPORTED),
    actions: request,
    columns: [
      {
        label: 'Arrives',
        isFigure: true,
        cell: (row) =>
          html`<a href="${here}/withdrawals/${showId('wd', row.id)}">${coins(row.netAtoms, row.asset)}</a>`,
      },
      { label: 'Status', name: 'status', cell: (row) => badge(row.status) },
      { label: 'Kind', name: 'kind', cell: (row) => row.kind, isMinor: true },
      { label: 'To', name: 'to', cell: (row) => copyable(row.destination, 'Copy the address') },
      createdColumn(call, 'Asked for'),
      coinsColumn('Taken', (row) => row.amountAtoms, { name: 'taken', isExtra: true }),
      copyColumn('Id', 'id', 'the id', (row) => showId('wd', row.id)),
      copyColumn('Transaction', 'transaction', 'the transaction', (row) => row.txHash),
      { label: 'Completed', name: 'completed', isExtra: true, cell: (row) => time(row.completedAt, zone) },
    ],
    emptyPart: empty(
      'No withdrawal yet',
      'Your available balance can be sent to any wallet of yours.',
      request,
    ),
  })
}

/** @throws {Refusal} `not_found`. */
async function withdrawalOf(call: PlaceCall): Promise<Withdrawal> {
  const id = readId('wd', call.params.id ?? '')
  const withdrawal = id && (await findWithdrawal(call.gateway.db, call.place.account.id, id))
  if (withdrawal) return withdrawal
  throw notFound('withdrawal_not_found', 'there is no such withdrawal in this account')
}

async function withdrawalPage(call: PlaceCall): Promise<Sheet> {
  const withdrawal = await withdrawalOf(call)
  const { asset } = withdrawal
  const { gateway, place, here } = call
  const zone = place.membership.timeZone
  const [requests, batch] = await Promise.all([
    requestsOfWithdrawals(gateway.db, place.account.id, [withdrawal.id]),
    findBatchOf(gateway.db, withdrawal),
  ])
  const request = requests.get(withdrawal.id)
  return {
    title: `Withdrawal of ${coins(withdrawal.netAtoms, asset)}`,
    nav: 'withdrawals',
    width: 'narrow',
    trail: [['Withdrawals', `${call.here}/withdrawals`]],
    isLive: isUnderWay(withdrawal),
    content: html`<h1 class="big">${coins(withdrawal.netAtoms, asset)} ${badge(withdrawal.status)}</h1>${formProblem(call)}<p>${copyable(showId('wd', withdrawal.id), 'Copy the id')}</p>${request?.status === 'open' && notice('wait', html`<p>It waits for approvals. <a href="${here}/approvals/${showId('apr', request.id)}">See who is awaited</a>.</p>`)}${card(
      'Withdrawal',
      facts([
        ['To', copyable(withdrawal.destination, 'Copy the address')],
        ['Network', coinNetwork(asset)],
        ['Taken from the balance', coins(withdrawal.amountAtoms, asset)],
        ['Payout fee', coins(withdrawal.feeAtoms, asset)],
        ['Network fee', coins(withdrawal.networkFeeAtoms, asset)],
        ['Transaction', withdrawal.txHash && transaction(call, asset, withdrawal.txHash)],
        [
          'Refund of',
          withdrawal.paymentId &&
            html`<a href="${call.here}/payments/${showId('pay', withdrawal.paymentId)}">${showId('pay', withdrawal.paymentId)}</a>`,
        ],
        [
          'Approval',
          request && html`<a href="${here}/approvals/${showId('apr', request.id)}">${request.status}</a>`,
        ],
        [
          'Part of',
          batch && html`<a href="${here}/withdrawals/batches/${showId('bat', batch.id)}">${batch.name}</a>`,
        ],
        ['Why it failed', withdrawal.status === 'failed' && whyFailed(withdrawal)],
        ['Asked for', time(withdrawal.createdAt, zone)],
        ['Completed', time(withdrawal.completedAt, zone)],
      ]),
    )}${withdrawal.status === 'requested' && call.may('withdrawals:write') && (withdrawal.cancelWanted ? html`<p class="hint">It is being cancelled.</p>` : card('Not signed yet', html`<p>Until the signer has signed it, it can be called back.</p>${button(`${call.here}/withdrawals/${showId('wd', withdrawal.id)}/cancel`, 'Cancel the withdrawal', { tone: 'danger' })}`))}`,
  }
}

async function newPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const now = await readBalanceNow(gateway.db, place.account.id)
  const availableOf = (asset: Asset) =>
    now.balances.find((row) => row.asset === asset && row.kind === 'available')?.atoms ?? 0n
  const held = ASSETS.map((asset) => [asset, availableOf(asset)] as const)
  const first = held.find(([, atoms]) => atoms > 0n)?.[0] ?? 'BTC'
  const asset = call.query.asset && isAsset(call.query.asset) ? call.query.asset : first
  return {
    title: 'Withdraw',
    nav: 'withdrawals',
    width: 'narrow',
    trail: [['Withdrawals', `${here}/withdrawals`]],
    content: html`<h1>Withdraw</h1><p class="lead">Fees are taken from the amount. Before anything is sent you see what arrives, and confirm it.</p>${formProblem(call)}<form method="post" action="${here}/withdrawals" data-quote="${here}/withdrawals/quote">${select(call, { name: 'asset', label: 'Coin', value: asset, choices: held.map(([each, atoms]) => [each, `${each}, ${decimal(atoms, each)} available`] as const) })}${field(call, { name: 'amount', label: 'Amount', required: true, inputmode: 'decimal', maxlength: 80, value: call.query.amount ?? '', hint: 'In the coin, such as 0.015.' })}${field(call, { name: 'destination_address', label: 'To the address', required: true, maxlength: 128, autocomplete: 'off', hint: 'A wallet of yours on the coin’s own network. Compare its ends before you confirm.' })}${place.account.mode === 'test' && checks(call, { name: 'fails', legend: 'Sandbox', choices: [['yes', 'Let it fail, as one that the signer refuses']] })}<p class="hint" role="status" data-quoted></p>${submit('Go on', 'primary', `${here}/withdrawals`)}</form>`,
  }
}

/** A sentence for the page to show while the form is filled in, or why it would be refused; the confirmation shows all of it. */
async function tellQuote(call: PlaceCall): Promise<typeof SENT> {
  const { gateway, place, reply } = call
  reply.type('text/plain; charset=utf-8')
  try {
    const order = orderOf(call)
    const cost = await quotePayable(gateway, gateway.db, place.account, order)
    const fees = coins(cost.feeAtoms + cost.networkFeeAtoms, order.asset)
    reply.send(`${coins(cost.netAtoms, order.asset)} would arrive; fees take ${fees}.`)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    reply.send(sentence(error.message))
  }
  return SENT
}

function orderOf(call: PlaceCall) {
  const asset = call.form.get('asset')
  if (!isAsset(asset)) throw invalidField('asset', 'invalid_asset', 'choose a coin')
  return { asset, amount: call.form.get('amount'), destination: call.form.get('destination_address') }
}

const EXPORTED: ExportColumns<Withdrawal> = {
  id: (row) => showId('wd', row.id),
  kind: (row) => row.kind,
  status: (row) => row.status,
  asset: (row) => row.asset,
  network: (row) => networkOf(row.asset),
  amount: (row) => decimal(row.amountAtoms, row.asset),
  payout_fee: (row) => decimal(row.feeAtoms, row.asset),
  network_fee: (row) => decimal(row.networkFeeAtoms, row.asset),
  net: (row) => decimal(row.netAtoms, row.asset),
  destination_address: (row) => row.destination,
  tx_hash: (row) => row.txHash,
  payment_id: (row) => row.paymentId && showId('pay', row.paymentId),
  created_at: (row) => row.createdAt,
  completed_at: (row) => row.completedAt,
}

export const withdrawalRows: readonly DashboardRow[] = [
  placeRow('withdrawals:read', 'GET /:account/withdrawals', { handle: withdrawalsPage }),
  exportRow('withdrawals', 'withdrawals:read', {
    columns: EXPORTED,
    filters: FILTERS,
    read: exportWithdrawals,
  }),
  placeRow('withdrawals:write', 'GET /:account/withdrawals/new', { handle: newPage }),
  placeRow('withdrawals:write', 'POST /:account/withdrawals/quote', { handle: tellQuote }),
  placeRow('withdrawals:write', 'POST /:account/withdrawals', {
    confirm: 'fresh',
    async consequence(call) {
      const order = orderOf(call)
      const { asset } = order
      const cost = await quotePayable(call.gateway, call.gateway.db, call.place.account, order)
      const words = html`<p class="lead">Send <strong>${coins(cost.netAtoms, asset)}</strong> to ${copyable(order.destination, 'Copy the address')}. ${call.form.has('fails') ? 'It fails, as you asked the sandbox to: the amount comes back.' : 'It cannot be taken back.'}</p>${facts(
        [
          ['Network', coinNetwork(asset)],
          ['Taken from the balance', coins(cost.amountAtoms, asset)],
          ['Payout fee', coins(cost.feeAtoms, asset)],
          ['Network fee', coins(cost.networkFeeAtoms, asset)],
          ['Arrives', html`<strong>${coins(cost.netAtoms, asset)}</strong>`],
        ],
      )}`
      return { words, figures: [{ asset, ...cost }] }
    },
    async handle(call) {
      const { gateway, place } = call
      const order = orderOf(call)
      const requested = await change(call, async (tx, record) => {
        const askedBy = showId('usr', call.person.userId)
        const withdrawal = await requestWithdrawal(gateway, tx, place.account, { ...order, askedBy })
        requireAsShown(call, [withdrawal])
        const fails = call.form.has('fails')
        if (fails) await failInSandbox(tx, place.account, withdrawal)
        record({
          action: 'withdrawal.request',
          subject: showId('wd', withdrawal.id),
          after: {
            asset: withdrawal.asset,
            amount_atoms: String(withdrawal.amountAtoms),
            destination_address: withdrawal.destination,
            ...(fails ? { fails } : {}),
          },
        })
        return withdrawal
      })
      gateway.wake('pay-out')
      return { to: `${call.here}/withdrawals/${showId('wd', requested.id)}`, done: 'withdrawn' }
    },
    redraw: newPage,
  }),
  placeRow('withdrawals:read', 'GET /:account/withdrawals/:id', { handle: withdrawalPage }),
  placeRow('withdrawals:write', 'POST /:account/withdrawals/:id/cancel', {
    async handle(call) {
      const { id } = await withdrawalOf(call)
      const subject = showId('wd', id)
      await change(call, async (tx, record) => {
        await cancelWithdrawal(tx, call.place.account, id)
        record({ action: 'withdrawal.cancel', subject })
      })
      return { to: `${call.here}/withdrawals/${subject}`, done: 'withdrawal-cancelling' }
    },
    redraw: withdrawalPage,
  }),
]
