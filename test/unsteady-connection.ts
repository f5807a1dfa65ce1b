/** A connection to a JSON-RPC node that can be cut, that loses answers, and on which a node answers what others would. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after } from 'node:test'

export interface UnsteadyConnection {
  readonly url: string
  /**
   * What happens to the next transactions that are sent: `lost` reaches the node and the connection ends before its
   * answer; a sentence reaches it too, and is the answer in place of its own; `kept:` before it keeps them from the node.
   */
  onSending(trouble: 'lost' | `kept:${string}` | (string & {}) | null): void
  /** Nothing gets through. */
  cut(isCut: boolean): void
}

/** Ends with the test file. Start it at the top level of the file. */
export async function openConnection(nodeUrl: string): Promise<UnsteadyConnection> {
  let trouble: string | null = null
  let isCut = false
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (isCut) return response.destroy()
    const isSending = body.includes('eth_sendRawTransaction')
    const mine = isSending ? trouble : null
    if (mine?.startsWith('kept:')) return response.end(refusalOf(body, mine.slice('kept:'.length)))
    const forwarded = await fetch(nodeUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }).catch(() => null)
    const answer = await forwarded?.text()
    if (answer === undefined || mine === 'lost') return response.destroy()
    response.setHeader('content-type', 'application/json')
    return response.end(mine === null ? answer : refusalOf(body, mine))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the connection has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    onSending: (next) => {
      trouble = next
    },
    cut: (next) => {
      isCut = next
    },
  }
}

/** The error as geth answers it, to every call of a batch. */
function refusalOf(body: string, message: string): string {
  const calls: { id: number }[] = JSON.parse(body)
  return JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32000, message } })))
}
