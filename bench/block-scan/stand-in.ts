/** Answers getblock and getblockheader of one block at a time as a node does. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort } from 'node:worker_threads'

let block = Buffer.alloc(0)
let height = 0

const server = http.createServer((request, response) => {
  let asked = ''
  request.on('data', (chunk: Buffer) => {
    asked += chunk.toString()
  })
  request.on('end', () => {
    const { id, method } = JSON.parse(asked) as { id: number; method: string }
    response.write(`{"id":${id},"error":null,"result":`)
    if (method === 'getblockheader') response.end(`{"height":${height}}}`)
    else {
      response.write('"')
      response.write(block)
      response.end('"}')
    }
  })
})
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port))
parentPort?.on('message', (shown: { block: Uint8Array; height: number }) => {
  block = Buffer.from(Buffer.from(shown.block).toString('hex'))
  height = shown.height
  parentPort?.postMessage('shown')
})
