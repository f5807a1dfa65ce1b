/** Writes what delivery attempts met, in batches: at a thousand attempts a second, one statement each would be the limit. */
import { recordAct } from '../audit/audit-log.sql.ts'
import { type AccountId, showId, type WebhookEndpointId } from '../core/ids.ts'
import type { Log } from '../core/log.ts'
import type { Database, Tx } from '../db/database.ts'
import { isOfRows } from '../db/failures.ts'
import { type AttemptRecord, type ClaimedDelivery, recordAttempts } from '../events/deliveries.sql.ts'
import type { DisabledReason, Outcome, Verdict } from '../events/delivery.ts'
import { addDeliveryTotals, totalsOf } from '../events/delivery-totals.sql.ts'
import { markEndpointsFailing, markEndpointsWell } from '../events/failing-endpoints.sql.ts'
import { disableWebhookEndpoint } from '../events/webhook-endpoints.sql.ts'
import { restAfter, startLoop } from './loop.ts'

export interface DeliveryResult {
  readonly delivery: ClaimedDelivery
  readonly outcome: Outcome
  readonly verdict: Verdict
  readonly startedAt: Date
  readonly durationMs: number
}

export interface DeliveryResults {
  add(result: DeliveryResult): void
  /** Resolves when everything added is written, or was tried once more in vain. */
  stop(): Promise<void>
}

const BATCH_MAX = 500
/** How long a result waits for company. */
const GATHER_MS = 10

export function startDeliveryResults(db: Database, log: Log): DeliveryResults {
  const waiting: DeliveryResult[] = []
  // Endpoints whose failure this process recorded, perhaps after the claim of a delivery that now succeeds.
  const failing = new Set<string>()
  let gathering: NodeJS.Timeout | undefined

  const write = async (): Promise<boolean> => {
    const batch = waiting.splice(0, BATCH_MAX)
    if (batch.length === 0) return false
    const { written, rest, error } = await record(db, log, batch)
    waiting.unshift(...rest)
    if (written.length > 0) {
      await judgeEndpoints(db, log, written, failing)
      await addDeliveryTotals(db, totalsOf(written.map(timed)))
    }
    if (rest.length > 0) throw error
    // Of those that came before the last wake nobody else tells.
    if (waiting.length > 0) loop.wake()
    return waiting.length >= BATCH_MAX
  }
  // The attempts are written without locks on endpoints, and these after them: nobody waits in a circle.
  const loop = startLoop({ name: 'delivery-results', idleMs: 60_000, log, turn: write, restMs: restAfter })

  return {
    add(result) {
      waiting.push(result)
      gathering ??= setTimeout(() => {
        gathering = undefined
        loop.wake()
      }, GATHER_MS)
    },
    async stop() {
      clearTimeout(gathering)
      await loop.stop()
      try {
        while (waiting.length > 0) await write()
      } catch (error) {
        log.error(
          { err: error, results: waiting.length },
          'results of deliveries could not be written; they repeat',
        )
      }
    },
  }
}

interface Recorded {
  readonly written: readonly DeliveryResult[]
  /** To be written later, and why. */
  readonly rest: readonly DeliveryResult[]
  readonly error: unknown
}

/** One that can never be written, or is of a delivery that was attempted again before the first time was written down, holds up no other. */
async function record(db: Database, log: Log, batch: readonly DeliveryResult[]): Promise<Recorded> {
  try {
    await recordAttempts(db, batch.map(recordOf))
  } catch (error) {
    if (!isOfRows(error)) return { written: [], rest: batch, error }
    const [first, second] = batch
    if (second) return await recordEach(db, log, batch)
    const what = 'what a delivery met can not be written down; it is sent again when its lease ends'
    log.error({ err: error, delivery: first && showId('dlv', first.delivery.id) }, what)
  }
  return { written: batch, rest: [], error: null }
}

async function recordEach(db: Database, log: Log, batch: readonly DeliveryResult[]): Promise<Recorded> {
  for (const [place, result] of batch.entries()) {
    const { rest, error } = await record(db, log, [result])
    if (rest.length > 0) return { written: batch.slice(0, place), rest: batch.slice(place), error }
  }
  return { written: batch, rest: [], error: null }
}

const timed = ({ outcome, durationMs }: DeliveryResult) => ({
  status: outcome.kind === 'answered' ? outcome.status : null,
  durationMs,
})

function recordOf({ delivery, outcome, verdict, startedAt, durationMs }: DeliveryResult): AttemptRecord {
  const answered = outcome.kind === 'answered'
  return {
    delivery,
    status: verdict.kind === 'retry' ? 'pending' : verdict.kind === 'delivered' ? 'delivered' : 'failed',
    delayMs: verdict.kind === 'retry' ? verdict.delayMs : null,
    startedAt,
    durationMs,
    responseStatus: outcome.status,
    responseStart: answered ? outcome.start : null,
    error: answered ? null : outcome.error,
  }
}

/** What a batch says about the endpoints in it: well, failing, failing for too long, gone. */
async function judgeEndpoints(
  db: Database,
  log: Log,
  batch: readonly DeliveryResult[],
  failing: Set<string>,
): Promise<void> {
  const well = new Map<string, ClaimedDelivery>()
  const ill = new Map<string, ClaimedDelivery>()
  const gone = new Map<string, ClaimedDelivery>()
  for (const { delivery, verdict } of batch) {
    const kind = verdict.kind === 'delivered' ? well : verdict.kind === 'gone' ? gone : ill
    kind.set(delivery.endpointId, delivery)
  }
  const recovered = [...well.values()].filter(
    ({ endpointId, failingSince }) => failingSince !== null || failing.has(endpointId),
  )
  const failed = [...ill.values()].filter(({ endpointId }) => !well.has(endpointId))
  const keyOf = ({ accountId, endpointId }: ClaimedDelivery) => ({ accountId, id: endpointId })

  if (recovered.length > 0) {
    await db.transaction((tx) => markEndpointsWell(tx, recovered.map(keyOf)))
    for (const { endpointId } of recovered) failing.delete(endpointId)
  }
  const tooLong =
    failed.length > 0 ? await db.transaction((tx) => markEndpointsFailing(tx, failed.map(keyOf))) : []
  for (const { endpointId } of failed) failing.add(endpointId)

  const ended = [
    ...[...gone.values()].map((delivery) => ({ ...keyOf(delivery), reason: 'gone' as const })),
    ...tooLong.map((key) => ({ ...key, reason: 'failing' as const })),
  ]
  for (const { accountId, id, reason } of ended) {
    await db.transaction((tx) => switchOff(tx, accountId, id, reason))
    failing.delete(id)
    log.warn(
      { account: showId('acct', accountId), endpoint: showId('whk', id), reason },
      'a webhook endpoint was disabled',
    )
  }
}

/** Told in the audit log, and so by mail: a shop whose server hears of nothing has to know. */
async function switchOff(
  tx: Tx,
  accountId: AccountId,
  id: WebhookEndpointId,
  reason: DisabledReason,
): Promise<void> {
  if (!(await disableWebhookEndpoint(tx, accountId, id, reason))) return
  await recordAct(tx, {
    accountId,
    actor: { kind: 'system', id: null, name: 'Beck' },
    address: null,
    action: 'webhook.disable',
    subject: showId('whk', id),
    before: null,
    after: { reason },
  })
}
