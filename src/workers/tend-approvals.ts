/** Opens requests for what the signer holds up and nobody was asked for, and closes those that are over. */
import { SECOND_MS } from '../core/time.ts'
import { tendRequests } from '../flows/approvals/tend-requests.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type Loop, startLoop } from './loop.ts'

export const startApprovalTender = (gateway: Gateway): Loop =>
  startLoop({
    name: 'tend approvals',
    idleMs: 2 * SECOND_MS,
    log: gateway.log,
    async turn() {
      await tendRequests(gateway)
      return false
    },
  })
