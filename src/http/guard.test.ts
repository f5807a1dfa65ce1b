import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { newApiKey } from '../accounts/api-key.ts'
import { type Refusal, unauthenticated, unavailable } from '../core/errors.ts'
import { guardRoutes } from './guard.ts'
import { openLocalBuckets } from './rate-limit.ts'

const unused = () => assert.fail('it came too far')

/** What the sixtieth request of one address is refused with. */
async function sixtieth(refusal: Refusal): Promise<unknown> {
  const guard = guardRoutes(
    { caller: () => Promise.reject(refusal), exists: async () => true, close: async () => {} },
    openLocalBuckets({ perSecond: 1, burst: 1 }),
    { giveBack: unused },
  )([])
  const request = {
    headers: { 'x-api-key': newApiKey('live') },
    ip: '203.0.113.7',
  } as unknown as FastifyRequest
  const reply = { header: () => reply } as unknown as FastifyReply
  let met: unknown
  for (let n = 0; n < 60; n++) met = await guard(request, reply).then(unused, (error) => error)
  return met
}

test('a good key is not counted as a wrong one while the database is not to be worked on', async () => {
  const wentBack = unavailable('database_went_back', 'it is not what it was')
  assert.equal(await sixtieth(wentBack), wentBack)
  const unknown = unauthenticated('unknown_api_key', 'the API key is not known here')
  assert.match(String(await sixtieth(unknown)), /more than 50 wrong API keys/)
})
