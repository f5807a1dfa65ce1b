/** The browser that gave an address for a refund, and may therefore change it: it keeps a proof in a cookie. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SessionId } from '../../core/ids.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { readCookie } from './cookies.ts'
import { checkoutPath } from './respond.ts'

const GIVER = 'beck_refund'
/** Refunds are asked for long after the purchase; browsers keep nothing for longer than this. */
const KEPT_SECONDS = 400 * 86_400

export const readGiver = (request: FastifyRequest): string => readCookie(request, GIVER)

/**
 * Sent to this checkout alone. Within the page of a shop as well, where the browser keeps it apart for that shop: forms
 * of other sites are refused without asking for it.
 */
export function rememberGiver(
  gateway: Pick<Gateway, 'settings'>,
  reply: FastifyReply,
  session: SessionId,
  proof: string,
): void {
  const site = gateway.settings.publicUrl.startsWith('https:')
    ? 'SameSite=None; Secure; Partitioned'
    : 'SameSite=Lax'
  reply.header(
    'Set-Cookie',
    `${GIVER}=${proof}; Path=${checkoutPath(gateway, session)}; Max-Age=${KEPT_SECONDS}; HttpOnly; ${site}`,
  )
}
