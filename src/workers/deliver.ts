/** Delivers events: claims what is due, sends thousands at once, and lets no slow receiver delay another. */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { crashPoint } from '../core/crash-point.ts'
import { type AccountId, showId, type WebhookEndpointId } from '../core/ids.ts'
import { type ClaimedDelivery, claimDeliveries, returnDeliveries } from '../events/deliveries.sql.ts'
import { judge } from '../events/delivery.ts'
import { openSender, type SenderOptions } from '../events/send.ts'
import { signatureHeaders } from '../events/signature.ts'
import { openWebhookSecret } from '../events/webhook-endpoints.sql.ts'
import type { Gateway, GatewaySettings } from '../flows/gateway.ts'
import { startDeliveryResults } from './delivery-results.ts'
import { type Loop, startLoop } from './loop.ts'

/** The part of the gateway that delivering needs. */
export type DelivererPorts = Pick<Gateway, 'db' | 'secrets' | 'log'> & {
  readonly settings: Pick<GatewaySettings, 'webhookAllowPrivate'>
}

export interface DelivererOptions {
  /** Exchanges of this process at once. */
  readonly inFlightMax?: number
  readonly perEndpointMax?: number
  /** The same for an endpoint whose last attempts failed: a dead receiver holds its places until the deadline. */
  readonly perFailingEndpointMax?: number
  /** Of all places, what one account may fill; a quarter when absent. */
  readonly perAccountMax?: number
  readonly idleMs?: number
  /** How long `stop` lets running exchanges end before it cuts them off, uncounted. */
  readonly drainMs?: number
  readonly sender?: Partial<SenderOptions>
}

const DEFAULTS = {
  inFlightMax: 2_000,
  perEndpointMax: 100,
  perFailingEndpointMax: 8,
  idleMs: 500,
  drainMs: 5_000,
}
/** Silent receivers of three merchants leave places for everybody else's. */
const ACCOUNT_SHARE = 1 / 4
/** Free places gather for so long before the next claim, so that claims come in batches. */
const GATHER_MS = 5
/** Starting thousands of exchanges in one breath costs far more memory than having them. */
const BATCH_MAX = 50
/** So many more than there are places, as a share of them, are claimed ahead: a free place need not wait for the database. */
const AHEAD = 1 / 4
/** Claimed longer ago than this, a delivery is claimed anew before it is sent: its endpoint may be deleted by now. */
const FRESH_MS = 250
/** Secrets of endpoints kept open. */
const KEYS_MAX = 1_000

export function startDeliverer(gateway: DelivererPorts, options: DelivererOptions = {}): Loop {
  const { db, log } = gateway
  const settings = { ...DEFAULTS, ...options }
  const perAccountMax =
    settings.perAccountMax ??
    Math.max(settings.perEndpointMax, Math.ceil(settings.inFlightMax * ACCOUNT_SHARE))
  const aheadMax = Math.min(BATCH_MAX, Math.ceil(settings.inFlightMax * AHEAD))
  const sender = openSender({ allowPrivate: gateway.settings.webhookAllowPrivate, ...options.sender })
  const results = startDeliveryResults(db, log)
  const cut = new AbortController()
  const running = new Map<ClaimedDelivery, Promise<void>>()
  const ready: { readonly delivery: ClaimedDelivery; readonly claimedAt: number }[] = []
  // Running and ready ones, by endpoint.
  const inFlight = new Map<WebhookEndpointId, number>()
  const inFlightOfAccounts = new Map<AccountId, number>()
  // The last delivery under way per endpoint and payment: the next event of that payment waits for its end.
  const lanes = new Map<string, Promise<void>>()
  // To be given back, uncounted.
  const returned: ClaimedDelivery[] = []
  /** Something due was left behind for want of places, or given back. */
  let crowded = false
  let gathering: NodeJS.Timeout | undefined

  const giveUp = (delivery: ClaimedDelivery) => {
    returned.push(delivery)
    crowded = true
  }

  // Opened once, for opening takes longer than signing.
  const keys = new Map<string, KeyObject>()
  const openKey = (endpointId: WebhookEndpointId, sealed: Buffer): KeyObject => {
    const name = `${endpointId} ${sealed.toString('base64')}`
    const known = keys.get(name) ?? createSecretKey(openWebhookSecret(gateway.secrets, endpointId, sealed))
    if (keys.size >= KEYS_MAX) keys.clear()
    keys.set(name, known)
    return known
  }

  const attempt = async (delivery: ClaimedDelivery): Promise<void> => {
    const startedAt = new Date()
    const began = performance.now()
    const { accountId, endpointId, eventId, body, url, secretSealed, previousSecretSealed } = delivery
    const sealed = previousSecretSealed ? [secretSealed, previousSecretSealed] : [secretSealed]
    const signed = signatureHeaders(
      { id: showId('evt', eventId), at: startedAt, body },
      sealed.map((secret) => openKey(endpointId, secret)),
    )
    const headers = { ...signed, 'content-type': 'application/json', 'user-agent': 'Beck' }
    crashPoint('deliver:claimed')
    const outcome = await sender.send({ url, headers, body }, cut.signal)
    crashPoint('deliver:sent')
    if (outcome === null) return giveUp(delivery)
    const verdict = judge(outcome, delivery.attempts + 1, Math.random(), new Date())
    const durationMs = Math.round(performance.now() - began)
    results.add({ delivery, outcome, verdict, startedAt, durationMs })
    log.debug(
      { accountId, delivery: delivery.id, verdict: verdict.kind, durationMs },
      'a delivery was attempted',
    )
  }

  const admit = (delivery: ClaimedDelivery) => {
    count(inFlight, delivery.endpointId, 1)
    count(inFlightOfAccounts, delivery.accountId, 1)
    const claimedAt = performance.now()
    if (running.size < settings.inFlightMax) start(delivery, claimedAt)
    else ready.push({ delivery, claimedAt })
  }

  const start = (delivery: ClaimedDelivery, claimedAt: number) => {
    const { accountId, endpointId, subject } = delivery
    const lane = `${endpointId} ${subject}`
    const before = lanes.get(lane)
    const run = async () => {
      try {
        await before
        if (cut.signal.aborted || performance.now() - claimedAt > FRESH_MS) giveUp(delivery)
        else await attempt(delivery)
      } catch (error) {
        // Sending never throws; what does is a secret that does not open. Its lease ends, and the log repeats it.
        log.error({ err: error, delivery: delivery.id, endpointId }, 'a delivery could not be attempted')
      } finally {
        running.delete(delivery)
        if (lanes.get(lane) === done) lanes.delete(lane)
        leave(accountId, endpointId)
      }
    }
    const done: Promise<void> = Promise.resolve().then(run)
    lanes.set(lane, done)
    running.set(delivery, done)
  }

  const giveBack = async () => {
    const batch = returned.splice(0)
    await returnDeliveries(db, batch)
  }

  const leave = (accountId: AccountId, endpointId: WebhookEndpointId) => {
    count(inFlight, endpointId, -1)
    count(inFlightOfAccounts, accountId, -1)
    const next = ready.shift()
    if (next) start(next.delivery, next.claimedAt)
    if (!crowded) return
    gathering ??= setTimeout(() => {
      gathering = undefined
      loop.wake()
    }, GATHER_MS)
  }

  const loop = startLoop({
    name: 'deliver',
    idleMs: settings.idleMs,
    log,
    async turn(signal) {
      if (returned.length > 0) await giveBack()
      const free = settings.inFlightMax + aheadMax - running.size - ready.length
      const limit = Math.min(BATCH_MAX, free)
      crowded = true
      if (limit <= 0) return false
      const { perEndpointMax, perFailingEndpointMax } = settings
      const claimed = await claimDeliveries(db, {
        limit,
        perEndpointMax,
        perFailingEndpointMax,
        perAccountMax,
        inFlight,
        inFlightOfAccounts,
      })
      // UUIDv7: in the order in which the events happened.
      claimed.sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
      if (signal.aborted) returned.push(...claimed)
      else for (const delivery of claimed) admit(delivery)
      const full = (delivery: ClaimedDelivery) =>
        (inFlight.get(delivery.endpointId) ?? 0) >=
          (delivery.failingSince ? perFailingEndpointMax : perEndpointMax) ||
        (inFlightOfAccounts.get(delivery.accountId) ?? 0) >= perAccountMax
      const more = claimed.length === limit
      crowded = more || returned.length > 0 || running.keys().some(full)
      return more && free > limit
    },
  })

  return {
    wake: loop.wake,
    async stop() {
      await loop.stop()
      returned.push(...ready.splice(0).map(({ delivery }) => delivery))
      const patience = setTimeout(() => cut.abort(), settings.drainMs)
      await Promise.all(running.values())
      clearTimeout(patience)
      clearTimeout(gathering)
      await results.stop()
      if (returned.length > 0) await giveBack()
      sender.close()
    },
  }
}

function count<Name>(counts: Map<Name, number>, name: Name, change: 1 | -1): void {
  const now = (counts.get(name) ?? 0) + change
  if (now > 0) counts.set(name, now)
  else counts.delete(name)
}
