import assert from 'node:assert/strict'
import test from 'node:test'
import { below, newTrace, readTraceparent, rootOf, traceparentOf } from './trace.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a traceparent is read as it is written', () => {
  assert.deepEqual(readTraceparent(`00-${TRACE}-${SPAN}-00`), { traceId: TRACE, spanId: SPAN })
  for (const place of [newTrace(), rootOf('0198f0a0-1b2c-7d3e-8f40-5162738495a6'), below(newTrace())]) {
    const { traceId, spanId } = place
    assert.deepEqual(readTraceparent(traceparentOf(place)), { traceId, spanId })
  }
})

test('what is no traceparent leads nowhere', () => {
  const wrong = [
    undefined,
    null,
    7,
    '',
    TRACE,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}-011`,
    `00-${TRACE}-${SPAN}-01-00`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}0-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE.replace('4', 'g')}-${SPAN}-01`,
    ` 00-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01\n`,
    // Sent twice, as Node joins them.
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ]
  for (const text of wrong) assert.equal(readTraceparent(text), null, String(text))
})

test('the trace of a payment begins at its id', () => {
  assert.deepEqual(rootOf('0198f0a0-1b2c-7d3e-8f40-5162738495a6'), {
    traceId: '0198f0a01b2c7d3e8f405162738495a6',
    spanId: '8f405162738495a6',
  })
})
