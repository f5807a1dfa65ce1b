/**
 * The audit log. An act is written in the transaction that does it; a second later the worker gives it its place in a
 * chain of MACs, so that nobody who acts ever waits for somebody else's act.
 *
 * @see docs/decisions/0060-audit-log.md
 */
import { conflict, invariant } from '../core/errors.ts'
import { type AccountId, newRowId } from '../core/ids.ts'
import type { Secrets } from '../core/secrets.ts'
import type { Database, Queryable, Tx } from '../db/database.ts'
import { anyRow } from '../db/rows.ts'
import type { Act, Actor, Facts, RecordedAct } from './act.ts'

/** Records an act within the transaction that does it: there is never one without the other. Locks nothing. */
export async function recordAct(tx: Tx, act: Act): Promise<void> {
  const json = (facts: Facts | null) => (facts === null ? null : JSON.stringify(facts))
  await tx.query(
    `insert into audit_log (id, account_id, actor_kind, actor_id, actor_name, address, action, subject, before, after)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      newRowId(),
      act.accountId,
      act.actor.kind,
      act.actor.id,
      act.actor.name,
      act.address,
      act.action,
      act.subject,
      json(act.before),
      json(act.after),
    ],
  )
}

export interface ActRow {
  readonly id: string
  readonly at: Date
  readonly account_id: AccountId | null
  readonly actor_kind: Actor['kind']
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly address: string | null
  readonly action: string
  readonly subject: string | null
  readonly before: string | null
  readonly after: string | null
  readonly place: bigint | null
  readonly mac: Buffer | null
}

/** JSON as text: the MAC is over its very characters. */
export const ACT_COLUMNS = `id, at, account_id, actor_kind, actor_id, actor_name, address, action, subject, before::text as before,
  after::text as after, place, mac`

export const actFromRow = (row: ActRow): RecordedAct => ({
  id: row.id,
  at: row.at,
  accountId: row.account_id,
  actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
  address: row.address,
  action: row.action,
  subject: row.subject,
  before: row.before === null ? null : JSON.parse(row.before),
  after: row.after === null ? null : JSON.parse(row.after),
  place: row.place,
})

/** What the first entry follows. */
const BEGINNING = Buffer.alloc(32)
const PURPOSE = 'audit'

/** JSON tells an absent text from an empty one. */
const macParts = (row: ActRow, place: bigint, previous: Buffer): (string | Buffer)[] => [
  previous,
  String(place),
  JSON.stringify([
    row.id,
    row.at.toISOString(),
    row.account_id,
    row.actor_kind,
    row.actor_id,
    row.actor_name,
    row.address,
    row.action,
    row.subject,
    row.before,
    row.after,
  ]),
]

export interface ChainHead {
  readonly place: bigint
  readonly mac: Buffer
}

/**
 * Gives acts that have no place yet the next ones, oldest first. Locks the last act of the chain, so that two workers
 * take turns; acts that are being written are not waited for.
 *
 * @returns Where the chain ends now and how many were added; `limit` means that there may be more.
 */
export async function chainActs(
  db: Database,
  secrets: Secrets,
  limit: number,
): Promise<{ readonly head: ChainHead | null; readonly added: number }> {
  const nothing = { head: null, added: 0 }
  if (!(await anyRow(db, 'select from audit_log where place is null limit 1'))) return nothing
  return db.transaction(async (tx) => {
    // Once there, the lock is the chain's; in the very first transaction `place` being unique decides.
    const { rows: last } = await tx.query<ChainHead>(
      'select place, mac from audit_log where place is not null order by place desc limit 1 for update',
    )
    const { rows: newest } = await tx.query<{ place: bigint }>('select max(place) as place from audit_log')
    // Another worker went on while this one waited for the lock: the next turn does.
    if ((newest[0]?.place ?? 0n) !== (last[0]?.place ?? 0n)) return { head: null, added: limit }
    // Under the lock: what waited before it may have its place by now.
    const { rows: waiting } = await tx.query<ActRow>(
      `select ${ACT_COLUMNS} from audit_log where place is null order by id limit $1`,
      [limit],
    )
    if (waiting.length === 0) return nothing
    let head: ChainHead = last[0] ?? { place: 0n, mac: BEGINNING }
    const places: bigint[] = []
    const macs: Buffer[] = []
    for (const row of waiting) {
      const place = head.place + 1n
      head = { place, mac: secrets.mac(PURPOSE, macParts(row, place, head.mac)) }
      places.push(place)
      macs.push(head.mac)
    }
    await tx.query(
      `update audit_log a set place = chained.place, mac = chained.mac
       from unnest($1::uuid[], $2::bigint[], $3::bytea[]) as chained (id, place, mac) where a.id = chained.id`,
      [waiting.map(({ id }) => id), places, macs],
    )
    return { head, added: waiting.length }
  })
}

export interface AuditProof {
  readonly entries: bigint
  /** Where the chain ends: noted elsewhere, it shows later whether the end was cut off. */
  readonly head: ChainHead | null
  /** Acts without a place: of the last seconds, or written while no worker runs. */
  readonly unchained: bigint
  /** The first thing that is wrong; null for nothing. */
  readonly broken: { readonly place: bigint; readonly problem: 'missing' | 'changed' } | null
}

/**
 * Reads the chain from its beginning, page by page, and checks every MAC.
 *
 * @param noted - Where it ended once: whoever cuts off the end of the log would leave a chain that is whole.
 */
export async function verifyAuditLog(
  db: Queryable,
  secrets: Secrets,
  noted: ChainHead | null = null,
): Promise<AuditProof> {
  let head: ChainHead = { place: 0n, mac: BEGINNING }
  const proof = async (broken: AuditProof['broken']): Promise<AuditProof> => {
    const { rows } = await db.query<{ unchained: bigint }>(
      'select count(*) as unchained from audit_log where place is null',
    )
    return {
      entries: head.place,
      head: head.place > 0n ? head : null,
      unchained: rows[0]?.unchained ?? 0n,
      broken,
    }
  }
  for (;;) {
    const { rows } = await db.query<ActRow & ChainHead>(
      `select ${ACT_COLUMNS} from audit_log where place > $1 order by place limit 1000`,
      [head.place],
    )
    if (rows.length === 0)
      return proof(noted && noted.place > head.place ? { place: head.place + 1n, problem: 'missing' } : null)
    for (const row of rows) {
      const place = head.place + 1n
      if (row.place !== place) return proof({ place, problem: 'missing' })
      if (!secrets.isMac(row.mac, PURPOSE, macParts(row, place, head.mac)))
        return proof({ place, problem: 'changed' })
      if (noted?.place === place && !noted.mac.equals(row.mac)) return proof({ place, problem: 'changed' })
      head = { place, mac: row.mac }
    }
  }
}

export interface ActFilter {
  readonly accountId?: AccountId
  /** Acts before this one, by id; the newest when left out. */
  readonly before?: string
  readonly limit: number
}

/** Acts, the newest first. */
export async function listActs(db: Queryable, filter: ActFilter): Promise<RecordedAct[]> {
  const { rows } = await db.query<ActRow>(
    `select ${ACT_COLUMNS} from audit_log
     where ($1::uuid is null or account_id = $1) and ($2::uuid is null or id < $2)
     order by id desc limit $3`,
    [filter.accountId ?? null, filter.before ?? null, filter.limit],
  )
  return rows.map(actFromRow)
}

/**
 * Locks the act that the chain ends with, until the transaction does: nothing gets a place meanwhile, and acts are recorded.
 * Where none has a place yet there are few, and the table is locked.
 */
async function holdEnd(tx: Tx): Promise<void> {
  for (;;) {
    const { rows: last } = await tx.query<{ place: bigint }>(
      'select place from audit_log where place is not null order by place desc limit 1 for update',
    )
    const { rows: newest } = await tx.query<{ place: bigint | null }>(
      'select max(place) as place from audit_log',
    )
    // Else the chain went on while this waited for the lock.
    if (newest[0]?.place !== (last[0]?.place ?? null)) continue
    if (last.length > 0) return
    await tx.query('lock table audit_log in share row exclusive mode')
    const { rows: first } = await tx.query('select from audit_log where place is not null limit 1')
    if (first.length === 0) return
  }
}

/**
 * Lets this transaction change acts. Their trigger's function is another one until it ends, for it alone: to turn the trigger
 * off would lock the table, and every transaction that records an act would wait. Needs the table's owner.
 */
async function changingActs<Result>(tx: Tx, work: () => Promise<Result>): Promise<Result> {
  const { rows } = await tx.query<{ definition: string }>(
    `select pg_get_functiondef('refuse_audit_change'::regproc) as definition`,
  )
  const [guard] = rows
  invariant(guard, 'acts have a function that keeps them')
  await tx.query(
    'create or replace function refuse_audit_change() returns trigger language plpgsql as $$ begin return new; end $$',
  )
  const result = await work()
  await tx.query(guard.definition)
  return result
}

/**
 * The chain anew under another key, all of it or nothing: a MAC is over the one before. Needs the table's owner, for
 * nobody else may take away what keeps acts as they are. Acts that come meanwhile are recorded, and wait for their place.
 *
 * @returns What was proven under either key, and how many MACs are other ones now. A broken chain stays as it is.
 */
export async function rechainActs(
  db: Database,
  next: Secrets,
  both: Secrets,
): Promise<AuditProof & { readonly renewed: number }> {
  return db.transaction(async (tx) => {
    await tx.query('set local idle_in_transaction_session_timeout = 0')
    await holdEnd(tx)
    const underNext = await verifyAuditLog(tx, next)
    if (!underNext.broken) return { ...underNext, renewed: 0 }
    const proven = await verifyAuditLog(tx, both)
    if (proven.broken) return { ...proven, renewed: 0 }
    const head = await changingActs(tx, () => chainAnew(tx, next))
    return { ...proven, head, renewed: Number(head.place) }
  })
}

/** A chain that was proven and is held, under the MACs of a key. */
async function chainAnew(tx: Tx, secrets: Secrets): Promise<ChainHead> {
  let head: ChainHead = { place: 0n, mac: BEGINNING }
  for (;;) {
    const { rows } = await tx.query<ActRow>(
      `select ${ACT_COLUMNS} from audit_log where place > $1 order by place limit 1000`,
      [head.place],
    )
    if (rows.length === 0) return head
    const macs: Buffer[] = []
    for (const row of rows) {
      const place = head.place + 1n
      head = { place, mac: secrets.mac(PURPOSE, macParts(row, place, head.mac)) }
      macs.push(head.mac)
    }
    await tx.query(
      `update audit_log a set mac = n.mac from unnest($1::uuid[], $2::bytea[]) as n (id, mac)
       where a.id = n.id and a.mac <> n.mac`,
      [rows.map(({ id }) => id), macs],
    )
  }
}

/**
 * Takes what acts say of a customer out of them: of acts on it all that was before and after, of others its email. Needs
 * the table's owner. Acts that come meanwhile are recorded, and wait for their place.
 *
 * @returns How many acts say less now, and where the chain ends; null where nothing changed.
 * @throws {Refusal} `audit_log_broken`: a chain that was tampered with is not made whole by this.
 */
export async function forgetInActs(
  tx: Tx,
  secrets: Secrets,
  of: { readonly accountId: AccountId; readonly subject: string; readonly email: string },
): Promise<{ readonly acts: number; readonly head: ChainHead | null }> {
  await tx.query('set local idle_in_transaction_session_timeout = 0')
  await holdEnd(tx)
  const { rows } = await tx.query<ActRow>(
    `select ${ACT_COLUMNS} from audit_log where account_id = $1
       and (subject = $2 or strpos(lower(coalesce(before::text, '') || coalesce(after::text, '')), lower($3)) > 0)`,
    [of.accountId, of.subject, inJson(of.email)],
  )
  const told = rows.filter(({ before, after }) => before !== null || after !== null)
  if (told.length === 0) return { acts: 0, head: null }
  const { broken } = await verifyAuditLog(tx, secrets)
  if (broken)
    throw conflict(
      'audit_log_broken',
      `the audit log is not as it was written at place ${broken.place}; look into it first: npx beck audit verify`,
    )
  const head = await changingActs(tx, async () => {
    for (const row of told) {
      const less = (facts: string | null) =>
        facts === null ? null : row.subject === of.subject ? FORGOTTEN : withoutText(facts, of.email)
      await tx.query('update audit_log set before = $2, after = $3 where id = $1', [
        row.id,
        less(row.before),
        less(row.after),
      ])
    }
    return chainAnew(tx, secrets)
  })
  return { acts: told.length, head }
}

const FORGOTTEN = JSON.stringify({ forgotten: true })

/** A JSON text with every occurrence of a text in it gone, whatever its case. */
function withoutText(json: string, text: string): string {
  return json.replace(new RegExp(RegExp.escape(inJson(text)), 'gi'), 'forgotten')
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
