/**
 * `beck drill`: whether a backup would bring the gateway back. It is restored into a PostgreSQL of its own that is thrown
 * away, its books are proven, and one line says what came of it. Touches nothing of the running Beck.
 */
import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig } from '../config/config.ts'
import { readOldSecretKey, readSecretKeyFile, secretKeyFile } from '../config/secret-key.ts'
import { invalid, OutsideFailure, Refusal } from '../core/errors.ts'
import { ifThere } from '../core/files.ts'
import { openSecrets, type Secrets } from '../core/secrets.ts'
import { HOUR_MS, MINUTE_MS } from '../core/time.ts'
import { type Database, openDatabase } from '../db/database.ts'
import { startCluster } from '../db/embedded/embedded.ts'
import { reconcile } from '../proof/reconcile.ts'
import { readBackup } from './restore.ts'
import { withScratch } from './scratch.ts'
import { withBackupFolder } from './sealed-backup.ts'
import type { Terminal } from './terminal.ts'

type Report = Awaited<ReturnType<typeof look>>

/** Ends with 1 unless the backup can be restored whole and its books balance. */
export async function drill(
  terminal: Terminal,
  source: string,
  given: { identity?: string; maxAge: string },
): Promise<void> {
  const maxAgeMs = readHours(given.maxAge) * HOUR_MS
  const beganAtMs = performance.now()
  const secrets = await readSecrets()
  let report: Report
  try {
    report = await withBackupFolder(source, given.identity, (folder) => rehearse(folder, secrets))
  } catch (error) {
    if (!(error instanceof Refusal || error instanceof OutsideFailure)) throw error
    terminal.answer({ restores: false, reason: error.message }, [
      `This backup does NOT restore: ${error.message}`,
    ])
    process.exitCode = 1
    return
  }
  const { payments, accounts, newestAt, hasJournal, differences } = report
  const ageMs = newestAt === null ? null : Date.now() - newestAt.getTime()
  const problems = [
    ...differences.map((difference) => `its books do not balance: ${difference}`),
    ...(ageMs !== null && ageMs > maxAgeMs ? [`what is newest in it is ${shownAge(ageMs)} old`] : []),
  ]
  const seconds = ((performance.now() - beganAtMs) / 1_000).toFixed(1)
  terminal.answer(
    {
      restores: problems.length === 0,
      problems,
      payments,
      accounts,
      newest_at: newestAt?.toISOString() ?? null,
      has_journal: hasJournal,
      seconds: Number(seconds),
    },
    [
      `${accounts} accounts, ${payments} payments; the newest entry is ${ageMs === null ? 'none' : `${shownAge(ageMs)} old`}.`,
      hasJournal
        ? "The signer's journal is in it."
        : "No signer's journal is in it: back it up where the signer runs.",
      problems.length === 0
        ? `This backup restores, and its books balance (${seconds} s).`
        : `Do NOT rely on this backup: ${problems.join('; ')}.`,
    ],
  )
  if (problems.length > 0) process.exitCode = 1
}

/** @throws {Refusal} `no_secret_key`: one that was made now would say nothing of the backup. */
async function readSecrets(): Promise<Secrets> {
  const config = readConfig(process.env)
  const key = config.secretKey ?? (await readSecretKeyFile(config.dataDir))
  if (key === null)
    throw invalid(
      'no_secret_key',
      `a drill needs the secret key of the gateway that was backed up; set BECK_SECRET_KEY, or put it into ${secretKeyFile(config.dataDir)}`,
    )
  return openSecrets(key, config.alsoSecretKey ?? (await readOldSecretKey(config.dataDir)))
}

const rehearse = (folder: string, secrets: Secrets): Promise<Report> =>
  withScratch('beck-drill-', async (scratch) => {
    // PostgreSQL runs as another user where this is root; what it keeps there is closed to others by itself.
    await chmod(scratch, 0o711)
    const cluster = await startCluster({
      dataDir: join(scratch, 'database'),
      holder: 'tool',
      // Nobody misses it when the machine stops.
      settings: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'],
    })
    try {
      const db = openDatabase({ url: cluster.url('postgres'), connectionsMax: 4 })
      try {
        const { madeAt } = await readBackup({ db, secrets }, { dataDir: join(scratch, 'data') }, folder, {
          addressesAhead: 0,
        })
        return await look(db, folder, madeAt)
      } finally {
        await db.close()
      }
    } finally {
      await cluster.stop()
    }
  })

/** @param madeAt - The instant that the backup shows: a quiet shop's is no older for it. */
async function look(db: Database, folder: string, madeAt: Date) {
  const { rows } = await db.query<{ payments: bigint; accounts: bigint; newest: Date | null }>(
    `select (select count(*) from payments) as payments, (select count(*) from accounts) as accounts,
       greatest((select max(created_at) from payments), (select max(at) from audit_log), $1::timestamptz) as newest`,
    [madeAt],
  )
  const counted = rows[0]
  // Chains are not asked: they went on since.
  const { differences } = await reconcile(db, [])
  const journal = await ifThere(stat(join(folder, 'journal')))
  return {
    payments: Number(counted?.payments),
    accounts: Number(counted?.accounts),
    newestAt: counted?.newest ?? null,
    hasJournal: journal !== null,
    differences: differences.map(
      ({ proof, chain, asset, subject }) => `${chain} ${asset} ${subject ?? 'all together'} (${proof})`,
    ),
  }
}

function readHours(text: string): number {
  const hours = Number(text)
  if (/^\d{1,5}$/.test(text) && hours > 0) return hours
  throw invalid('invalid_age', `--max-age is a number of hours such as 25, got "${text}"`)
}

const shownAge = (ms: number): string =>
  ms < HOUR_MS ? `${Math.max(0, Math.round(ms / MINUTE_MS))} minutes` : `${(ms / HOUR_MS).toFixed(1)} hours`
