/** Posting: an entry, its transfers and the merchant's balance rows, in the caller's transaction. */
import type { Asset } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { type AccountId, newRowId } from '../core/ids.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { runRows } from '../db/together.ts'
import {
  type Cause,
  type EntryKind,
  GATEWAY,
  type JournalEntry,
  type LedgerAccount,
  MERCHANT_ACCOUNTS,
  type MerchantAccount,
  showCause,
  type Transfer,
} from './chart-of-accounts.ts'

/**
 * Books an entry once. The rows locked are the balances it changes, in the order of their keys, so that two entries of one
 * merchant wait for each other; entries written together may meet in another order, and then run again
 * (docs/decisions/0072-stories-together.md); the gateway's accounts are only appended to. Transfers are dated under
 * these locks: in the order of time no balance was ever negative, whichever transaction began first.
 *
 * @returns Whether it was booked now; false when its cause was booked before, which changes nothing.
 * @throws PostgreSQL's check violation (23514) when a balance would become negative: the whole transaction fails.
 */
export async function post(tx: Tx, entry: JournalEntry): Promise<boolean> {
  const transfers = entry.transfers.filter((transfer) => transfer.atoms !== 0n)
  for (const transfer of transfers) {
    invariant(transfer.atoms > 0n, `a transfer of ${showCause(entry.cause)} is negative: ${transfer.atoms}`)
    invariant(
      entry.accountId !== GATEWAY || !(isMerchant(transfer.debit) || isMerchant(transfer.credit)),
      `entry ${showCause(entry.cause)} moves a merchant's balance without a merchant`,
    )
  }
  const { kind, subjectId, number } = entry.cause
  const id = newRowId()
  const isNew = await runRows(tx, INSERT_ENTRY, [
    { account_id: entry.accountId, id, kind, subject_id: subjectId, number },
  ])
  if (isNew.length === 0) return false
  if (transfers.length === 0) return true
  for (const change of balanceChanges(transfers)) {
    await changeBalance(tx, entry, change)
  }
  await runRows(
    tx,
    INSERT_TRANSFERS,
    transfers.map(({ asset, debit, credit, atoms }, line) => ({
      account_id: entry.accountId,
      entry_id: id,
      line,
      chain: entry.chain,
      asset,
      debit,
      credit,
      atoms,
    })),
  )
  return true
}

const INSERT_ENTRY = overRows(
  { account_id: 'uuid', id: 'uuid', kind: 'text', subject_id: 'text', number: 'integer' },
  (rows) => `with draft as (
      select * from ${rows}
    ), entry as (
      insert into journal_entries (account_id, id, kind, subject_id, number)
      select account_id, id, kind, subject_id, number from draft order by account_id, kind, subject_id, number
      on conflict (account_id, kind, subject_id, number) do nothing returning id
    )
    select place from draft join entry using (id)`,
)

const INSERT_TRANSFERS = overRows(
  {
    account_id: 'uuid',
    entry_id: 'uuid',
    line: 'smallint',
    chain: 'text',
    asset: 'text',
    debit: 'text',
    credit: 'text',
    atoms: 'numeric',
  },
  (
    rows,
  ) => `insert into transfers (account_id, entry_id, line, chain, asset, debit, credit, amount_atoms, created_at)
    select account_id, entry_id, line, chain, asset, debit, credit, atoms, statement_timestamp() from ${rows}`,
)

/** PostgreSQL checks a row to insert before it looks for a conflict, so what goes down is an update. */
async function changeBalance(tx: Tx, entry: JournalEntry, change: BalanceChange): Promise<void> {
  const { accountId: account_id, chain } = entry
  const row = { account_id, asset: change.asset, kind: change.kind, chain, atoms: change.atoms }
  if (change.atoms > 0n) {
    await runRows(tx, ADD_TO_BALANCES, [row])
    return
  }
  const taken = await runRows(tx, TAKE_FROM_BALANCES, [row])
  invariant(
    taken.length === 1,
    `${showCause(entry.cause)} takes ${-change.atoms} of ${change.asset} from an empty ${change.kind} balance`,
  )
}

const BALANCE_CHANGE = {
  account_id: 'uuid',
  asset: 'text',
  kind: 'text',
  chain: 'text',
  atoms: 'numeric',
} as const

const ADD_TO_BALANCES = overRows(
  BALANCE_CHANGE,
  (rows) => `insert into balances as b (account_id, asset, kind, chain, atoms)
    select account_id, asset, kind, min(chain), sum(atoms) from ${rows} group by 1, 2, 3 order by 1, 2, 3
    on conflict (account_id, asset, kind) do update set atoms = b.atoms + excluded.atoms`,
)

const TAKE_FROM_BALANCES = overRows(
  BALANCE_CHANGE,
  (rows) => `with change as (
      select * from ${rows}
    ), locked as (
      select b.account_id, b.asset, b.kind from balances b
      where (b.account_id, b.asset, b.kind) in (select account_id, asset, kind from change)
      order by b.account_id, b.asset, b.kind for update
    ), taken as (
      update balances b set atoms = b.atoms + sums.atoms
      from (select account_id, asset, kind, sum(atoms) as atoms from change join locked using (account_id, asset, kind)
        group by 1, 2, 3) sums
      where b.account_id = sums.account_id and b.asset = sums.asset and b.kind = sums.kind
      returning b.account_id, b.asset, b.kind
    )
    select place from change join taken using (account_id, asset, kind)`,
)

/** The transfers of an entry, by its cause; empty when it was never booked. */
export async function listTransfers(db: Queryable, accountId: AccountId, cause: Cause): Promise<Transfer[]> {
  const { rows } = await db.query<Transfer>(
    `select t.asset, t.debit, t.credit, t.amount_atoms as atoms
     from journal_entries j join transfers t on t.account_id = j.account_id and t.entry_id = j.id
     where j.account_id = $1 and j.kind = $2 and j.subject_id = $3 and j.number = $4 order by t.line`,
    [accountId, cause.kind, cause.subjectId, cause.number],
  )
  return rows
}

/** What all entries of these kinds and subjects booked to `loss` in one asset, less what they paid back. */
export async function sumLoss(
  db: Queryable,
  accountId: AccountId,
  asset: Asset,
  kinds: readonly EntryKind[],
  subjectIds: readonly string[],
): Promise<bigint> {
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(case when t.debit = 'loss' then t.amount_atoms else -t.amount_atoms end), 0) as atoms
     from journal_entries j join transfers t on t.account_id = j.account_id and t.entry_id = j.id
     where j.account_id = $1 and j.kind = any($2) and j.subject_id = any($3) and t.asset = $4 and 'loss' in (t.debit, t.credit)`,
    [accountId, kinds, subjectIds, asset],
  )
  return rows[0]?.atoms ?? 0n
}

/** What a merchant has in one account of one asset, locked until the transaction ends. */
export async function lockBalance(
  tx: Tx,
  key: { accountId: AccountId; asset: Asset; kind: MerchantAccount },
): Promise<bigint> {
  const { rows } = await tx.query<{ atoms: bigint }>(
    'select atoms from balances where account_id = $1 and asset = $2 and kind = $3 for update',
    [key.accountId, key.asset, key.kind],
  )
  return rows[0]?.atoms ?? 0n
}

interface BalanceChange {
  readonly asset: Asset
  readonly kind: MerchantAccount
  readonly atoms: bigint
}

/** Net change of each balance row, in the order of the primary key. */
function balanceChanges(transfers: readonly Transfer[]): BalanceChange[] {
  const changes = new Map<string, BalanceChange>()
  const add = (asset: Asset, kind: LedgerAccount, atoms: bigint) => {
    if (!isMerchant(kind)) return
    const key = `${asset} ${kind}`
    changes.set(key, { asset, kind, atoms: (changes.get(key)?.atoms ?? 0n) + atoms })
  }
  for (const transfer of transfers) {
    add(transfer.asset, transfer.debit, -transfer.atoms)
    add(transfer.asset, transfer.credit, transfer.atoms)
  }
  return [...changes]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, change]) => change)
    .filter((change) => change.atoms !== 0n)
}

const isMerchant = (account: LedgerAccount): account is MerchantAccount =>
  (MERCHANT_ACCOUNTS as readonly string[]).includes(account)
