/**
 * Notices that the database lost commits, stops the money, says it, and does what has to be done first: live coins are
 * frozen, and addresses that may have been handed out never are again. `beck resume` lets the rest move.
 */
import { hostname } from 'node:os'
import { raiseAlert, raiseAlertOnce } from '../../alerts/alerts.sql.ts'
import { crashPoint } from '../../core/crash-point.ts'
import { OutsideFailure, type Refusal, unavailable } from '../../core/errors.ts'
import { type PaymentId, showId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import type { Secrets } from '../../core/secrets.ts'
import { MINUTE_MS } from '../../core/time.ts'
import { beatArrow } from '../../db/beat-arrow.ts'
import type { Database, Queryable } from '../../db/database.ts'
import { markMadeSafe, readArrow, stopMoving } from '../../db/time-arrow.sql.ts'
import { type Arrow, hasTakenOver, type TimeMemory, whyBehind } from '../../db/time-arrow.ts'
import { withholdFresh } from '../../wallets/address-pool.sql.ts'
import { afterRestore } from './after-restore.ts'
import type { ToldPayments } from './told-payments.ts'

export interface TimeKeeper {
  /** Why nothing moves; null while time goes forward. */
  stopped(): string | null
  /** One beat: advances the counter and compares it with what is remembered. */
  turn(): Promise<void>
  /** Looks at a connection before anybody uses it. @throws {Refusal} `database_went_back` until the money is stopped. */
  verify(connection: Queryable): Promise<void>
}

const SAID_MAX = 20
/** When another server took over: beyond the pool, as many as are handed out between two beats at most. */
const ADDRESSES_AHEAD = 500
/** Payments are named by the clock of their maker, beats by the database's. */
const CLOCKS_APART_MS = MINUTE_MS

interface TimeKeeperOptions {
  /** Connections of its own, which {@link TimeKeeper.verify} does not look at. */
  readonly db: Database
  readonly secrets: Secrets
  readonly log: Log
  readonly memory: TimeMemory
  readonly told: ToldPayments
}

export function openTimeKeeper(options: TimeKeeperOptions): TimeKeeper {
  const keeping = new TimeKeeping(options)
  return {
    stopped: () => keeping.stopped,
    turn: () => keeping.turn(),
    verify: (connection) => keeping.verify(connection),
  }
}

class TimeKeeping {
  readonly #of: TimeKeeperOptions
  stopped: string | null = null
  #said: string | null = null

  constructor(of: TimeKeeperOptions) {
    this.#of = of
  }

  async turn(): Promise<void> {
    const { db, memory, told } = this.#of
    const { found, why } = await beatArrow(db, memory.seen)
    if (why !== null)
      return this.#stop(found.stopped ?? `the database lost commits: ${why}`, found.isMadeSafe)
    if (found.stopped !== null) {
      this.stopped = found.stopped
      return this.#deal(found.stopped, found.isMadeSafe)
    }
    if (hasTakenOver(memory.seen, found) && !(await this.#takeOver(found))) return
    this.stopped = null
    crashPoint('time:beat')
    // What is remembered has been noted: a process that starts begins there.
    await told.note(db)
    crashPoint('time:noted')
    await memory.remember(found)
  }

  async verify(connection: Queryable): Promise<void> {
    // Before it is read: a beat may come meanwhile.
    const { seen } = this.#of.memory
    const found = await readArrow(connection)
    if (found && !found.stopped && hasTakenOver(seen, found))
      throw new OutsideFailure(
        'another server of PostgreSQL took over; Beck looks at it first, within a second',
        { retryable: true },
      )
    if (found?.stopped) this.stopped = found.stopped
    const isBehind = whyBehind(seen, found) !== null
    if (isBehind) this.stopped ??= 'the database lost commits'
    if (isBehind ? !found?.isMadeSafe : found?.stopped && !found.isMadeSafe)
      throw wentBack(this.stopped ?? '')
  }

  async #stop(reason: string, isMadeSafe: boolean): Promise<void> {
    const { db, memory } = this.#of
    this.stopped = reason
    await stopMoving(db, reason, memory.seen)
    await this.#deal(reason, isMadeSafe)
  }

  /** Each process says what it knows to be gone; what has to be done first is done by whoever comes first. */
  async #deal(reason: string, isMadeSafe: boolean): Promise<void> {
    const { db, told } = this.#of
    if (isMadeSafe && this.#said === reason) return
    const gone = await told.findGone(db)
    // As many more addresses as are known to have been handed out since.
    if (!isMadeSafe) await afterRestore(this.#of, null, { handedOut: gone.length })
    await sayLoss(this.#of, reason, gone)
    this.#said = reason
    await markMadeSafe(db)
  }

  /**
   * Another server has every commit that anybody remembers. What came in the moment after the last beat may still be gone: where
   * a payment of it was noted, that is known; and whatever was handed out in it is handed out to nobody else. The first process
   * withholds it for all, before any other goes on: what those have set aside is issued only where its row lets it.
   *
   * @returns False when commits are gone after all; then everything is stopped.
   */
  async #takeOver(found: Arrow): Promise<boolean> {
    const { db, secrets, log, memory, told } = this.#of
    const lastAtMs = memory.seen?.at?.getTime() ?? Date.now()
    const gone = await told.findGone(db, new Date(lastAtMs - CLOCKS_APART_MS))
    if (gone.length > 0) {
      const lost = `timeline ${found.timeline} of PostgreSQL lacks ${gone.length} payments that were made`
      await this.#stop(`the database lost commits: ${lost}`, found.isMadeSafe)
      return false
    }
    const message = `PostgreSQL follows timeline ${found.timeline} now, and ${memory.seen?.timeline} before: another server took over, with everything that is remembered. Beck goes on; fresh addresses of before are withheld`
    const alert = {
      kind: 'database_taken_over',
      accountId: null,
      subject: `timeline ${found.timeline} of ${found.history}`,
      message,
    }
    await db.transaction(async (tx) => {
      // A copy by pg_dump, whose timelines begin anew, may bring along an alert of the same name.
      const isFirst = await raiseAlertOnce(tx, alert, memory.seen?.at ?? null)
      if (isFirst) await withholdFresh(tx, secrets, () => ADDRESSES_AHEAD)
    })
    log.warn({ timeline: found.timeline }, message)
    return true
  }
}

/** What is refused while nothing moves. */
export const wentBack = (reason: string): Refusal =>
  unavailable(
    'database_went_back',
    `${reason}; nothing is quoted, signed or sent until the operator has looked`,
  )

async function sayLoss(
  { db, log, told }: Pick<TimeKeeperOptions, 'db' | 'log' | 'told'>,
  reason: string,
  gone: readonly PaymentId[],
): Promise<void> {
  const names = gone.map((id) => showId('pay', id))
  const file = names.length > 0 ? await told.list(gone) : ''
  const list =
    names.length === 0
      ? 'no payment that anybody was told of is known to be gone'
      : `${names.length} payments that merchants were told of are gone: ${names.slice(0, SAID_MAX).join(', ')}${names.length > SAID_MAX ? ' and more' : ''}; all are in ${file}`
  const message = `${reason}. Live coins are frozen, fresh addresses are withheld, and ${list}. Look at them, then: npx beck resume`
  await raiseAlert(db, {
    kind: 'database_went_back',
    accountId: null,
    subject: `${hostname()}: ${reason}`,
    message,
  })
  log.error({ reason, gone: names.length }, message)
}
