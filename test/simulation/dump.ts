/** A gateway's rows in words that two worlds share: ids become numbers in the order of their making, times are left out. */
import { showCause } from '../../src/ledger/chart-of-accounts.ts'
import type { Tables } from './rows/tables.ts'

export interface Dump {
  readonly payments: readonly string[]
  readonly deposits: readonly string[]
  readonly balances: readonly string[]
  readonly withdrawals: readonly string[]
  readonly signed: readonly string[]
  readonly sweeps: readonly string[]
  readonly gas: readonly string[]
  readonly unexpected: readonly string[]
  readonly nonces: readonly string[]
  readonly utxos: readonly string[]
  readonly entries: readonly string[]
  readonly events: readonly string[]
  readonly tip: string
}

/** Replaces every UUID by a word: what it names, in the order that these were made. */
export function writeDump(dump: Dump, names: ReadonlyMap<string, string>): string {
  const named = (text: string) =>
    text.replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      (id) => names.get(id) ?? 'account',
    )
  return JSON.stringify(
    Object.fromEntries(
      Object.entries(dump).map(([table, rows]) => [
        table,
        typeof rows === 'string' ? rows : rows.map(named).toSorted(),
      ]),
    ),
    null,
    1,
  )
}

const row = (...columns: unknown[]): string => columns.map((column) => String(column ?? '-')).join(' ')

export function dumpTables(tables: Tables): string {
  const names = new Map<string, string>()
  const number = (word: string, ids: Iterable<string>) => {
    let count = 0
    for (const id of ids) names.set(id, `${word}#${count++}`)
  }
  number('payment', tables.payments.keys())
  number('withdrawal', tables.withdrawals.keys())
  for (const deposit of tables.deposits.values())
    names.set(deposit.id, `deposit:${deposit.txKey}:${deposit.outputIndex}`)
  return writeDump(
    {
      payments: [...tables.payments.values()].map((each) =>
        row(
          each.id,
          each.status,
          each.asset,
          each.dueAtoms,
          each.creditedAtoms,
          each.gatewayFeeAtoms,
          each.settlements,
          each.shortfallAtoms,
          each.recoveredAtoms,
          each.accepted?.netAtoms ?? null,
          each.accepted?.feeAtoms ?? null,
          tables.decisionsDue.has(each.id),
        ),
      ),
      deposits: [...tables.deposits.values()].map((each) =>
        row(
          each.paymentId,
          each.txKey,
          each.outputIndex,
          each.asset,
          each.amountAtoms,
          each.status,
          each.blockHeight,
          each.late,
          each.dust,
          each.booked,
          each.bookings,
          each.replacedBy,
          each.replacedHeight,
          each.missingSince !== null,
        ),
      ),
      balances: [...tables.balances]
        .filter(([, atoms]) => atoms !== 0n)
        .map(([key, atoms]) => row(key, atoms)),
      withdrawals: [...tables.withdrawals.values()].map((each) =>
        row(
          each.id,
          each.kind,
          each.status,
          each.amountAtoms,
          each.feeAtoms,
          each.netAtoms,
          each.destination,
          each.txHash,
          each.refusedReason,
          tables.payouts.get(each.id),
        ),
      ),
      signed: [...tables.signed.values()].map((each) =>
        row(
          each.txid,
          each.replacementSet,
          each.kind,
          each.valueAtoms,
          each.feeAtoms,
          each.blockHeight,
          each.status,
          each.bookedFeeAtoms,
          each.feeBookings,
          each.bumpWanted,
          each.sentAt !== null,
          each.refusal,
        ),
      ),
      utxos: [...tables.utxos.values()].map((each) =>
        row(
          each.txid,
          each.index,
          each.atoms,
          each.blockHeight,
          each.spentBy,
          each.spentHeight,
          each.reservedBy,
          each.reservedFirstBy,
        ),
      ),
      sweeps: [...tables.sweeps.values()].map((each) =>
        row(
          each.address,
          each.asset,
          each.atoms,
          each.etherAtoms,
          each.way,
          each.delegates,
          each.status,
          each.gasReplacementSet,
          each.replacementSet,
          [...tables.sweptBy.values()].filter((id) => id === each.id).length,
          [...tables.unexpectedDeposits.values()].filter(({ sweep }) => sweep === each.id).length,
        ),
      ),
      gas: [...tables.gasFunding.values()].map((each) =>
        row(each.txid, each.address, each.atoms, each.blockHeight, each.sweep !== null),
      ),
      unexpected: [...tables.unexpectedDeposits.values()].map((each) =>
        row(
          each.txKey,
          each.index,
          each.address,
          each.asset,
          each.atoms,
          each.blockHeight,
          each.sweep !== null,
        ),
      ),
      nonces: [...tables.nonces].map(([sender, next]) => row(sender, next)),
      entries: [...tables.entries.values()].map((each) =>
        row(
          showCause(each.cause),
          ...each.transfers.map(({ asset, debit, credit, atoms }) => row(asset, debit, credit, atoms)),
        ),
      ),
      events: [...tables.events.values()].map((each) => row(each.type, each.cause)),
      tip: [...tables.chains.values()].map((each) => row(each.tipHeight, each.tipHash)).join(),
    },
    names,
  )
}
