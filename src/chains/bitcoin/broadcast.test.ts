/** What nodes of several versions answer to sendrawtransaction, and what it means for a payout. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { createBitcoinChain } from './bitcoin-chain.ts'

let answer: { result: unknown; error: { code: number; message: string } | null }
let asked: { method: string; params: unknown[] }
const server = http.createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  asked = JSON.parse(text)
  response.end(JSON.stringify({ id: 1, ...answer }))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
const chain = createBitcoinChain({
  chain: 'bitcoin',
  rpcUrl: `http://tester:tester@127.0.0.1:${port}`,
  network: 'regtest',
  log: SILENT,
})
after(async () => {
  await chain.close()
  server.closeAllConnections()
  server.close()
})

const answers = [
  // Litecoin Core 0.21, Bitcoin Core before and from 25 on, and what older ones and other nodes say.
  [-27, 'Transaction already in block chain', 'already_known'],
  [-27, 'Transaction outputs already in utxo set', 'already_known'],
  [-26, 'txn-already-in-mempool', 'already_known'],
  [-26, 'txn-already-known', 'already_known'],
  [-26, 'txn-same-nonwitness-data-in-mempool', 'already_known'],
  [-25, 'bad-txns-inputs-missingorspent', 'refused'],
  [-26, 'txn-mempool-conflict', 'refused'],
  [-26, 'insufficient fee, rejecting replacement 00; new feerate 0.00001 BTC/kvB <= old', 'refused'],
  [-26, 'mempool min fee not met, 110 < 220', 'refused'],
  [-26, 'min relay fee not met, 10 < 110', 'refused'],
  [-26, 'dust', 'refused'],
  [-26, 'bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 3', 'refused'],
  [-26, 'too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]', 'refused'],
  [-22, 'TX decode failed. Make sure the tx has at least one input.', 'refused'],
] as const

for (const [code, message, kind] of answers) {
  test(`${code} ${message}: ${kind}`, async () => {
    answer = { result: null, error: { code, message } }
    assert.deepEqual(
      await chain.broadcast('00'),
      kind === 'refused' ? { kind, reason: message } : { kind: 'already_known' },
    )
  })
}

test('an id is acceptance; the node is not to bound the fee, which the signer has', async () => {
  answer = { result: 'ab'.repeat(32), error: null }
  assert.deepEqual(await chain.broadcast('00ff'), { kind: 'accepted' })
  assert.deepEqual([asked.method, asked.params], ['sendrawtransaction', ['00ff', 0]])
})

for (const [code, message] of [
  [-28, 'Loading block index…'],
  [-9, 'Bitcoin is not connected!'],
  [-10, 'Bitcoin is in initial sync and waiting for blocks…'],
] as const) {
  test(`${code} ${message}: no answer yet, nothing is concluded`, async () => {
    answer = { result: null, error: { code, message } }
    await assert.rejects(
      chain.broadcast('00'),
      (error) => error instanceof OutsideFailure && error.retryable && error.message.includes(message),
    )
  })
}
