/** Answers of which only half comes, as when a machine on the way dies: what was asked for may have been done. */
import type { Socket } from 'node:net'

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const BEGUN = '{"data":{"id":"pay_1",'

/** By how they end; what they say of their length before. */
export const HALVES = {
  'cut short of its length': `${HEAD}Content-Length: 200\r\n\r\n${BEGUN}`,
  'cut between its chunks': `${HEAD}Transfer-Encoding: chunked\r\n\r\n${BEGUN.length.toString(16)}\r\n${BEGUN}\r\n`,
  'cut without a word of its length': `${HEAD}Connection: close\r\n\r\n${BEGUN}`,
  'that stops': `${HEAD}Content-Length: 200\r\n\r\n${BEGUN}`,
} as const
export type Half = keyof typeof HALVES

export const isHalf = (answer: unknown): answer is Half => typeof answer === 'string' && answer in HALVES

export function sendHalf(socket: Socket, half: Half): void {
  socket.write(HALVES[half], () => {
    if (half !== 'that stops') socket.destroySoon()
  })
}
