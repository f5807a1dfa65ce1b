/**
 * Beck ends a connection after a thousand requests, and says so. The load tool has sent the next one by then, never hears of it,
 * and takes every later answer for one to a request before: it is to begin anew sooner.
 */
const REQUESTS_OF_A_CONNECTION = 500

/** What autocannon is asked for, from a program's arguments: URL KEY BODY CONNECTIONS SECONDS. */
export const paymentRequests = ([
  url = '',
  key = '',
  body = '',
  connections = '',
  seconds = '',
]: readonly string[]) => ({
  url,
  connections: Number(connections),
  duration: Number(seconds),
  reconnectRate: REQUESTS_OF_A_CONNECTION,
  method: 'POST',
  headers: { 'x-api-key': key, 'content-type': 'application/json' },
  body,
})
