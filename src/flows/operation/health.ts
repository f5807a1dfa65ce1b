/** How Beck is doing: what readiness, metrics and `beck doctor` tell. */

import { listChainProgress } from '../../chains/chain-progress.sql.ts'
import { POLL_AGE_MS_MAX } from '../../chains/poll-age.ts'
import { CHAINS, type ChainName } from '../../core/assets.ts'
import type { Queryable } from '../../db/database.ts'
import { listRoles, type RoleState } from '../../db/running-roles.ts'
import { readArrow } from '../../db/time-arrow.sql.ts'
import type { Gateway } from '../gateway.ts'
import { type Backlog, readBacklog } from './health.sql.ts'

export interface ChainHealth {
  readonly chain: ChainName
  readonly ok: boolean
  /** What is wrong, in a sentence; null when nothing is. */
  readonly problem: string | null
  readonly tipHeight: number | null
  /** How long ago the newest block known was made. */
  readonly tipAgeMs: number | null
  /** How long ago the last complete look at the chain began: what happened since is not known yet. */
  readonly pollAgeMs: number | null
}

export interface RoleHealth extends RoleState {
  readonly ok: boolean
  /** What is wrong, in a sentence; null when nothing is. */
  readonly problem: string | null
}

export interface Health {
  /** The database answers, so the API can. Chains and rates may be ill without it: then only their coins are refused. */
  readonly ready: boolean
  /** Nothing at all is wrong. */
  readonly ok: boolean
  /** Not well although it answers: it lost commits, and nothing moves until the operator has looked. */
  readonly database: { readonly ok: boolean; readonly problem: string | null; readonly answerMs: number }
  readonly chains: readonly ChainHealth[]
  readonly rates: { readonly ok: boolean; readonly problem: string | null; readonly ageMs: number | null }
  /** What is played by whom; empty when the database does not answer. */
  readonly roles: readonly RoleHealth[]
  readonly backlog: Backlog | null
}

/** @param expected - The chains that the settings connect; others are shown when the database knows them. */
export async function readHealth(
  gateway: Pick<Gateway, 'db' | 'rates' | 'log' | 'writeProblem'>,
  expected: readonly ChainName[],
): Promise<Health> {
  const startedAtMs = performance.now()
  const rates = rateHealth(gateway)
  try {
    const [chains, backlog, arrow, roles] = await Promise.all([
      chainHealth(gateway.db, expected),
      readBacklog(gateway.db),
      readArrow(gateway.db),
      roleHealth(gateway.db),
    ])
    const problem = arrow?.stopped ?? gateway.writeProblem?.() ?? null
    const database = { ok: problem === null, problem, answerMs: Math.round(performance.now() - startedAtMs) }
    const ok =
      database.ok &&
      rates.ok &&
      chains.every((chain) => chain.ok) &&
      roles.every((role) => role.ok) &&
      backlog.frozen.length === 0
    return { ready: true, ok, database, chains, rates, roles, backlog }
  } catch (error) {
    gateway.log.error({ err: error }, 'the database does not answer')
    const answerMs = Math.round(performance.now() - startedAtMs)
    const database = { ok: false, problem: 'PostgreSQL does not answer', answerMs }
    return { ready: false, ok: false, database, chains: [], rates, roles: [], backlog: null }
  }
}

/** What each role is for, and so what stands still without it. */
const WITHOUT: Readonly<Record<RoleState['role'], string>> = {
  api: 'nobody answers requests',
  worker: 'no payment settles, no webhook is delivered, nothing is sent',
  watcher: 'no deposit is seen and no book is proven',
  signer: 'no withdrawal is signed',
}

async function roleHealth(db: Queryable): Promise<RoleHealth[]> {
  return (await listRoles(db)).map((state) => {
    const { role, running, seenAgeMs, concerns } = state
    const last = seenAgeMs === null ? '' : `, the last one ${Math.round(seenAgeMs / 1_000)} s ago`
    const problem =
      running === 0
        ? `no ${role} runs${last}: ${WITHOUT[role]}`
        : concerns.length > 0
          ? concerns.join('; ')
          : null
    return { ...state, ok: problem === null, problem }
  })
}

function rateHealth({ rates }: Pick<Gateway, 'rates'>): Health['rates'] {
  const ageMs = rates.live.ageMs()
  const problem = ageMs === null ? 'a live rate has no quorum of exchanges; its coin is refused' : null
  return { ok: problem === null, problem, ageMs }
}

async function chainHealth(db: Queryable, expected: readonly ChainName[]): Promise<ChainHealth[]> {
  const known = new Map((await listChainProgress(db)).map((progress) => [progress.chain, progress]))
  const now = Date.now()
  return CHAINS.filter((chain) => expected.includes(chain) || known.has(chain)).map((chain) => {
    const progress = known.get(chain)
    const pollAgeMs = progress?.pollAgeMs ?? null
    const problem = problemOf(chain, expected, progress?.haltedReason ?? null, pollAgeMs)
    return {
      chain,
      ok: problem === null,
      problem,
      tipHeight: progress?.tipHeight ?? null,
      tipAgeMs: progress ? Math.max(0, now - progress.tipTime.getTime()) : null,
      pollAgeMs,
    }
  })
}

function problemOf(
  chain: ChainName,
  expected: readonly ChainName[],
  halted: string | null,
  pollAgeMs: number | null,
): string | null {
  if (!expected.includes(chain)) return 'it was followed once, and no node is set for it now'
  if (halted !== null) return `its watcher stopped: ${halted}`
  if (pollAgeMs === null)
    return 'it was never seen whole: its node does not answer, still syncs, or no watcher runs'
  if (pollAgeMs > POLL_AGE_MS_MAX)
    return `it was last seen ${Math.round(pollAgeMs / 1_000)} s ago: its node does not answer, or no watcher runs`
  return null
}
