/** What a collector is sent, and that one which hangs or refuses costs spans and no time. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test, { after } from 'node:test'
import { until } from '../../test/wait-for.ts'
import type { Span } from '../core/trace.ts'
import { VERSION } from '../core/version.ts'
import { openTraceExport, type TraceExportOptions } from './trace-export.ts'

const span: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  name: 'settle payment',
  kind: 'internal',
  startedAt: new Date(1_700_000_000_000),
  durationMs: 3,
  attributes: { 'beck.payment.status': 'completed', 'beck.payments_together': 2 },
  failure: null,
}

/** A collector that answers as told, an export to it, and what that warned of. */
async function exportTo(
  answer: (response: ServerResponse, nth: number) => void,
  options: TraceExportOptions = {},
) {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into requests freely
  const bodies: any[] = []
  const server = createServer(async (request, response) => {
    bodies.push(JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()))
    answer(response, bodies.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
  const warned: object[] = []
  const log = { warn: (fields: object) => void warned.push(fields) }
  const traces = openTraceExport({ url, headers: {}, serviceName: 'shop' }, 'api', log, options)
  return {
    bodies,
    warned,
    traces,
    add(spans: number) {
      for (let i = 0; i < spans; i++) traces.add(span)
    },
    /** How many spans each request had. */
    sizes: (): number[] => bodies.map((body) => body.resourceSpans[0].scopeSpans[0].spans.length),
  }
}

const taken = (response: ServerResponse) => response.end('{}')

test('a span is written as the protocol has it', async () => {
  const { bodies, traces, warned } = await exportTo(taken)
  const link = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  traces.add({ ...span, kind: 'server', parentSpanId: 'c'.repeat(16), link, failure: '503' })
  await traces.close()
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } })
  assert.deepEqual(bodies, [
    {
      resourceSpans: [
        {
          resource: {
            attributes: [
              text('service.name', 'shop'),
              text('service.version', VERSION),
              text('beck.role', 'api'),
            ],
          },
          scopeSpans: [
            {
              scope: { name: 'beck', version: VERSION },
              spans: [
                {
                  traceId: span.traceId,
                  spanId: span.spanId,
                  parentSpanId: 'c'.repeat(16),
                  name: 'settle payment',
                  kind: 2,
                  startTimeUnixNano: '1700000000000000000',
                  endTimeUnixNano: '1700000000003000000',
                  attributes: [
                    text('beck.payment.status', 'completed'),
                    { key: 'beck.payments_together', value: { intValue: '2' } },
                  ],
                  links: [link],
                  status: { code: 2, message: '503' },
                },
              ],
            },
          ],
        },
      ],
    },
  ])
  assert.deepEqual(warned, [])
})

test('five thousand wait at most, and what is dropped is told', async () => {
  const { add, traces, sizes, warned } = await exportTo(taken)
  add(5_003)
  await traces.close()
  assert.deepEqual(sizes(), Array(10).fill(500))
  assert.deepEqual(warned, [
    { dropped: 1, why: 'too many wait' },
    { dropped: 2, why: 'too many wait' },
  ])
})

test('closing does not wait for a collector that hangs', async () => {
  const { add, traces, sizes, warned } = await exportTo(() => {}, { everyMs: 1, closeMs: 50 })
  add(1_200)
  await until('a batch is under way', async () => sizes().length > 0)
  const beganAt = performance.now()
  await traces.close()
  assert.ok(performance.now() - beganAt < 5_000, 'an exchange alone would have ten seconds')
  assert.deepEqual(sizes(), [500])
  assert.deepEqual(warned, [
    { dropped: 500, why: 'was not waited for' },
    { dropped: 700, why: 'Beck stopped' },
  ])
})

test('nor does it try every batch at a collector that refuses one', async () => {
  const { add, traces, sizes, warned } = await exportTo((response) => response.writeHead(500).end())
  add(1_200)
  await traces.close()
  assert.deepEqual(sizes(), [500])
  assert.deepEqual(warned, [
    { dropped: 500, why: 500 },
    { dropped: 700, why: 'Beck stopped' },
  ])
})

test('what waits behind a refused batch goes with the next turn', async () => {
  const { add, traces, sizes, warned } = await exportTo(
    (response, nth) => response.writeHead(nth === 1 ? 500 : 200).end(),
    { everyMs: 1 },
  )
  add(1_200)
  await until('the others came', async () => sizes().length === 3)
  await traces.close()
  assert.deepEqual(sizes(), [500, 500, 200])
  assert.deepEqual(warned, [{ dropped: 500, why: 500 }])
})
