/**
 * Takes webhooks and answers each at once. It stands for a machine of the merchant's, but takes the processors that are measured: so it
 * reads no more of a message than where it ends.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'

const HEAD_END = '\r\n\r\n'
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

export function leastReceiver(onMessage: () => void): Server {
  return createServer((socket) => {
    let unread: Buffer = Buffer.alloc(0)
    // A sender that stops cuts its connections off.
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      unread = unread.length === 0 ? bytes : Buffer.concat([unread, bytes])
      for (let end = endOfFirst(unread); end <= unread.length; end = endOfFirst(unread)) {
        unread = unread.subarray(end)
        onMessage()
        socket.write(ANSWER)
      }
    })
  })
}

/** Where the first message ends; behind every byte while its head is not there. */
function endOfFirst(bytes: Buffer): number {
  const head = bytes.indexOf(HEAD_END)
  if (head < 0) return Number.POSITIVE_INFINITY
  const length = /^content-length: *(\d+)$/im.exec(bytes.toString('latin1', 0, head))?.[1]
  assert.ok(length, 'a webhook says how long it is')
  return head + HEAD_END.length + Number(length)
}
