/** What the signer reads: requests with their MACs, their holds, UTXOs and balances. */
import type { Asset, ChainName } from '../core/assets.ts'
import type { Queryable } from '../db/database.ts'
import { arraysOf } from '../db/row-statements.ts'
import { allRows, anyRow } from '../db/rows.ts'
import { lostCoinSql, openSql } from '../treasury/signed-transaction.ts'
import {
  CAUSE_NUMBER,
  HELD_FROM,
  HOLD,
  RELEASE,
  type RehearsalNote,
  type WaitingFor,
  type WithdrawalRequest,
} from '../withdrawals/withdrawal.ts'
import { WITHDRAWAL_REQUEST_COLUMNS } from '../withdrawals/withdrawals.sql.ts'
import type { OpenRequest } from './approvals/judge-release.ts'

export interface Requested extends WithdrawalRequest {
  readonly mac: Uint8Array
  readonly waitingFor: WaitingFor | null
  /** Nothing new is signed for its coin. */
  readonly isFrozen: boolean
  /**
   * What a node said lately of its transfer, null when it was not asked; `succeeds` where no transfer can fail in a block, and on
   * simulated chains. The worker asks (flows/withdrawals/rehearse-payouts.ts).
   */
  readonly rehearsal: RehearsalNote | null
  /** The most gas that it was asked with; 0 where none was asked. */
  readonly rehearsedGas: bigint
  /** Its request for approvals, or its batch's, as the database says; null where there is none. */
  readonly approval: OpenRequest | null
  /** How many policies of approvals its account had, as the database says; 0 for none. */
  readonly policiesShown: number
}

/** Chains on which something waits for a signature. */
export async function listChainsWithWork(db: Queryable): Promise<Set<ChainName>> {
  const { rows } = await db.query<{ chain: ChainName }>(
    `select chain from withdrawals w where status = 'requested' and refused_reason is null
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)
     union
     select chain from signed_transactions t where ${openSql('t')} and bump_wanted
     union
     select chain from sweeps where status in ('planned', 'funded')
     union
     select chain from sweep_delegates where replacement_set is null and wanted_since is not null`,
  )
  return new Set(rows.map((row) => row.chain))
}

interface RequestedRow extends Omit<Requested, 'approval'> {
  readonly approvalStatus: OpenRequest['status'] | null
  readonly approvalNeeded: number
  readonly approvalUntil: Date
}

const requestedFromRow = ({
  approvalStatus: status,
  approvalNeeded: needed,
  approvalUntil,
  ...requested
}: RequestedRow): Requested => ({
  ...requested,
  approval: status === null ? null : { status, needed, validUntil: new Date(approvalUntil) },
})

/**
 * Requests that nothing was signed for, the oldest first.
 *
 * @param after - Only those behind this one; null for the first of them.
 */
export async function listRequested(
  db: Queryable,
  chain: ChainName,
  after: Pick<Requested, 'accountId' | 'id'> | null,
  limit: number,
): Promise<Requested[]> {
  const { rows } = await db.query<RequestedRow>(
    `select ${WITHDRAWAL_REQUEST_COLUMNS}, w.mac, w.waiting_for as "waitingFor",
       exists (select from freezes f where f.chain = w.chain and f.asset = w.asset) as "isFrozen",
       case when w.chain <> 'ethereum' then 'succeeds' when rehearsed_at > now() - interval '5 minutes' then rehearsal end as rehearsal,
       coalesce(rehearsed_gas, 0) as "rehearsedGas", coalesce(r.status, b.status) as "approvalStatus",
       coalesce(r.needed, b.needed) as "approvalNeeded", coalesce(r.valid_until, b.valid_until) as "approvalUntil",
       coalesce((select p.number from approval_policies p where p.account_id = w.account_id), 0) as "policiesShown"
     from withdrawals w
     left join approval_requests r on r.account_id = w.account_id and r.withdrawal_id = w.id
     left join approval_requests b on b.account_id = w.account_id and b.batch_id = w.batch_id
     where w.chain = $1 and w.status = 'requested' and w.refused_reason is null and not w.cancel_wanted
       and not exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)
       and ($3::uuid is null or (w.created_at, w.id) > (select l.created_at, l.id from withdrawals l
         where l.account_id = $3 and l.id = $4))
     order by w.created_at, w.id limit $2`,
    [chain, limit, after?.accountId ?? null, after?.id ?? null],
  )
  return rows.map(requestedFromRow)
}

/**
 * Those of some withdrawals since which UTXOs were gathered, in a transaction whose block is to come or not deep yet. While
 * one waits, UTXOs are gathered for nothing else than such as wait.
 */
export async function listGatheredFor(
  db: Queryable,
  withdrawals: readonly Pick<Requested, 'accountId' | 'id'>[],
): Promise<Pick<Requested, 'accountId' | 'id'>[]> {
  if (withdrawals.length === 0) return []
  return allRows(
    db,
    `select w.account_id as "accountId", w.id from withdrawals w
     where (w.account_id, w.id) in (select * from unnest($1::uuid[], $2::uuid[])) and exists (
       select from signed_transactions g where g.chain = w.chain and g.kind = 'consolidation' and ${openSql('g')}
         and g.created_at >= w.created_at)`,
    arraysOf(withdrawals, 'accountId', 'id'),
  )
}

/**
 * Atoms that the ledger holds for each of some requests, in their order: taken from the account its kind names; 0 once they were
 * given back.
 */
export async function listHeld(db: Queryable, requests: readonly WithdrawalRequest[]): Promise<bigint[]> {
  if (requests.length === 0) return []
  const { rows } = await db.query<{ atoms: bigint }>(
    `select coalesce((
         select sum(t.amount_atoms)
         from journal_entries j join transfers t on t.account_id = j.account_id and t.entry_id = j.id
         where j.account_id = w.account_id and j.kind = $6 and j.subject_id = w.id and j.number = $7
           and t.asset = w.asset and t.chain = w.chain and t.debit = w.debit and t.credit = 'held'
           and not exists (select from journal_entries r
             where r.account_id = w.account_id and r.kind = $8 and r.subject_id = w.id)
       ), 0) as atoms
     from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
       with ordinality as w (account_id, id, asset, chain, debit, place)
     order by place`,
    [
      ...arraysOf(requests, 'accountId', 'id', 'asset', 'chain'),
      requests.map(({ kind }) => HELD_FROM[kind]),
      HOLD,
      CAUSE_NUMBER,
      RELEASE,
    ],
  )
  return rows.map(({ atoms }) => atoms)
}

/** Whether nobody waits to be paid on a chain, and its coin is not frozen. */
export async function isIdle(db: Queryable, chain: ChainName): Promise<boolean> {
  const { rows } = await db.query<{ idle: boolean }>(
    `select not exists (select from withdrawals where chain = $1 and status = 'requested')
       and not exists (select from freezes where chain = $1) as idle`,
    [chain],
  )
  return rows[0]?.idle ?? false
}

/** Where change goes next; null while that address is not derived yet, for blocks are matched with derived ones only. */
export async function nextChangePosition(
  db: Queryable,
  chain: ChainName,
  series: string,
): Promise<bigint | null> {
  const { rows } = await db.query<{ next_change: bigint }>(
    `select w.next_change from wallets w
     join addresses a on a.chain = w.chain and a.series = w.series and a.branch = 1 and a.position = w.next_change
     where w.chain = $1 and w.series = $2`,
    [chain, series],
  )
  return rows[0]?.next_change ?? null
}

/** The next nonce of a sender; null until the worker has asked the chain where it stands. */
export async function nextNonce(db: Queryable, chain: ChainName, sender: string): Promise<bigint | null> {
  const { rows } = await db.query<{ next: bigint }>(
    'select next from nonces where chain = $1 and sender = $2',
    [chain, sender],
  )
  return rows[0]?.next ?? null
}

/**
 * What a sender on a chain with accounts holds and has not signed away yet, fees at their highest included. What a block
 * took after the balance was seen is taken off too: at worst twice for a moment, never too little. Of a replacement set, which
 * one nonce allows to enter once, the dearest counts.
 */
export async function spendableBalances(
  db: Queryable,
  chain: ChainName,
  sender: string,
): Promise<Map<Asset, bigint>> {
  const { rows } = await db.query<{ asset: Asset; atoms: bigint }>(
    `select b.asset, b.atoms - coalesce((
         select sum(taken) from (
           select max(case when t.asset = b.asset then t.value_atoms else 0 end
             + case when b.asset = 'ETH' then t.fee_atoms else 0 end) as taken
           from signed_transactions t
           where t.chain = $1 and t.sender = $2
             and (${openSql('t')} and t.block_height is null or t.block_height > b.seen_height)
             and not exists (select from signed_transactions m where m.chain = $1 and m.replacement_set = t.replacement_set
               and m.block_height <= b.seen_height)
           group by t.replacement_set) sets), 0) as atoms
     from account_balances b where b.chain = $1 and b.address = $2`,
    [chain, sender],
  )
  return new Map(rows.map((row) => [row.asset, row.atoms]))
}

/** The chain id that the watcher pinned at first contact; for private chains, which have no fixed one. */
export async function pinnedChainId(db: Queryable, chain: ChainName): Promise<number | null> {
  const { rows } = await db.query<{ identity: string }>('select identity from chains where chain = $1', [
    chain,
  ])
  const id = /^(\d+):/.exec(rows[0]?.identity ?? '')?.[1]
  return id === undefined ? null : Number(id)
}

interface WantedBump {
  readonly replacementSet: string
  readonly txid: string
  readonly feeAtoms: bigint
  readonly feeRate: bigint
}

/** Replacement sets that should pay more: the newest transaction of each. */
export const listBumpsWanted = (db: Queryable, chain: ChainName): Promise<WantedBump[]> =>
  allRows(
    db,
    `select distinct on (replacement_set) replacement_set as "replacementSet", txid, fee_atoms as "feeAtoms", fee_rate as "feeRate"
     from signed_transactions t
     where chain = $1 and ${openSql('t')} and block_height is null
       and exists (select from signed_transactions w where w.chain = $1 and w.replacement_set = t.replacement_set and w.bump_wanted)
       and not exists (select from signed_transactions w where w.chain = $1 and w.replacement_set = t.replacement_set
         and (w.status in ('confirmed', 'reverted', 'displaced', 'impossible') or w.block_height is not null))
       and not ${lostCoinSql('t')}
     order by replacement_set, created_at desc, fee_rate desc`,
    [chain],
  )

export interface PlannedSweep {
  readonly id: string
  readonly address: string
  readonly series: string
  readonly position: bigint
  readonly asset: Asset
  readonly atoms: bigint
  /** Ether of ours that is there already. */
  readonly etherAtoms: bigint
  readonly isFunded: boolean
  readonly way: 'alone' | 'batch'
  /** The address delegates to our contract already. */
  readonly delegates: boolean
  /** Sweeps of this asset that failed at this address. */
  readonly failures: bigint
}

/**
 * Deposits that the worker found worth their gas, the oldest first; none of a coin that is frozen.
 *
 * @param after - Only those behind this one; null for the first of them.
 */
export const listSweeps = (
  db: Queryable,
  of: { chain: ChainName; series: string; after: string | null; limit: number },
): Promise<PlannedSweep[]> =>
  allRows(
    db,
    `select id, address, series, position, asset, atoms, ether_atoms as "etherAtoms", status = 'funded' as "isFunded", way, delegates,
       (select count(*) from sweeps f where f.chain = s.chain and f.address = s.address and f.asset = s.asset and f.status = 'failed')
         as failures
     from sweeps s
     where chain = $1 and series = $2 and status in ('planned', 'funded')
       and not exists (select from freezes f where f.chain = s.chain and f.asset = s.asset)
       and ($4::uuid is null or (created_at, id) > (select l.created_at, l.id from sweeps l where l.chain = $1 and l.id = $4))
     order by created_at, id limit $3`,
    [of.chain, of.series, of.limit, of.after],
  )

/** What a sweep is to take from its address, with its fee; null when the database forgot it. */
export async function sweptAtoms(db: Queryable, chain: ChainName, id: string): Promise<bigint | null> {
  const { rows } = await db.query<{ atoms: bigint }>(
    'select atoms from sweeps where chain = $1 and id = $2',
    [chain, id],
  )
  return rows[0]?.atoms ?? null
}

/** Whether the worker asks for a sweep delegate at an address and nothing was signed for it yet. */
export const isDeploymentWanted = (db: Queryable, chain: ChainName, address: string): Promise<boolean> =>
  anyRow(
    db,
    `select from sweep_delegates
     where chain = $1 and address = $2 and replacement_set is null and wanted_since is not null`,
    [chain, address],
  )
