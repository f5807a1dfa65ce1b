import assert from 'node:assert/strict'
import test from 'node:test'
import { newPublicId } from '../../core/ids.ts'
import { SILENT } from '../../core/log.ts'
import { type HubOptions, openHub } from './hub.ts'

const id = newPublicId('cs')

/** A hub whose looks come a minute apart, and the next news of a page. */
function hub(options: Pick<HubOptions, 'changed' | 'pulse'> & Partial<HubOptions>) {
  const open = openHub({ log: SILENT, pauseMs: 60_000, ...options })
  const { promise, resolve } = Promise.withResolvers<string>()
  const listener = { hear: resolve }
  open.listen(id, 'v1', listener)
  return { news: promise, leave: () => open.leave(id, listener), stop: () => open.stop() }
}

test('a block is told at once, however long it is until the next look', async () => {
  let version = 'v1'
  let tip = 'a'
  const looks = Promise.withResolvers<void>()
  const { news, leave, stop } = hub({
    async changed(known) {
      looks.resolve()
      return known.filter((one) => one.version !== version).map(({ id }) => ({ sessionId: id, version }))
    },
    pulse: async () => tip,
  })
  await looks.promise
  version = 'v2'
  tip = 'b'
  assert.equal(await news, 'v2')
  leave()
  await stop()
})

test('a database that fails is asked again, and told of once', async () => {
  const warned: string[] = []
  let failures = 2
  const { news, leave, stop } = hub({
    changed: async (known) => known.map(({ id }) => ({ sessionId: id, version: 'v2' })),
    async pulse() {
      if (failures-- > 0) throw new Error('no connection')
      return 'a'
    },
    pauseMs: 1,
    log: { ...SILENT, warn: (_fields: object, message: string) => void warned.push(message) },
  })
  assert.equal(await news, 'v2')
  assert.equal(warned.length, 1)
  leave()
  await stop()
})
