/** Answers to bytes that never became a request, written to the socket as they are. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { AnswerHeaders } from './answer-headers.ts'
import { failure } from './envelope.ts'
import { newRequestId } from './request-id.ts'

/** How long one who sent what cannot be read has to take his answer; he may never end his side. */
const TAKEN_WITHIN_MS = 1_000

const WORDS: Readonly<Record<string, readonly [status: number, reason: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'the headers are larger than 16 kB; send smaller ones'],
  NO_HOST: [400, 'malformed_request', 'a request of HTTP/1.1 must have a header Host, and only one'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'request_timeout',
    'the request did not arrive in time: its head within 15 seconds, the whole within 30',
  ],
}

/** @param code - Of the error that Node's HTTP parser raised, or `NO_HOST`. */
export function answerToUnreadable(code: string, headers: AnswerHeaders): string {
  const [status, reason, message] = WORDS[code] ?? [
    400,
    'malformed_request',
    'this is not an HTTP request that can be read',
  ]
  const requestId = newRequestId()
  const body = JSON.stringify(failure(status, { reason, message, requestId }))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `X-Request-Id: ${requestId}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

/** The answer, and then the end of the connection. What comes on it meanwhile is not read: each piece would be another error. */
export function refuseUnreadable(code: string, socket: Duplex, headers: AnswerHeaders): void {
  socket.pause()
  if (socket.writable && code !== 'ECONNRESET') socket.end(answerToUnreadable(code, headers))
  setTimeout(() => socket.destroy(), TAKEN_WITHIN_MS).unref()
}
