/** What waits is named once; of more than can be named, only how often they were looked at is said. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Log, SILENT } from '../core/log.ts'
import { forgetWaiting, logWaiting } from './log-waiting.ts'

const lines: string[] = []
const log: Log = { ...SILENT, warn: (fields, message) => lines.push(`${message} ${JSON.stringify(fields)}`) }
const wait = (what: string, reason = 'it waits') => logWaiting({ log }, 'bitcoin', what, reason)
const said = () => lines.splice(0).length

test('what waits for a limit is named once, however much leaves meanwhile, and again for another reason', () => {
  wait('limited', '1.5 BTC left within the day, and the limit is 2 BTC')
  wait('limited', '1.75 BTC left within the day, and the limit is 2 BTC')
  assert.equal(said(), 1)
  wait('limited', '1.75 BTC left within the hour, and the limit is 2 BTC')
  assert.equal(said(), 1)
  forgetWaiting('bitcoin', 'limited')
})

test('more than are named are counted, and that is said once a minute', (t) => {
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const all = () => {
    for (let count = 0; count < 10_100; count++) wait(`wd ${count}`)
  }
  all()
  assert.equal(said(), 10_001)
  all()
  assert.equal(said(), 0)
  nowMs += 60_000
  all()
  assert.deepEqual(lines.splice(0), ['more wait than are named {"unnamed":200}'])
  // What is signed or refused makes room.
  forgetWaiting('bitcoin', 'wd 0')
  wait('wd 10099')
  assert.equal(said(), 1)
  // And so does what was not looked at for long.
  nowMs += 3_600_001
  wait('wd 10050')
  wait('wd 10051')
  assert.equal(said(), 2)
})
