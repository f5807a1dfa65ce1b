/** The database, its schema and clock, and whether the secret key is the one that it was made with. */
import { listAlerts } from '../../alerts/alerts.sql.ts'
import type { Config } from '../../config/config.ts'
import { secretKeyFile } from '../../config/secret-key.ts'
import type { Store } from '../../config/store.ts'
import { isSimulated } from '../../core/assets.ts'
import { messageOf } from '../../core/errors.ts'
import { findUnfinishedRestore, readMigrations } from '../../db/migrate.ts'
import { listRoles } from '../../db/running-roles.ts'
import { readArrow } from '../../db/time-arrow.sql.ts'
import { currentWallets } from '../../wallets/wallets.sql.ts'
import { type Finding, fine, warning, wrong } from './finding.ts'

const POSTGRES_MIN = 150_000
const ALERTS_MAX = 100
/** Logs and webhooks carry this machine's clock, deadlines the database's. */
const CLOCKS_APART_MS_MAX = 2_000

export async function database({ db, name }: Store): Promise<Finding[]> {
  try {
    const askedAtMs = Date.now()
    const { rows } = await db.query<{ number: number; version: string; now: Date }>(
      `select current_setting('server_version_num')::int as number, current_setting('server_version') as version,
        clock_timestamp() as now`,
    )
    const row = rows[0]
    if (!row || row.number < POSTGRES_MIN)
      return [wrong('database', `PostgreSQL ${row?.version}, ${name}`, 'Beck needs PostgreSQL 15 or newer')]
    return [
      fine('database', `PostgreSQL ${row.version}, ${name}`),
      clocks(askedAtMs, Date.now(), row.now.getTime()),
      await migrations(db),
    ]
  } catch (error) {
    return [wrong('database', `${name}: ${messageOf(error)}`, 'start PostgreSQL, or correct DATABASE_URL')]
  }
}

/** @param databaseMs - The database's clock, read at some moment between the two others. */
function clocks(askedAtMs: number, answeredAtMs: number, databaseMs: number): Finding {
  const apartMs = Math.max(0, askedAtMs - databaseMs, databaseMs - answeredAtMs)
  return apartMs <= CLOCKS_APART_MS_MAX
    ? fine('clock', "agrees with the database's")
    : warning(
        'clock',
        `differs from the database's by ${(apartMs / 1_000).toFixed(1)} s`,
        'let both machines keep time (NTP): receivers refuse webhooks whose time is wrong',
      )
}

async function migrations(db: Store['db']): Promise<Finding> {
  const madeAt = await findUnfinishedRestore(db)
  if (madeAt !== null)
    return wrong(
      'migrations',
      `the restore of the backup of ${madeAt} was cut off`,
      'run npx beck restore with that folder again; until then no Beck starts here',
    )
  const applied = await db
    .query<{ name: string }>('select name from schema_migrations')
    .then(({ rows }) => new Set(rows.map((row) => row.name)))
    .catch(() => new Set<string>())
  const missing = (await readMigrations()).filter((migration) => !applied.has(migration.name))
  return missing.length === 0
    ? fine('migrations', `${applied.size} of ${applied.size} ran`)
    : wrong('migrations', `${missing.length} have not run`, 'run: npx beck migrate')
}

export async function secretKey(config: Config, { db, secrets }: Store): Promise<Finding> {
  const where = config.secretKey ? 'BECK_SECRET_KEY' : secretKeyFile(config.dataDir)
  try {
    await currentWallets(db, secrets)
    return fine('secret key', `${where}; keep a copy of it with your backups`)
  } catch (error) {
    return wrong('secret key', messageOf(error), `set the key this database was made with (now: ${where})`)
  }
}

/** Signers on several machines show by their connections, unless a pooler stands between. */
export async function* signers({ db }: Store): AsyncGenerator<Finding> {
  const { rows } = await db.query<{ host: string }>(
    `select distinct coalesce(host(client_addr), 'the database machine') as host from pg_stat_activity
     where application_name = 'beck-signer' and datname = current_database() order by 1`,
  )
  if (rows.length > 1)
    yield wrong(
      'signer',
      `signers run on ${rows.map(({ host }) => host).join(' and ')}, and one alone may: each has a journal and an allowlist of its own`,
      'end all but one; docs/operators.md says which',
    )
}

/** Whether there is a live wallet, so that a keystore is, or was, somewhere. */
export async function hasLiveWallet({ db, secrets }: Store): Promise<boolean> {
  // A row that does not hold is the finding about the secret key.
  const wallets = await currentWallets(db, secrets).catch(() => [])
  return wallets.some(({ chain }) => !isSimulated(chain))
}

/** Whether somebody says just now that he is the signer. */
export async function signerRuns({ db }: Store): Promise<boolean> {
  return (await listRoles(db)).some(({ role, running }) => role === 'signer' && running > 0)
}

/** Who plays each role, and what he wants seen to. Nobody plays any before the first start: that is no finding. */
export async function* roles({ db }: Store): AsyncGenerator<Finding> {
  const states = await listRoles(db)
  const versions = [...new Set(states.flatMap((state) => state.versions))]
  if (states.every(({ running }) => running === 0))
    return yield warning('roles', 'no part of Beck runs now', 'run: npm start')
  for (const { role, running, concerns } of states) {
    yield running > 0
      ? fine(role, running === 1 ? 'one runs' : `${running} run`)
      : warning(role, 'none runs', `start one: npm start -- --role ${role}, or --role all`)
    for (const concern of concerns)
      yield warning(
        `${role} of ${concern.split(': ')[0]}`,
        concern.slice(concern.indexOf(': ') + 2),
        'it says so itself; docs/incidents.md',
      )
  }
  if (versions.length > 1)
    yield warning(
      'versions',
      `${versions.join(' and ')} run side by side`,
      'finish the upgrade: restart what is older',
    )
}

/** Whether it lost commits, as somebody noticed who remembered more. */
export async function history({ db }: Store): Promise<Finding> {
  const stopped = (await readArrow(db))?.stopped
  return stopped
    ? wrong(
        'history',
        stopped,
        'npx beck alerts list names what is gone; npx beck resume lets the rest move again',
      )
    : fine('history', 'nobody remembers more than the database')
}

/** What was raised and nobody has looked at. */
export async function alerts({ db }: Store): Promise<Finding> {
  const open = await listAlerts(db, { all: false, limit: ALERTS_MAX })
  const [newest] = open
  if (!newest) return fine('alerts', 'none is open')
  const count =
    open.length === ALERTS_MAX
      ? `${ALERTS_MAX} or more are`
      : open.length === 1
        ? 'one is'
        : `${open.length} are`
  return warning(
    'alerts',
    `${count} open; the newest: ${newest.message}`,
    'npx beck alerts list shows them; npx beck alerts ack notes that you have looked',
  )
}
