/**
 * Shows in the database what the signer's folder says, so that the server can ask for as many approvals as the signer will. What
 * somebody else wrote there is written over, and told.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import { policyJson } from '../../approvals/approval-policy.ts'
import { fingerprintOf } from '../../approvals/approver.ts'
import { type AccountId, readId, showId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/time.ts'
import type { Database, Tx } from '../../db/database.ts'
import type { Approvals } from './approvals.ts'
import { accountsOf } from './seen-approvals.sql.ts'
import {
  hideAddress,
  hidePolicy,
  readShown,
  type Shown,
  showAddress,
  showPin,
  showPolicy,
  showRemoved,
} from './shown-approvals.sql.ts'

interface Publishing {
  readonly db: Database
  readonly approvals: Approvals
  readonly log: Log
  /** The database's, by time's arrow. */
  readonly era?: number | undefined
}

const EVERY_MS = MINUTE_MS

interface Said {
  readonly atMs: number
  readonly era: number | undefined
  /** What the folder said then, and what of it this process showed, by its key. */
  readonly own: ReadonlyMap<string, string>
  readonly shown: ReadonlyMap<string, string>
}
const said = new WeakMap<Approvals, Said>()

/** To be called at every turn. */
export async function publishIfDue(publishing: Publishing, now: number): Promise<void> {
  const { approvals, db, log, era } = publishing
  const before = said.get(approvals)
  const own = await folderOf(publishing)
  const isSame = before !== undefined && areSame(flat(own), before.own)
  if (isSame && now - before.atMs < EVERY_MS && now >= before.atMs) return
  const all = await readShown(db, approvals.mode)
  const behind = await tellBehind(publishing, all)
  const mayWrite = ({ accountId }: { readonly accountId: AccountId }) =>
    approvals.knows(showId('acct', accountId)) && !behind.has(accountId)
  const found = only(all, mayWrite)
  const wanted = only(own, mayWrite)
  const shown = flat(wanted)
  const there = flat(found)
  const forged = [...there].filter(([key, row]) => isForged(key, row, shown, before?.shown ?? new Map()))
  const gone = [...(before?.shown ?? [])].filter(([key, row]) => shown.get(key) === row && !there.has(key))
  // At the first look, and in another era, it may be the database of a backup that says what was true once.
  const why =
    before && before.era === era
      ? 'Somebody writes into the database'
      : 'Where it was restored from a backup, that is why; else somebody writes into it'
  for (const [key] of [...forged, ...gone]) {
    await raiseAlert(db, {
      kind: 'approval_rows_changed',
      accountId: accountIn(key),
      subject: key,
      message: `what the signer showed as ${key} was not what the database said at ${new Date(now).toISOString()}; the signer wrote its own over it, and counted nothing of it. ${why}`,
    })
    log.error({ key }, 'the database said something else than the signer shows of approvals')
  }
  if (!areSame(shown, there)) await db.transaction((tx) => write(tx, wanted, found, shown, there))
  said.set(approvals, { atMs: now, era, own: flat(own), shown })
}

/**
 * Accounts of which the database shows more policies than this folder has: what another signer shows, or what a log that was lost said,
 * is not written over. Nothing is paid for them (`Approvals.isBehind`).
 */
async function tellBehind({ approvals, db }: Publishing, { policies }: Shown): Promise<Set<AccountId>> {
  const behind = policies.filter(({ accountId, number }) =>
    approvals.isBehind({ accountId, policiesShown: number }),
  )
  for (const { accountId, number } of behind)
    await raiseAlert(db, {
      kind: 'approval_policy_unknown',
      accountId,
      subject: showId('acct', accountId),
      message: `the database shows policy ${number} of approvals, and this signer has it not: nothing is paid for the account. Where another signer keeps it, stop this one; where its log of approvals was lost, restore the newest; where there is none, or somebody wrote the row, let the account's people approve a policy anew`,
    })
  return new Set(behind.map(({ accountId }) => accountId))
}

const only = (
  { pins, policies, addresses }: Shown,
  isMeant: (row: { readonly accountId: AccountId }) => boolean,
): Shown => ({
  pins: pins.filter(isMeant),
  policies: policies.filter(isMeant),
  addresses: addresses.filter(isMeant),
})

const areSame = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  one.size === other.size && [...one].every(([key, row]) => other.get(key) === row)

/**
 * A row that is neither what the folder says nor what this process showed before. A policy's lower number is one that was not shown
 * yet when a signer died.
 */
function isForged(
  key: string,
  row: string,
  wanted: ReadonlyMap<string, string>,
  before: ReadonlyMap<string, string>,
): boolean {
  const own = wanted.get(key)
  if (own === row || before.get(key) === row) return false
  const isOlder = key.startsWith('policy ') && own !== undefined && numberIn(row) < numberIn(own)
  return !isOlder
}

const numberIn = (row: string): number => (JSON.parse(row) as { number: number }).number
const accountIn = (key: string): AccountId | null => readId('acct', key.split(' ')[1] ?? '')

async function folderOf({ approvals, db }: Publishing): Promise<Shown> {
  const { log, pins, mode } = approvals
  const ids = new Map<string, AccountId>()
  for (const account of new Set([...pins.map((pin) => pin.account), ...log.accounts()])) {
    const id = readId('acct', account)
    if (id) ids.set(account, id)
  }
  const ours = new Set(ids.size === 0 ? [] : await accountsOf(db, mode, [...ids.values()]))
  const idOf = (account: string) => {
    const id = ids.get(account)
    return id && ours.has(id) ? id : null
  }
  return {
    pins: pins.flatMap((pin) => {
      const [accountId, userId] = [idOf(pin.account), readId('usr', pin.user)]
      const countsFromMs = approvals.countsFromMs(pin)
      if (!accountId || !userId || !Number.isFinite(countsFromMs)) return []
      const { credentialId, name } = pin
      const times = { pinnedAt: new Date(pin.added_at), countsFrom: new Date(countsFromMs) }
      return [{ accountId, credentialId, userId, name, fingerprint: fingerprintOf(pin), ...times }]
    }),
    policies: log.accounts().flatMap((account) => {
      const [accountId, inForce] = [idOf(account), log.policyOf(account)]
      if (!accountId || !inForce) return []
      const { number, policy, sinceMs } = inForce
      return [{ accountId, number, policy: policyJson(policy), since: new Date(sinceMs) }]
    }),
    addresses: log.accounts().flatMap((account) => {
      const accountId = idOf(account)
      const delayMs = (log.policyOf(account)?.policy.allowlist.delayHours ?? 0) * HOUR_MS
      if (!accountId) return []
      return log.addressesOf(account).map(({ network, address, name, addedMs }) => {
        const times = { addedAt: new Date(addedMs), usableFrom: new Date(addedMs + delayMs) }
        return { accountId, network, address, name, ...times }
      })
    }),
  }
}

const keyOf = {
  pin: (row: Shown['pins'][number]) => `approver ${showId('acct', row.accountId)} ${row.credentialId}`,
  policy: (row: Shown['policies'][number]) => `policy ${showId('acct', row.accountId)}`,
  address: ({ accountId, network, address }: Shown['addresses'][number]) =>
    `address ${showId('acct', accountId)} ${network} ${address}`,
}

const flat = ({ pins, policies, addresses }: Shown): Map<string, string> =>
  new Map([
    ...pins.map((row) => [keyOf.pin(row), textOf(row)] as const),
    ...policies.map((row) => [keyOf.policy(row), textOf(row)] as const),
    ...addresses.map((row) => [keyOf.address(row), textOf(row)] as const),
  ])

/** The same for the same row, in whatever order its fields came. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )

async function write(
  tx: Tx,
  wanted: Shown,
  found: Shown,
  shown: ReadonlyMap<string, string>,
  there: ReadonlyMap<string, string>,
): Promise<void> {
  const other = <Row>(rows: readonly Row[], key: (row: Row) => string) =>
    rows.filter((row) => there.get(key(row)) !== shown.get(key(row)))
  const gone = <Row>(rows: readonly Row[], key: (row: Row) => string) =>
    rows.filter((row) => !shown.has(key(row)))
  for (const row of other(wanted.pins, keyOf.pin)) await showPin(tx, row)
  for (const row of gone(found.pins, keyOf.pin)) await showRemoved(tx, row)
  for (const row of other(wanted.policies, keyOf.policy)) await showPolicy(tx, row)
  for (const row of gone(found.policies, keyOf.policy)) await hidePolicy(tx, row)
  for (const row of gone(found.addresses, keyOf.address)) await hideAddress(tx, row)
  for (const row of other(wanted.addresses, keyOf.address)) await showAddress(tx, row)
}
