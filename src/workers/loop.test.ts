import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { gatherWakes } from './loop.ts'

test('a thousand wakes within a moment are two turns: one at once, one for all that came after it', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const woken: string[] = []
  const wake = gatherWakes((name: string) => woken.push(name), 50)
  for (let i = 0; i < 1_000; i++) wake('deliver')
  wake('settle')
  assert.deepEqual(woken, ['deliver', 'settle'])
  mock.timers.tick(50)
  assert.deepEqual(woken, ['deliver', 'settle', 'deliver'])
  mock.timers.tick(50)
  mock.timers.tick(50)
  assert.equal(woken.length, 3, 'nothing more was asked for')
  wake('settle')
  assert.equal(woken.length, 4)
  mock.timers.reset()
})
