import assert from 'node:assert/strict'
import test from 'node:test'
import { newPublicId, type SessionId } from '../../core/ids.ts'
import { gatherMoments } from './moments.ts'

/** Answers only when it is told to. */
function openQueries() {
  const asked: { ids: readonly SessionId[]; answer(): void; fail(): void }[] = []
  let atOnce = 0
  let atOnceMax = 0
  const read = (ids: readonly SessionId[]) => {
    atOnceMax = Math.max(atOnceMax, ++atOnce)
    return new Promise<{ sessionId: SessionId; version: string }[]>((resolve, reject) => {
      asked.push({
        ids,
        answer: () => resolve(ids.map((sessionId) => ({ sessionId, version: `of query ${asked.length}` }))),
        fail: () => reject(new Error('the database is gone')),
      })
    }).finally(() => {
      atOnce -= 1
    })
  }
  return { asked, read, atOnceMax: () => atOnceMax }
}

const turn = () => new Promise(setImmediate)
const sessions = (count: number) => Array.from({ length: count }, () => newPublicId('cs'))

test('a page that opens alone is asked for at once, those that open meanwhile together, and each gets its own', async () => {
  const { asked, read, atOnceMax } = openQueries()
  const readMoment = gatherMoments(read)
  const [first, second, third] = sessions(3)
  assert.ok(first && second && third)
  const alone = readMoment(first)
  await turn()
  assert.deepEqual(
    asked.map(({ ids }) => ids),
    [[first]],
  )
  const later = [readMoment(second), readMoment(third), readMoment(second)]
  await turn()
  assert.equal(asked.length, 1, 'they wait')
  asked[0]?.answer()
  assert.equal((await alone)?.sessionId, first)
  await turn()
  assert.deepEqual(asked[1]?.ids, [second, third], 'once each')
  asked[1]?.answer()
  assert.deepEqual(
    (await Promise.all(later)).map((moment) => moment?.sessionId),
    [second, third, second],
  )
  assert.equal(atOnceMax(), 1)
})

test('what is asked for while a query is under way is answered by a later one', async () => {
  const { asked, read } = openQueries()
  const readMoment = gatherMoments(read)
  const id = newPublicId('cs')
  const before = readMoment(id)
  await turn()
  const after = readMoment(id)
  asked[0]?.answer()
  assert.equal((await before)?.version, 'of query 1')
  await turn()
  asked[1]?.answer()
  assert.equal((await after)?.version, 'of query 2')
})

test('a thousand at once are queries of five hundred, one after the other', async () => {
  const { asked, read, atOnceMax } = openQueries()
  const readMoment = gatherMoments(read)
  const all = sessions(1_001).map(readMoment)
  for (let query = 0; query < 3; query++) {
    await turn()
    asked[query]?.answer()
  }
  await Promise.all(all)
  assert.deepEqual(
    asked.map(({ ids }) => ids.length),
    [500, 500, 1],
  )
  assert.equal(atOnceMax(), 1)
})

test('a query that fails fails those it was for, and the next ones are asked for', async () => {
  const { asked, read } = openQueries()
  const readMoment = gatherMoments(read)
  const lost = readMoment(newPublicId('cs'))
  await turn()
  const waiting = readMoment(newPublicId('cs'))
  asked[0]?.fail()
  await assert.rejects(lost, /the database is gone/)
  await turn()
  asked[1]?.answer()
  assert.ok(await waiting)
  const anew = readMoment(newPublicId('cs'))
  await turn()
  asked[2]?.answer()
  assert.ok(await anew)
})

test('a session that is not there has no moment', async () => {
  assert.equal(await gatherMoments(async () => [])(newPublicId('cs')), null)
})
