/**
 * Headers that decide what a request does, of which there may be one. Node keeps the first of several, or joins them to one
 * text, and a proxy on the way may have read another: which of them was meant, nobody knows.
 */
import type { IncomingMessage } from 'node:http'

export type SentHeaders = Pick<IncomingMessage, 'headers' | 'rawHeaders'>

/** @param name - In lower case. */
export function isRepeated({ rawHeaders }: Pick<SentHeaders, 'rawHeaders'>, name: string): boolean {
  let count = 0
  // Names and values in turns.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const each = rawHeaders[at]
    if (each?.length === name.length && each.toLowerCase() === name) count += 1
  }
  return count > 1
}

/** HTTP/1.1 asks for one, and lets nobody send two (RFC 9112, 3.2). */
export const hasItsHost = (request: IncomingMessage): boolean =>
  request.headers.host === undefined ? request.httpVersion !== '1.1' : !isRepeated(request, 'host')
