/** What every API request passes before anything of it is read: a good key, a token of its bucket, the scope. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../core/errors.ts'
import { hostOf } from '../core/networks.ts'
import type { Scope } from '../core/scopes.ts'
import { MINUTE_MS } from '../core/time.ts'
import type { AddressLimit } from './address-limit.ts'
import { type Authenticator, type Caller, missingKey, presentedKey, requireScope } from './authenticate.ts'
import { RateLimited } from './errors.ts'
import { openCounter, type RateLimiter } from './rate-limit.ts'

/** Keys that one address may get wrong in a minute. A good key is looked at first, so this never locks one out. */
const FAILED_ATTEMPTS_MAX = 50

const isOfKey = ({ kind }: Refusal): boolean => kind === 'unauthenticated' || kind === 'forbidden'

const tooManyWrong = (waitSeconds: number) =>
  new RateLimited(
    `more than ${FAILED_ATTEMPTS_MAX} wrong API keys from this address within a minute; check the key`,
    waitSeconds,
  )

export type Guard = (
  scopes: readonly Scope[],
) => (request: FastifyRequest, reply: FastifyReply) => Promise<void>

export function guardRoutes(
  authenticator: Authenticator,
  limiter: RateLimiter,
  addresses: Pick<AddressLimit, 'giveBack'>,
): Guard {
  const failures = openCounter(FAILED_ATTEMPTS_MAX, MINUTE_MS)

  const authenticate = async (request: FastifyRequest): Promise<Caller> => {
    try {
      const key = presentedKey(request.raw)
      if (key !== null) {
        const waitSeconds = failures.waitOf(hostOf(request.ip))
        if (waitSeconds > 0 && !(await authenticator.exists(key))) throw tooManyWrong(waitSeconds)
        return await authenticator.caller(key, request.ip)
      }
    } catch (error) {
      // Only of a key: what is wrong with the database guesses nothing either.
      if (!(error instanceof Refusal) || !isOfKey(error)) throw error
      const waitSeconds = failures.count(hostOf(request.ip))
      if (waitSeconds === 0) throw error
      throw tooManyWrong(waitSeconds)
    }
    // No key at all guesses nothing, so it is not counted.
    throw missingKey()
  }

  return (scopes) => async (request, reply) => {
    reply.header('Cache-Control', 'no-store')
    const caller = await authenticate(request)
    request.caller = caller
    const take = await limiter.take(caller.keyId)
    reply
      .header('RateLimit-Limit', limiter.size.burst)
      .header('RateLimit-Remaining', take.remaining)
      .header('RateLimit-Reset', take.resetSeconds)
    if (!take.allowed) {
      throw new RateLimited(
        `this API key sent more than ${limiter.size.perSecond} requests a second; wait ${take.retryAfterSeconds} s`,
        take.retryAfterSeconds,
      )
    }
    addresses.giveBack(request.ip)
    for (const scope of scopes) requireScope(caller, scope)
  }
}
