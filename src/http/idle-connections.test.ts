import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import Fastify from 'fastify'
import { closeIdleConnections } from './idle-connections.ts'

test('a connection made while the server closes does not hold it up either', async () => {
  const app = Fastify()
  closeIdleConnections(app)
  const late: Socket[] = []
  app.addHook('preClose', async () => {
    const socket = connect(Number(new URL(app.listeningOrigin).port), '127.0.0.1')
    late.push(socket.resume())
    await Promise.all([once(app.server, 'connection'), once(socket, 'connect')])
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const began = performance.now()
  await app.close()
  assert.ok(performance.now() - began < 20_000, 'Node alone would wait for a minute')
  assert.equal(late.length, 1)
})
