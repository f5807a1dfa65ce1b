import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takenTogether } from './taken-together.ts'

test('who comes while it runs gets the same answer or failure, who comes later a new one', async () => {
  let runs = 0
  const work = takenTogether(async () => {
    runs += 1
    await Promise.resolve()
    if (runs === 2) throw new Error('away')
    return runs
  })
  assert.deepEqual(await Promise.all([work(), work()]), [1, 1])
  const both = await Promise.allSettled([work(), work()])
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await work(), 3)
})

test('an answer that is lost holds up nobody who comes later', async (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const answers: ((value: string) => void)[] = []
  const work = takenTogether(() => new Promise<string>((resolve) => answers.push(resolve)))
  const lost = work()
  nowMs = 10_000
  const later = work()
  answers[1]?.('new')
  assert.equal(await later, 'new')
  answers[0]?.('old')
  assert.equal(await lost, 'old')
  work()
  assert.equal(answers.length, 3)
})
