import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testApp } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { pause } from '../core/pause.ts'

test('probes of a database that is slow wait for the look that is under way, and ask it nothing more', async () => {
  const gateway = await testGateway({ chains: [] })
  const { promise: isQuick, resolve: beQuick } = Promise.withResolvers<void>()
  let asked = 0
  const app = await testApp({
    ...gateway,
    db: {
      ...gateway.db,
      async query(...given) {
        asked += 1
        await isQuick
        return gateway.db.query(...given)
      },
    },
  })
  const probes = [app.inject('/readyz')]
  while (asked === 0) await pause(5)
  await pause(50)
  const ofOne = asked
  // A look is remembered for a second.
  await pause(1_100)
  probes.push(app.inject('/readyz'), app.inject('/readyz'))
  await pause(50)
  assert.equal(asked, ofOne)
  beQuick()
  for (const { statusCode } of await Promise.all(probes)) assert.equal(statusCode, 200)
  assert.equal((await app.inject('/readyz')).statusCode, 200)
  assert.equal(asked, 2 * ofOne, 'what was seen is older than a second by now')
})
