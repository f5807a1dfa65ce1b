/** Delivers events: claims what is due, sends thousands at once, and lets no slow receiver delay another. */
import { crashPoint } from '../core/crash-point.ts'
import { showId } from '../core/ids.ts'
import { below, rootOf, traceparentOf } from '../core/trace.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  type ReturnedDelivery,
  returnDeliveries,
} from '../events/deliveries.sql.ts'
import { judge, type Outcome } from '../events/delivery.ts'
import { openSender, type Sender, type SenderOptions } from '../events/send.ts'
import { signatureHeaders } from '../events/signature.ts'
import type { Gateway, GatewaySettings } from '../flows/gateway.ts'
import { DeliveryPlaces, type PlaceLimits } from './delivery-places.ts'
import { type DeliveryResults, startDeliveryResults } from './delivery-results.ts'
import { type Loop, restAfter, startLoop } from './loop.ts'
import { SigningKeys } from './signing-keys.ts'

/** The part of the gateway that delivering needs. */
export type DelivererPorts = Pick<Gateway, 'db' | 'secrets' | 'log' | 'traces'> & {
  readonly settings: Pick<GatewaySettings, 'webhookAllowPrivate'>
}

/** One account may fill a quarter of the places unless told otherwise. */
export interface DelivererOptions extends Partial<PlaceLimits> {
  /** Exchanges of this process at once. */
  readonly inFlightMax?: number
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
/** Where something waits for a place, claims leave half of the time to what gives places free, and no place is free for long. */
const CROWDED_REST_MS_MAX = 20
/** Starting thousands of exchanges in one breath costs far more memory than having them. */
const BATCH_MAX = 100
/**
 * So many more than there are places, as a share of them, are claimed ahead, a few dozen at most: a free place need not wait for the
 * database, and what waits for one too long was claimed in vain.
 */
const AHEAD = 1 / 4
const AHEAD_MAX = 50
/** Claimed longer ago than this, a delivery is claimed anew before it is sent: its endpoint may be deleted by now. */
const FRESH_MS = 250

export function startDeliverer(gateway: DelivererPorts, options: DelivererOptions = {}): Loop {
  const deliverer = new Deliverer(gateway, { ...DEFAULTS, ...options })
  return { wake: () => deliverer.wake(), stop: () => deliverer.stop() }
}

class Deliverer {
  readonly #gateway: DelivererPorts
  readonly #inFlightMax: number
  readonly #aheadMax: number
  readonly #drainMs: number
  readonly #sender: Sender
  readonly #results: DeliveryResults
  readonly #keys: SigningKeys
  readonly #places: DeliveryPlaces
  readonly #loop: Loop
  readonly #cut = new AbortController()
  readonly #running = new Map<ClaimedDelivery, Promise<void>>()
  readonly #ready: { readonly delivery: ClaimedDelivery; readonly claimedAt: number }[] = []
  /** The last delivery under way per endpoint and payment: the next event of that payment waits for its end. */
  readonly #lanes = new Map<string, Promise<void>>()
  /** To be given back, uncounted. */
  readonly #returned: (ClaimedDelivery & ReturnedDelivery)[] = []
  /** Their lanes: what is behind them is given up too, or it would be sent before them. */
  readonly #heldLanes = new Set<string>()
  /** Something due was left behind for want of places, or given back. */
  #isCrowded = false
  /** The last claim found something: more may come with it. Who comes to an idle worker does not wait. */
  #hasClaimed = false
  #gathering: NodeJS.Timeout | undefined

  constructor(gateway: DelivererPorts, options: typeof DEFAULTS & DelivererOptions) {
    const { inFlightMax, perEndpointMax, perFailingEndpointMax } = options
    const { db, log } = gateway
    const perAccountMax =
      options.perAccountMax ?? Math.max(perEndpointMax, Math.ceil(inFlightMax * ACCOUNT_SHARE))
    this.#gateway = gateway
    this.#keys = new SigningKeys(gateway.secrets)
    this.#inFlightMax = inFlightMax
    this.#aheadMax = Math.min(AHEAD_MAX, Math.ceil(inFlightMax * AHEAD))
    this.#drainMs = options.drainMs
    this.#sender = openSender({ allowPrivate: gateway.settings.webhookAllowPrivate, ...options.sender })
    this.#results = startDeliveryResults(db, log)
    this.#places = new DeliveryPlaces({ perEndpointMax, perFailingEndpointMax, perAccountMax })
    const turn = (signal: AbortSignal) => this.#turn(signal)
    const restMs = (tookMs: number) => {
      if (!this.#hasClaimed) return 0
      return this.#isCrowded ? Math.min(tookMs, CROWDED_REST_MS_MAX) : restAfter(tookMs)
    }
    this.#loop = startLoop({ name: 'deliver', idleMs: options.idleMs, log, turn, restMs })
  }

  wake(): void {
    this.#loop.wake()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    for (const { delivery } of this.#ready.splice(0)) this.#giveUp(delivery)
    const patience = setTimeout(() => this.#cut.abort(), this.#drainMs)
    await Promise.all(this.#running.values())
    clearTimeout(patience)
    clearTimeout(this.#gathering)
    try {
      await this.#results.stop()
      await this.#giveBack()
    } finally {
      this.#sender.close()
    }
  }

  async #turn(signal: AbortSignal): Promise<boolean> {
    await this.#giveBack()
    const free = this.#inFlightMax + this.#aheadMax - this.#running.size - this.#ready.length
    const limit = Math.min(BATCH_MAX, free)
    this.#isCrowded = true
    this.#hasClaimed = false
    if (limit <= 0) return false
    // As the claim sees them: places that come free while it runs, it did not know of.
    const places = this.#places.copy()
    const underway = [...this.#running.keys(), ...this.#ready.map(({ delivery }) => delivery)]
    const { limits, inFlight, inFlightOfAccounts } = places
    const claimed = await claimDeliveries(this.#gateway.db, {
      limit,
      ...limits,
      inFlight,
      inFlightOfAccounts,
    })
    this.#hasClaimed = claimed.length > 0
    for (const delivery of claimed) places.take(delivery)
    // UUIDv7: in the order in which the events happened.
    claimed.sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
    for (const delivery of claimed) {
      if (signal.aborted) this.#giveUp(delivery)
      else this.#admit(delivery)
    }
    const hasMore = claimed.length === limit
    const isFull = (delivery: ClaimedDelivery) => places.isFull(delivery)
    this.#isCrowded = hasMore || this.#returned.length > 0 || [...underway, ...claimed].some(isFull)
    return hasMore && free > limit
  }

  #admit(delivery: ClaimedDelivery): void {
    this.#places.take(delivery)
    const claimedAt = performance.now()
    if (this.#running.size < this.#inFlightMax) this.#start(delivery, claimedAt)
    else this.#ready.push({ delivery, claimedAt })
  }

  #start(delivery: ClaimedDelivery, claimedAt: number): void {
    const lane = laneOf(delivery)
    const before = this.#lanes.get(lane)
    const run = async () => {
      try {
        await before
        const isStale = performance.now() - claimedAt > FRESH_MS
        if (this.#cut.signal.aborted || isStale || this.#heldLanes.has(lane)) this.#giveUp(delivery)
        else await this.#attempt(delivery)
      } catch (error) {
        // Sending never throws; what does is a secret that does not open. It is due again in a minute, and the log repeats it.
        this.#giveUp(delivery, { isUnsendable: true })
        this.#gateway.log.error(
          {
            err: error,
            delivery: showId('dlv', delivery.id),
            endpoint: showId('whk', delivery.endpointId),
          },
          'a delivery could not be attempted',
        )
      } finally {
        this.#running.delete(delivery)
        if (this.#lanes.get(lane) === done) this.#lanes.delete(lane)
        this.#leave(delivery)
      }
    }
    const done: Promise<void> = Promise.resolve().then(run)
    this.#lanes.set(lane, done)
    this.#running.set(delivery, done)
  }

  async #attempt(delivery: ClaimedDelivery): Promise<void> {
    const startedAt = new Date()
    const began = performance.now()
    const { accountId, endpointId, eventId, body, url, secretSealed, previousSecretSealed } = delivery
    const sealed = previousSecretSealed ? [secretSealed, previousSecretSealed] : [secretSealed]
    const signed = signatureHeaders(
      { id: showId('evt', eventId), at: startedAt, body },
      sealed.map((secret) => this.#keys.open(endpointId, secret)),
    )
    const span = this.#gateway.traces && spanOf(delivery)
    const headers = {
      ...signed,
      'content-type': 'application/json',
      'user-agent': 'Beck',
      ...(span && { traceparent: traceparentOf(span) }),
    }
    crashPoint('deliver:claimed')
    const outcome = await this.#sender.send({ url, headers, body }, this.#cut.signal)
    crashPoint('deliver:sent')
    if (outcome === null) return this.#giveUp(delivery)
    const verdict = judge(outcome, delivery.attempts + 1, Math.random(), new Date())
    const durationMs = Math.round(performance.now() - began)
    this.#results.add({ delivery, outcome, verdict, startedAt, durationMs })
    if (span)
      this.#gateway.traces?.add({
        ...span,
        startedAt,
        durationMs,
        attributes: { ...span.attributes, 'beck.delivery.verdict': verdict.kind },
        failure: verdict.kind === 'delivered' ? null : failureOf(outcome),
      })
    this.#gateway.log.debug(
      {
        account: showId('acct', accountId),
        delivery: showId('dlv', delivery.id),
        verdict: verdict.kind,
        durationMs,
      },
      'a delivery was attempted',
    )
  }

  #leave(delivery: ClaimedDelivery): void {
    this.#places.leave(delivery)
    const next = this.#ready.shift()
    if (next) this.#start(next.delivery, next.claimedAt)
    if (!this.#isCrowded) return
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.wake()
    }, GATHER_MS)
  }

  #giveUp(delivery: ClaimedDelivery, { isUnsendable } = { isUnsendable: false }): void {
    this.#returned.push({ ...delivery, isUnsendable })
    this.#heldLanes.add(laneOf(delivery))
    this.#isCrowded = true
  }

  /** What waits for a place behind those that are given back; what is under way looks itself. */
  #giveUpBehind(): void {
    for (const ready of this.#ready.splice(0)) {
      if (!this.#heldLanes.has(laneOf(ready.delivery))) this.#ready.push(ready)
      else {
        this.#giveUp(ready.delivery)
        this.#places.leave(ready.delivery)
      }
    }
  }

  async #giveBack(): Promise<void> {
    if (this.#returned.length === 0) return
    this.#giveUpBehind()
    const returned = this.#returned.splice(0)
    try {
      await returnDeliveries(this.#gateway.db, returned)
    } catch (error) {
      this.#returned.unshift(...returned)
      throw error
    }
    this.#heldLanes.clear()
    for (const delivery of this.#returned) this.#heldLanes.add(laneOf(delivery))
  }
}

const laneOf = ({ endpointId, subject }: ClaimedDelivery): string => `${endpointId} ${subject}`

/** Of an attempt, before its outcome. Its receiver is named nowhere in it: where merchants listen is theirs to tell. */
function spanOf({ subject, eventId, type, attempts }: ClaimedDelivery) {
  const [, id] = subject.split(':')
  return {
    ...below(rootOf(id ?? eventId)),
    name: `webhook ${type}`,
    kind: 'client' as const,
    attributes: { 'beck.event_id': showId('evt', eventId), 'beck.delivery.attempt': attempts + 1 },
  }
}

/** For the trace. The sentence for the merchant can name his host. */
const failureOf = (outcome: Outcome): string =>
  outcome.kind === 'answered' ? String(outcome.status) : 'no complete answer'
