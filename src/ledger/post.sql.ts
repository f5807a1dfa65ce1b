/** Posting: an entry, its transfers and the merchant's balance rows, in the caller's transaction. */

import type { Asset, ChainName } from '../core/assets.ts'
import { invariant } from '../core/errors.ts'
import { GATEWAY } from '../core/gateway-account.ts'
import { type AccountId, newRowId } from '../core/ids.ts'
import { formatCoins } from '../core/money.ts'
import type { Queryable, Tx } from '../db/database.ts'
import { overRows } from '../db/row-statements.ts'
import { doFirst, doLast, runRows } from '../db/together.ts'
import {
  type Cause,
  type EntryKind,
  type JournalEntry,
  type LedgerAccount,
  MERCHANT_ACCOUNTS,
  type MerchantAccount,
  sayCause,
  type Transfer,
} from './chart-of-accounts.ts'

/**
 * Books an entry once. The rows locked are the balances it changes, in the order of their keys, so that two entries of one
 * merchant wait for each other; the gateway's accounts are only appended to. Transfers are dated under these locks: in the
 * order of time no balance was ever negative, whichever transaction began first. Among stories that run together balances
 * and transfers are written last (docs/decisions/0072-stories-together.md).
 *
 * @returns Whether it was booked now; false when its cause was booked before, which changes nothing.
 * @throws PostgreSQL's check violation (23514) when a balance would become negative: the whole transaction fails.
 */
export async function post(tx: Tx, entry: JournalEntry): Promise<boolean> {
  const transfers = entry.transfers.filter((transfer) => transfer.atoms !== 0n)
  for (const transfer of transfers) {
    const { asset, atoms, debit, credit } = transfer
    invariant(
      atoms > 0n,
      () => `a transfer of ${sayCause(entry.cause)} is negative: ${formatCoins(atoms, asset)}`,
    )
    invariant(
      entry.accountId !== GATEWAY || !(isMerchant(debit) || isMerchant(credit)),
      () => `${sayCause(entry.cause)} moves a merchant's balance without a merchant`,
    )
  }
  const { kind, subjectId, number } = entry.cause
  const id = newRowId()
  const isNew = await runRows(tx, INSERT_ENTRY, [
    { account_id: entry.accountId, id, kind, subject_id: subjectId, number },
  ])
  if (isNew.length === 0) return false
  await doLast(tx, writeTransfers, { ...entry, id, transfers })
  return true
}

type BookedEntry = JournalEntry & { readonly id: string }

async function writeTransfers(tx: Tx, entries: readonly BookedEntry[]): Promise<void> {
  const changes = balanceChanges(entries)
  const changed = await runRows<{ place: bigint }>(
    tx,
    CHANGE_BALANCES,
    changes.map(({ accountId, asset, kind, chain, atoms }) => ({
      account_id: accountId,
      asset,
      kind,
      chain,
      atoms,
    })),
  )
  const places = new Set(changed.map(({ place }) => Number(place)))
  for (const [index, { cause, asset, kind, atoms }] of changes.entries())
    invariant(places.has(index + 1), () =>
      atoms < 0n
        ? `${sayCause(cause)} takes ${formatCoins(-atoms, asset)} from an empty ${kind} balance, or from one of another chain`
        : `${sayCause(cause)} adds ${asset} to a ${kind} balance of another chain`,
    )
  await runRows(
    tx,
    INSERT_TRANSFERS,
    entries.flatMap(({ accountId, chain, id, transfers }) =>
      transfers.map(({ asset, debit, credit, atoms }, line) => ({
        account_id: accountId,
        entry_id: id,
        line,
        chain,
        asset,
        debit,
        credit,
        atoms,
      })),
    ),
  )
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

/**
 * PostgreSQL checks a row to insert before it looks for a conflict: what goes down is inserted as nothing, where there is a row.
 * A balance of one chain is not changed by entries of another: simulated coins pay for nothing real, whatever their account says
 * that it is.
 */
const CHANGE_BALANCES = overRows(
  { account_id: 'uuid', asset: 'text', kind: 'text', chain: 'text', atoms: 'numeric' },
  (rows) => `with change as (select * from ${rows})
    insert into balances as b (account_id, asset, kind, chain, atoms)
    select account_id, asset, kind, chain, greatest(atoms, 0) from change c
    where atoms > 0 or exists (
      select from balances h where h.account_id = c.account_id and h.asset = c.asset and h.kind = c.kind)
    order by account_id, asset, kind
    on conflict (account_id, asset, kind) do update set atoms = b.atoms + (select c.atoms from change c
      where c.account_id = b.account_id and c.asset = b.asset and c.kind = b.kind) where b.chain = excluded.chain
    returning (select c.place from change c
      where c.account_id = b.account_id and c.asset = b.asset and c.kind = b.kind) as place`,
)

/** The transfers of an entry, by its cause; empty when it was never booked. */
export async function listTransfers(db: Queryable, accountId: AccountId, cause: Cause): Promise<Transfer[]> {
  await doFirst(db, writeTransfers)
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
  await doFirst(db, writeTransfers)
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(case when t.debit = 'loss' then t.amount_atoms else -t.amount_atoms end), 0) as atoms
     from journal_entries j cross join lateral (
       select * from transfers own where own.account_id = j.account_id and own.entry_id = j.id offset 0) t
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
  await doFirst(tx, writeTransfers)
  const { rows } = await tx.query<{ atoms: bigint }>(
    'select atoms from balances where account_id = $1 and asset = $2 and kind = $3 for update',
    [key.accountId, key.asset, key.kind],
  )
  return rows[0]?.atoms ?? 0n
}

interface BalanceChange {
  readonly accountId: JournalEntry['accountId']
  readonly asset: Asset
  readonly kind: MerchantAccount
  readonly chain: ChainName
  readonly atoms: bigint
  /** Of the first entry that changes it. */
  readonly cause: Cause
}

/** Net change of each balance row that changes. */
function balanceChanges(entries: readonly BookedEntry[]): BalanceChange[] {
  const changes = new Map<string, BalanceChange>()
  for (const { accountId, chain, cause, transfers } of entries) {
    const add = (asset: Asset, kind: LedgerAccount, atoms: bigint) => {
      if (!isMerchant(kind)) return
      const key = `${accountId} ${asset} ${kind}`
      const before = changes.get(key) ?? { accountId, asset, kind, chain, cause, atoms: 0n }
      changes.set(key, { ...before, atoms: before.atoms + atoms })
    }
    for (const transfer of transfers) {
      add(transfer.asset, transfer.debit, -transfer.atoms)
      add(transfer.asset, transfer.credit, transfer.atoms)
    }
  }
  return [...changes.values()].filter(({ atoms }) => atoms !== 0n)
}

const isMerchant = (account: LedgerAccount): account is MerchantAccount =>
  (MERCHANT_ACCOUNTS as readonly string[]).includes(account)
