/** How many deliveries are under way, by endpoint and by account: a slow receiver takes places of its own alone. */
import type { AccountId, WebhookEndpointId } from '../core/ids.ts'
import type { ClaimedDelivery } from '../events/deliveries.sql.ts'

export interface PlaceLimits {
  readonly perEndpointMax: number
  /** The same for an endpoint whose last attempts failed: a dead receiver holds its places until the deadline. */
  readonly perFailingEndpointMax: number
  /** Of all places, what one account may fill. */
  readonly perAccountMax: number
}

export class DeliveryPlaces {
  readonly limits: PlaceLimits
  readonly inFlight = new Map<WebhookEndpointId, number>()
  readonly inFlightOfAccounts = new Map<AccountId, number>()

  constructor(limits: PlaceLimits) {
    this.limits = limits
  }

  /** As they are now, whatever begins and ends meanwhile. */
  copy(): DeliveryPlaces {
    const copied = new DeliveryPlaces(this.limits)
    for (const [endpoint, counted] of this.inFlight) copied.inFlight.set(endpoint, counted)
    for (const [account, counted] of this.inFlightOfAccounts) copied.inFlightOfAccounts.set(account, counted)
    return copied
  }

  take({ accountId, endpointId }: ClaimedDelivery): void {
    count(this.inFlight, endpointId, 1)
    count(this.inFlightOfAccounts, accountId, 1)
  }

  leave({ accountId, endpointId }: ClaimedDelivery): void {
    count(this.inFlight, endpointId, -1)
    count(this.inFlightOfAccounts, accountId, -1)
  }

  /** Whether nothing more of its endpoint, or of its account, may begin. */
  isFull({ accountId, endpointId, failingSince }: ClaimedDelivery): boolean {
    const { perEndpointMax, perFailingEndpointMax, perAccountMax } = this.limits
    return (
      (this.inFlight.get(endpointId) ?? 0) >= (failingSince ? perFailingEndpointMax : perEndpointMax) ||
      (this.inFlightOfAccounts.get(accountId) ?? 0) >= perAccountMax
    )
  }
}

function count<Name>(counts: Map<Name, number>, name: Name, change: 1 | -1): void {
  const now = (counts.get(name) ?? 0) + change
  if (now > 0) counts.set(name, now)
  else counts.delete(name)
}
