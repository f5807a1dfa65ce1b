/**
 * Who runs: each process writes every few seconds that it does, for each of its roles, and what it is short of. Health,
 * metrics, the doctor and `beck alive` read it.
 */
import { randomUUID } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Log } from '../core/log.ts'
import { smaller } from '../core/money.ts'
import { SECOND_MS } from '../core/time.ts'
import { VERSION } from '../core/version.ts'
import { hasTable } from './applied-migrations.ts'
import type { Queryable } from './database.ts'
import { whyNotWritten } from './failures.ts'

export const RUNNING_ROLES = ['api', 'worker', 'watcher', 'signer'] as const
export type RunningRole = (typeof RUNNING_ROLES)[number]

const BEAT_MS = 5 * SECOND_MS
/** Six beats that did not come: by then whoever lives has written one. */
export const ALIVE_MS = 30 * SECOND_MS
/** How often the loop is looked at: two wakes a second are nothing, and a wait shorter than this harms nobody. */
const LAG_RESOLUTION_MS = 500
/** PostgreSQL stops when it can not write its log, and the signer when it can not write its journal. */
export const DISK_FREE_BYTES_MIN = 200_000_000

interface Beat {
  readonly instance: string
  readonly host: string
  readonly roles: readonly RunningRole[]
  readonly loopLagMs: number
  readonly diskFreeBytes: bigint | null
  readonly keyId: string
  readonly concerns: readonly string[]
}

/** Writes only rows of its own; those of processes that are gone are left to whoever gets at them first. */
async function recordBeat(
  db: Queryable,
  { instance, host, roles, loopLagMs, diskFreeBytes, keyId, concerns }: Beat,
): Promise<void> {
  await db.query(
    `with gone as (
       delete from running_roles where (instance, role) in (
         select instance, role from running_roles where seen_at < now() - interval '1 hour' for update skip locked)
     )
     insert into running_roles (instance, role, host, version, loop_lag_ms, disk_free_bytes, key_id, concerns)
     select $1::uuid, role, $2, $3, $4, $5, $6, $7::text[] from unnest($8::text[]) as role
     on conflict (instance, role) do update set seen_at = now(), loop_lag_ms = excluded.loop_lag_ms,
       disk_free_bytes = excluded.disk_free_bytes, concerns = excluded.concerns`,
    [instance, host, VERSION, loopLagMs, diskFreeBytes, keyId, concerns, roles],
  )
}

interface Running {
  readonly role: RunningRole
  readonly version: string
  readonly host: string
}

export interface RoleState {
  readonly role: RunningRole
  /** Processes that play it now. */
  readonly running: number
  /** How long ago one of them said so; null when none did within the hour. */
  readonly seenAgeMs: number | null
  /** Of those that run, the worst. */
  readonly loopLagMs: number
  /** Of those that run and have a data directory, the least. */
  readonly diskFreeBytes: bigint | null
  /** Of those that run, each with its machine. */
  readonly concerns: readonly string[]
  readonly versions: readonly string[]
}

/** All four, those that nobody plays too. A handful of rows. */
export async function listRoles(db: Queryable): Promise<RoleState[]> {
  const { rows } = await db.query<
    Running & Pick<Beat, 'loopLagMs' | 'diskFreeBytes' | 'concerns'> & { ageMs: number }
  >(
    `select role, host, version, (extract(epoch from clock_timestamp() - seen_at) * 1000)::float8 as "ageMs",
            loop_lag_ms as "loopLagMs", disk_free_bytes as "diskFreeBytes", concerns
     from running_roles where seen_at > now() - interval '1 hour' and ended_at is null order by seen_at desc limit 1000`,
  )
  return RUNNING_ROLES.map((role) => {
    const all = rows.filter((row) => row.role === role)
    const alive = all.filter((row) => row.ageMs <= ALIVE_MS)
    const disks = alive.flatMap((row) => row.diskFreeBytes ?? [])
    return {
      role,
      running: alive.length,
      seenAgeMs: all[0] ? Math.max(0, Math.round(all[0].ageMs)) : null,
      loopLagMs: Math.max(0, ...alive.map((row) => row.loopLagMs)),
      diskFreeBytes: disks.length === 0 ? null : disks.reduce(smaller),
      concerns: [...new Set(alive.flatMap((row) => row.concerns.map((what) => `${row.host}: ${what}`)))],
      versions: [...new Set(alive.map((row) => row.version))].sort(),
    }
  })
}

/** Everything that runs now; nothing on tables from before it was noted. */
export async function listRunning(db: Queryable): Promise<Running[]> {
  if (!(await hasTable(db, 'running_roles'))) return []
  const { rows } = await db.query<Running>(
    `select distinct role, version, host from running_roles
     where ended_at is null and seen_at > clock_timestamp() - $1::float8 * interval '1 millisecond'
     order by role, version, host`,
    [ALIVE_MS],
  )
  return rows
}

/**
 * What ran at or after a moment and wrote with another secret key, as `role on host`: what ended meanwhile too, and what does
 * not say with which.
 */
export async function listWritersWithout(db: Queryable, keyId: string, since: Date): Promise<string[]> {
  const { rows } = await db.query<{ who: string }>(
    `select distinct role || ' on ' || host as who from running_roles
     where key_id is distinct from $1
       and coalesce(ended_at, seen_at + $2::float8 * interval '1 millisecond') >= $3 order by who`,
    [keyId, ALIVE_MS, since],
  )
  return rows.map(({ who }) => who)
}

/** Roles that a machine plays now. */
export async function rolesOf(db: Queryable, host: string): Promise<RunningRole[]> {
  const { rows } = await db.query<{ role: RunningRole }>(
    `select distinct role from running_roles
     where host = $1 and ended_at is null and seen_at > clock_timestamp() - $2::float8 * interval '1 millisecond' order by role`,
    [host, ALIVE_MS],
  )
  return rows.map(({ role }) => role)
}

export interface Heart {
  /** Why nothing can be written, when the last beat could not be; null while all goes on. */
  writeProblem(): string | null
  /** Notes in its rows that it ended: what did so in order is not missed. */
  stop(): Promise<void>
}

/**
 * Ends when it said so first, so that nothing is written by a process of which nobody knows.
 *
 * @param concerns - Asked at every beat.
 */
export async function startBeating(options: {
  readonly db: Queryable
  readonly roles: readonly RunningRole[]
  readonly dataDir: string
  /** Of the secret key that it writes with. */
  readonly keyId: string
  readonly log: Pick<Log, 'warn' | 'info'>
  readonly concerns?: () => readonly string[]
}): Promise<Heart> {
  const { db, roles, dataDir, keyId, log } = options
  const instance = randomUUID()
  const host = (hostname() || 'unknown').slice(0, 255)
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
  delay.enable()
  let problem: string | null = null
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const beat = async (): Promise<void> => {
    const loopLagMs = Math.max(0, Math.round(delay.max / 1e6) - LAG_RESOLUTION_MS)
    delay.reset()
    const diskFreeBytes = await freeBytes(dataDir)
    const concerns = [...(options.concerns?.() ?? []), ...diskConcerns(dataDir, diskFreeBytes)]
    try {
      await recordBeat(db, { instance, host, roles, loopLagMs, diskFreeBytes, keyId, concerns })
      if (problem !== null) log.info({}, 'PostgreSQL can write again')
      problem = null
    } catch (error) {
      const why = whyNotWritten(error)
      const found = why === null ? null : `PostgreSQL ${why}: nothing can be written`
      if (found !== null && found !== problem) log.warn({ err: error }, found)
      problem = found
    }
    if (!isStopped)
      timer = setTimeout(() => {
        running = beat()
      }, BEAT_MS).unref()
  }
  let running = beat()
  await running
  return {
    writeProblem: () => problem,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      delay.disable()
      await running
      await db
        .query('update running_roles set ended_at = clock_timestamp() where instance = $1', [instance])
        .catch(() => {})
    },
  }
}

const freeBytes = (folder: string): Promise<bigint | null> =>
  statfs(folder, { bigint: true }).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  )

const diskConcerns = (folder: string, free: bigint | null): string[] =>
  free !== null && free < BigInt(DISK_FREE_BYTES_MIN)
    ? [`${Math.floor(Number(free) / 1_000_000)} MB are free for ${folder}; make room before writes fail`]
    : []
