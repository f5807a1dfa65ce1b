/** Bulk payouts: a file that is checked line by line, looked at with its totals, and asked for as one. */

import { requestsOfWithdrawals } from '../../../approvals/approval-requests.sql.ts'
import { invalidField, notFound } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import { formatAmount } from '../../../core/money.ts'
import { type CheckedPayouts, checkPayouts, requestBatch } from '../../../flows/withdrawals/request-batch.ts'
import { readAmount } from '../../../withdrawals/amount.ts'
import { findBatch, listBatch, listBatches } from '../../../withdrawals/payout-batches.sql.ts'
import {
  type LineProblem,
  PAYOUT_LINES_MAX,
  type PayoutFile,
  readPayoutFile,
  writePayoutFile,
} from '../../../withdrawals/payout-file.ts'
import { html, type Part } from '../../hosted/html.ts'
import { change } from '../change.ts'
import {
  card,
  coinsColumn,
  copyable,
  facts,
  field,
  formProblem,
  hidden,
  notice,
  sentence,
  submit,
  table,
  textarea,
} from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { requireAsShown } from '../shown-figures.ts'
import { badge, coins, count, plural, time } from '../words.ts'

const EXAMPLE = 'address,amount,coin,note\ntltc1q…,0.5,LTC,Invoice 2041\ntltc1q…,1.25,LTC,Salary'
const RECENT = 10
/** A thousand payouts with the longest notes in any script, as a browser writes them in a form: nine letters for one. */
const FORM_BYTES_MAX = 1_000_000

async function newBatchPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const recent = await listBatches(gateway.db, place.account.id, RECENT)
  return {
    title: 'Bulk payout',
    nav: 'withdrawals',
    width: 'narrow',
    trail: [['Withdrawals', `${here}/withdrawals`]],
    content: html`<h1>Bulk payout</h1><p class="lead">Up to ${count(PAYOUT_LINES_MAX)} payouts of one network from a spreadsheet: looked at, and approved, as one. Nothing is asked for before you have seen every line with its costs.</p>${formProblem(call)}${batchForm(call, textOf(call))}${
      recent.length > 0 &&
      card(
        'Lately',
        html`<ul class="rows">${recent.map((batch) => html`<li><div><strong><a href="${here}/withdrawals/batches/${showId('bat', batch.id)}">${batch.name}</a></strong><span>${plural(batch.size, 'payout')}, ${time(batch.createdAt, place.membership.timeZone)}</span></div></li>`)}</ul><p class="hint">The latest ${RECENT}. Each payout stands in the <a href="${here}/withdrawals">withdrawals</a>, and leads to its file.</p>`,
      )
    }`,
  }
}

const batchForm = (call: PlaceCall, text: string): Part =>
  html`<form method="post" action="${call.here}/withdrawals/batches/check" enctype="multipart/form-data">${field(call, { name: 'name', label: 'Name', required: true, maxlength: 120, hint: 'What it is for, such as Salaries November.' })}${field(call, { name: 'file', label: 'File', type: 'file', accept: '.csv,.tsv,.txt,text/csv', hint: html`CSV with <code>address,amount,coin</code> and, if you want, a note. Fees are taken from each amount.` })}${textarea(call, { name: 'payouts', label: 'Or paste the lines', value: text, rows: text === '' ? 7 : 14, placeholder: EXAMPLE, isVerbatim: true, hint: 'A file that you choose counts instead of them.' })}${submit('Check', 'primary', `${call.here}/withdrawals`)}</form>`

/** The file that was chosen, or else what was pasted: after a correction the lines of the file before still stand there. */
function textOf({ form }: PlaceCall): string {
  const file = form.get('file')
  return file === '' ? form.get('payouts') : Buffer.from(file, 'base64').toString('utf8')
}

/** @throws {Refusal} `no_payouts`. */
function fileOf(call: PlaceCall): PayoutFile {
  const file = readPayoutFile(textOf(call))
  if (file.lines.length + file.problems.length === 0)
    throw invalidField('payouts', 'no_payouts', 'choose a file, or paste the lines')
  return file
}

async function checkedPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const file = fileOf(call)
  const checked = await checkPayouts(gateway, place.account, file)
  const name = call.form.get('name')
  const sheet = {
    title: 'Bulk payout',
    nav: 'withdrawals',
    trail: [
      ['Withdrawals', `${here}/withdrawals`],
      ['Bulk payout', `${here}/withdrawals/batches/new`],
    ],
  } as const
  const heading = html`<h1>${name || 'Bulk payout'}</h1>`
  if (checked.problems.length > 0)
    return {
      ...sheet,
      width: 'narrow',
      content: html`${heading}${problemList(checked.problems)}${batchForm(call, textOf(call))}`,
    }
  return {
    ...sheet,
    content: html`${heading}${notice('good', html`<p>All ${plural(checked.lines.length, 'line')} can be paid out.</p>`)}
${card('In all', totalsTable(checked))}
<form method="post" action="${here}/withdrawals/batches">${hidden('name', name)}${hidden('payouts', writePayoutFile(checked.lines))}${submit(`Ask for ${plural(checked.lines.length, 'payout')}`, 'primary', `${here}/withdrawals/batches/new`)}</form>
${linesTable(checked)}`,
  }
}

const problemList = (problems: readonly LineProblem[]): Part =>
  notice(
    'bad',
    html`<p><strong>${plural(problems.length, 'thing')} to correct.</strong> Nothing was asked for.</p><ul>${problems.map(({ line, message }) => html`<li>${line > 0 ? html`Line ${line}: ${message}` : sentence(message)}</li>`)}</ul>`,
  )

const totalsTable = ({ totals }: CheckedPayouts): Part =>
  table<CheckedPayouts['totals'][number]>(
    'Totals',
    [
      { label: 'Coin', cell: (row) => html`<strong>${row.asset}</strong>` },
      { label: 'Payouts', isFigure: true, cell: (row) => count(row.count) },
      {
        label: 'Arrives',
        isFigure: true,
        cell: (row) => html`<strong>${coins(row.netAtoms, row.asset)}</strong>`,
      },
      coinsColumn('Payout fees', (row) => row.feeAtoms, { isMinor: true }),
      coinsColumn('Network fees', (row) => row.networkFeeAtoms, { isMinor: true }),
      coinsColumn('Taken from the balance', (row) => row.amountAtoms),
      coinsColumn('Available', (row) => row.availableAtoms, { isMinor: true }),
    ],
    totals,
  )

const linesTable = ({ lines }: CheckedPayouts): Part =>
  table<CheckedPayouts['lines'][number]>(
    'Payouts',
    [
      { label: 'Line', isFigure: true, isMinor: true, cell: (row) => row.line },
      { label: 'To', cell: (row) => copyable(row.destination, 'Copy the address') },
      coinsColumn('Arrives', (row) => row.cost.netAtoms),
      coinsColumn('Taken', (row) => row.cost.amountAtoms, { isMinor: true }),
      { label: 'Note', cell: (row) => row.note },
    ],
    lines,
  )

// One batch.

async function batchPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const id = readId('bat', call.params.id ?? '')
  const batch = id && (await findBatch(gateway.db, place.account.id, id))
  if (!batch) throw notFound('batch_not_found', 'there is no such bulk payout in this account')
  const lines = await listBatch(gateway.db, place.account.id, batch.id)
  const [request] = (
    await requestsOfWithdrawals(
      gateway.db,
      place.account.id,
      lines.slice(0, 1).map((line) => line.id),
    )
  ).values()
  const states = new Map<string, number>()
  for (const { status } of lines) states.set(status, (states.get(status) ?? 0) + 1)
  return {
    title: batch.name,
    nav: 'withdrawals',
    trail: [['Withdrawals', `${here}/withdrawals`]],
    isLive: states.has('requested') || states.has('broadcast'),
    content: html`<h1 class="big">${batch.name}</h1><p>${copyable(showId('bat', batch.id), 'Copy the id')}</p>${
      request?.status === 'open' &&
      notice(
        'wait',
        html`<p>It waits for approvals. <a href="${here}/approvals/${showId('apr', request.id)}">See who is awaited</a>.</p>`,
      )
    }${card(
      'Bulk payout',
      facts([
        ['Payouts', plural(batch.size, 'payout')],
        ['Status', [...states].map(([status, number]) => html`${badge(status)} ${count(number)} `)],
        [
          'Approval',
          request && html`<a href="${here}/approvals/${showId('apr', request.id)}">${request.status}</a>`,
        ],
        ['Asked for', time(batch.createdAt, place.membership.timeZone)],
      ]),
    )}${table(
      'Payouts',
      [
        {
          label: 'Arrives',
          isFigure: true,
          cell: (row) =>
            html`<a href="${here}/withdrawals/${showId('wd', row.id)}">${coins(row.netAtoms, row.asset)}</a>`,
        },
        { label: 'Status', cell: (row) => badge(row.status) },
        { label: 'To', cell: (row) => copyable(row.destination, 'Copy the address') },
        { label: 'Note', isMinor: true, cell: (row) => row.note },
      ],
      lines,
    )}`,
  }
}

export const batchRows: readonly DashboardRow[] = [
  placeRow('withdrawals:write', 'GET /:account/withdrawals/batches/new', { handle: newBatchPage }),
  placeRow('withdrawals:write', 'POST /:account/withdrawals/batches/check', {
    formBytesMax: FORM_BYTES_MAX,
    handle: checkedPage,
    redraw: newBatchPage,
  }),
  placeRow('withdrawals:write', 'POST /:account/withdrawals/batches', {
    confirm: 'fresh',
    formBytesMax: FORM_BYTES_MAX,
    async consequence(call) {
      const checked = await checkPayouts(call.gateway, call.place.account, fileOf(call))
      if (checked.problems.length > 0)
        throw invalidField(
          'payouts',
          'wrong_lines',
          checked.problems.map(({ line, message }) => `line ${line}: ${message}`).join('; '),
        )
      const sums = checked.totals.map(({ asset, netAtoms }) => coins(netAtoms, asset)).join(' and ')
      const words = html`<p class="lead">Send <strong>${sums}</strong> in <strong>${plural(checked.lines.length, 'payout')}</strong>. What is signed cannot be taken back.</p>${totalsTable(checked)}`
      return { words, figures: checked.totals }
    },
    async handle(call) {
      const { gateway, place, form } = call
      const { lines, problems } = fileOf(call)
      if (problems.length > 0) throw invalidField('payouts', 'wrong_lines', 'check the lines again')
      const askedBy = showId('usr', call.person.userId)
      const id = await change(call, async (tx, record) => {
        const batch = await requestBatch(gateway, tx, place.account, {
          name: form.get('name'),
          lines,
          askedBy,
        })
        requireAsShown(call, await listBatch(tx, place.account.id, batch))
        record({
          action: 'payout_batch.request',
          subject: showId('bat', batch),
          after: { name: form.get('name'), payouts: lines.length, totals: totalsOf(lines) },
        })
        return batch
      })
      gateway.wake('pay-out')
      return { to: `${call.here}/withdrawals/batches/${showId('bat', id)}`, done: 'batch-asked' }
    },
    redraw: newBatchPage,
  }),
  placeRow('withdrawals:read', 'GET /:account/withdrawals/batches/:id', { handle: batchPage }),
]

/** Of what was asked for, by coin: the log keeps sums, the rows keep the lines. */
function totalsOf(lines: PayoutFile['lines']): Record<string, string> {
  const atoms = new Map<PayoutFile['lines'][number]['asset'], bigint>()
  for (const { asset, amount } of lines)
    atoms.set(asset, (atoms.get(asset) ?? 0n) + readAmount(asset, amount))
  return Object.fromEntries([...atoms].map(([asset, sum]) => [asset, formatAmount(sum, asset)]))
}
