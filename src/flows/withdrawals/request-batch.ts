/** Many payouts as one: looked at line by line before anything moves, then held, and approved, all of them or none. */
import type { Account } from '../../accounts/account.ts'
import { ASSETS, type Asset, chainFor, networkOf } from '../../core/assets.ts'
import { invalidField, Refusal } from '../../core/errors.ts'
import { newId, type PayoutBatchId } from '../../core/ids.ts'
import type { Queryable, Tx } from '../../db/database.ts'
import type { WithdrawalCost } from '../../treasury/fees.ts'
import { insertBatch, joinBatch } from '../../withdrawals/payout-batches.sql.ts'
import type { LineProblem, PayoutFile, PayoutLine } from '../../withdrawals/payout-file.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { askForBatch } from '../approvals/ask-for-approval.ts'
import { readBalanceNow } from '../balance/balance.sql.ts'
import type { Gateway } from '../gateway.ts'
import { holdPayout, quoteWithdrawal, shown } from './request-withdrawal.ts'
import { requireOnAllowlist } from './require-on-allowlist.ts'

export interface PayoutTotal {
  readonly asset: Asset
  readonly count: number
  /** Gross: taken from the balance. */
  readonly amountAtoms: bigint
  readonly feeAtoms: bigint
  readonly networkFeeAtoms: bigint
  readonly netAtoms: bigint
  readonly availableAtoms: bigint
}

export interface CheckedPayouts {
  readonly lines: readonly (PayoutLine & { readonly cost: WithdrawalCost })[]
  readonly totals: readonly PayoutTotal[]
  /** In the order of the lines. */
  readonly problems: readonly LineProblem[]
}

/** What a file would cost now, and everything that is wrong with it; moves nothing. */
export async function checkPayouts(
  gateway: Gateway,
  db: Queryable,
  account: Account,
  file: PayoutFile,
): Promise<CheckedPayouts> {
  const lines: CheckedPayouts['lines'][number][] = []
  const problems = [...file.problems]
  for (const line of file.lines) {
    try {
      await requireOnAllowlist(db, account.id, line.asset, line.destination)
      lines.push({ ...line, cost: await quoteWithdrawal(gateway, db, account, line) })
    } catch (error) {
      // What no line can help, such as a rate that is not known, is said once.
      if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error
      problems.push({ line: line.line, message: error.message })
    }
  }
  const totals = await totalsOf(db, account, lines)
  for (const { asset, amountAtoms, availableAtoms } of totals)
    if (amountAtoms > availableAtoms)
      problems.push({
        line: 0,
        message: `the lines of ${asset} take ${shown(amountAtoms, asset)} and ${shown(availableAtoms, asset)} is available`,
      })
  return { lines, totals, problems: problems.sort((a, b) => a.line - b.line) }
}

async function totalsOf(
  db: Queryable,
  account: Account,
  lines: CheckedPayouts['lines'],
): Promise<PayoutTotal[]> {
  const { balances } = await readBalanceNow(db, account.id)
  return ASSETS.flatMap((asset) => {
    const costs = lines.filter((line) => line.asset === asset).map(({ cost }) => cost)
    const sum = (of: (cost: WithdrawalCost) => bigint) => costs.reduce((total, cost) => total + of(cost), 0n)
    const available = balances.find((row) => row.asset === asset && row.kind === 'available')
    const total = {
      asset,
      count: costs.length,
      amountAtoms: sum((cost) => cost.amountAtoms),
      feeAtoms: sum((cost) => cost.feeAtoms),
      networkFeeAtoms: sum((cost) => cost.networkFeeAtoms),
      netAtoms: sum((cost) => cost.netAtoms),
      availableAtoms: available?.atoms ?? 0n,
    }
    return costs.length > 0 ? [total] : []
  })
}

export interface BatchOrder {
  readonly name: string
  readonly lines: readonly PayoutLine[]
  readonly askedBy: string
}

const NAME_LENGTH_MAX = 120

/**
 * Holds the amounts of all lines, in the caller's transaction, and asks for one approval where any of them needs it.
 *
 * @throws {Refusal} as a line of its own would, naming the line; `invalid`.
 */
export async function requestBatch(
  gateway: Gateway,
  tx: Tx,
  account: Account,
  { name, lines, askedBy }: BatchOrder,
): Promise<PayoutBatchId> {
  const [first] = lines
  if (!first) throw invalidField('payouts', 'no_payouts', 'there is no payout in it')
  if (name === '' || name.length > NAME_LENGTH_MAX)
    throw invalidField('name', 'invalid_name', `give it a name of at most ${NAME_LENGTH_MAX} characters`)
  const id = newId('bat')
  const chain = chainFor(account.mode, networkOf(first.asset))
  await insertBatch(tx, { accountId: account.id, id, chain, size: lines.length, name, askedBy })
  const held: { withdrawal: Withdrawal; note: string }[] = []
  for (const line of lines) {
    const withdrawal = await holdLine(gateway, tx, account, { ...line, askedBy }).catch((error: unknown) => {
      throw error instanceof Refusal ? ofLine(line, error) : error
    })
    held.push({ withdrawal, note: line.note })
  }
  await joinBatch(tx, { accountId: account.id, id }, held)
  await askForBatch(
    tx,
    id,
    held.map(({ withdrawal }) => withdrawal),
  )
  return id
}

async function holdLine(
  ...[gateway, tx, account, order]: Parameters<typeof holdPayout>
): Promise<Withdrawal> {
  await requireOnAllowlist(tx, account.id, order.asset, order.destination)
  return holdPayout(gateway, tx, account, order)
}

const ofLine = ({ line }: PayoutLine, { kind, reason, message }: Refusal): Refusal =>
  new Refusal(kind, reason, `line ${line}: ${message}`)
