/** Stands between Beck and a real node: everything passes, until a test has it lose answers. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

export interface NodeProxy {
  /** Credentials included, as the node's own. */
  readonly rpcUrl: string
  /** From now on the node receives calls of this method, and its answers reach nobody: the connection breaks off. */
  loseAnswersTo(method: string): void
  answerAgain(): void
  /** From now on the node is slow: its answers to calls of this method come so much later. */
  delayAnswersTo(method: string, ms: number): void
  /** How many answers were lost so far. */
  readonly lost: number
}

/**
 * @param change - Rewrites an answer on its way back; given the call's method, its parameters and its result.
 */
export async function startNodeProxy(
  nodeUrl: string,
  change: (method: string, params: readonly unknown[], result: unknown) => unknown = (
    _method,
    _params,
    result,
  ) => result,
): Promise<NodeProxy> {
  const node = new URL(nodeUrl)
  let losing: string | null = null
  let lost = 0
  const delaysMs = new Map<string, number>()
  const agent = new http.Agent({ keepAlive: false })

  const server = http.createServer((request, response) => {
    collect(request, (body) => {
      const calls: readonly Call[] = [JSON.parse(body)].flat()
      const { headers, url: path } = request
      const forwarded = http.request(
        { host: node.hostname, port: node.port, path, method: 'POST', headers, agent },
        (answer) =>
          collect(answer, (text) => {
            if (losing !== null && calls.some(({ method }) => method === losing)) {
              lost += 1
              request.socket.destroy()
              return
            }
            const delayMs = Math.max(0, ...calls.map(({ method }) => delaysMs.get(method) ?? 0))
            setTimeout(() => {
              response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' })
              response.end(rewritten(text, calls, change))
            }, delayMs)
          }),
      )
      forwarded.on('error', () => request.socket.destroy())
      forwarded.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return {
    rpcUrl: `http://${node.username}:${node.password}@127.0.0.1:${port}`,
    loseAnswersTo(method) {
      losing = method
    },
    answerAgain() {
      losing = null
    },
    delayAnswersTo(method, ms) {
      delaysMs.set(method, ms)
    },
    get lost() {
      return lost
    },
  }
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

function rewritten(
  text: string,
  calls: readonly Call[],
  change: (method: string, params: readonly unknown[], result: unknown) => unknown,
): string {
  if (!text.startsWith('{') && !text.startsWith('[')) return text
  const parsed: unknown = JSON.parse(text)
  const answers = [parsed].flat() as { id: number; result: unknown }[]
  for (const answer of answers) {
    const call = calls.find(({ id }) => id === answer.id)
    if (call) answer.result = change(call.method, call.params, answer.result)
  }
  return JSON.stringify(parsed)
}

function collect(stream: http.IncomingMessage, done: (text: string) => void): void {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => done(Buffer.concat(chunks).toString('utf8')))
}
