/** What nodes of several versions answer to sendrawtransaction, and what it means for a payout. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { createBitcoinChain } from './bitcoin-chain.ts'

const OTHER = 'ab'.repeat(32)

let answer: { result: unknown; error: { code: number; message: string } | null }
let asked: { method: string; params: unknown[] }
const server = http.createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  asked = JSON.parse(text)
  // As Core answers a request that names no version of JSON-RPC.
  response.statusCode = answer.error ? 500 : 200
  response.end(JSON.stringify({ ...answer, id: 1 }))
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

/** What sendrawtransaction answers, as the sources of each version have it; a version is named where a text is new. */
const answers: readonly (readonly [
  since: string,
  code: number,
  message: string,
  kind: 'already_known' | 'refused',
])[] = [
  ['Bitcoin Core before 28, Litecoin Core 0.21', -27, 'Transaction already in block chain', 'already_known'],
  ['Bitcoin Core 28', -27, 'Transaction outputs already in utxo set', 'already_known'],
  ['all', -26, 'txn-already-known', 'already_known'],
  ['all', -26, 'txn-already-in-mempool', 'already_known'],
  ['Bitcoin Core 22', -26, 'txn-same-nonwitness-data-in-mempool', 'already_known'],

  // Its parent is not known yet, or its coin was spent by another: only the chain can tell which.
  ['all', -25, 'bad-txns-inputs-missingorspent', 'refused'],
  ['Bitcoin Core before 29, Litecoin Core 0.21', -26, 'txn-mempool-conflict', 'refused'],
  ['Bitcoin Core before 29', -26, 'bip125-replacement-disallowed', 'refused'],
  [
    'Bitcoin Core before 31',
    -26,
    `insufficient fee, rejecting replacement ${OTHER}; new feerate 0.00001000 BTC/kvB <= old feerate 0.00001000 BTC/kvB`,
    'refused',
  ],
  [
    'all',
    -26,
    `insufficient fee, rejecting replacement ${OTHER}, less fees than conflicting txs; 0.00000141 < 0.00000282`,
    'refused',
  ],
  [
    'all',
    -26,
    `insufficient fee, rejecting replacement ${OTHER}, not enough additional fees to relay; 0.00 < 0.00000141`,
    'refused',
  ],
  [
    'Bitcoin Core 31',
    -26,
    'replacement-failed, insufficient feerate: does not improve feerate diagram',
    'refused',
  ],
  [
    'Bitcoin Core before 31',
    -26,
    `too many potential replacements, rejecting replacement ${OTHER}; too many potential replacements (101 > 100)`,
    'refused',
  ],
  [
    'Bitcoin Core 31',
    -26,
    `too many potential replacements, rejecting replacement ${OTHER}; too many conflicting clusters (101 > 100)`,
    'refused',
  ],
  ['all', -26, 'mempool min fee not met, 110 < 220', 'refused'],
  ['all', -26, 'min relay fee not met, 10 < 110', 'refused'],
  ['all', -26, 'mempool full', 'refused'],
  ['before 29', -26, 'dust', 'refused'],
  ['Bitcoin Core 29', -26, 'dust, tx with dust output must be 0-fee', 'refused'],
  [
    'Bitcoin Core 28',
    -26,
    `TRUC-violation, non-version=3 tx ${OTHER} (wtxid=${OTHER}) cannot spend from version=3 tx ${OTHER} (wtxid=${OTHER})`,
    'refused',
  ],
  ['all', -26, 'bad-txns-premature-spend-of-coinbase, tried to spend coinbase at depth 3', 'refused'],
  [
    'Bitcoin Core before 31, Litecoin Core 0.21',
    -26,
    'too-long-mempool-chain, too many unconfirmed ancestors [limit: 25]',
    'refused',
  ],
  ['Bitcoin Core 31', -26, 'too-large-cluster', 'refused'],
  [
    'before 30',
    -26,
    'mandatory-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation)',
    'refused',
  ],
  [
    'Bitcoin Core 30',
    -26,
    `mempool-script-verify-flag-failed (Signature must be zero for failed CHECK(MULTI)SIG operation), input 0 of ${OTHER} (wtxid ${OTHER}), spending ${OTHER}:0`,
    'refused',
  ],
  ['all', -25, 'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)', 'refused'],
  [
    'Bitcoin Core 25',
    -25,
    'Unspendable output exceeds maximum configured by user (maxburnamount)',
    'refused',
  ],
  [
    'Bitcoin Core 31',
    -1,
    '-privatebroadcast is enabled, but none of the Tor or I2P networks is reachable.',
    'refused',
  ],
  ['all', -22, 'TX decode failed. Make sure the tx has at least one input.', 'refused'],
]

for (const [since, code, message, kind] of answers) {
  test(`${since}: ${code} ${message}: ${kind}`, async () => {
    answer = { result: null, error: { code, message } }
    assert.deepEqual(
      await chain.broadcast('00'),
      kind === 'refused' ? { kind, reason: message } : { kind: 'already_known' },
    )
  })
}

test('an id is acceptance; the node is not to bound the fee, which the signer has', async () => {
  answer = { result: OTHER, error: null }
  assert.deepEqual(await chain.broadcast('00ff'), { kind: 'accepted' })
  assert.deepEqual([asked.method, asked.params], ['sendrawtransaction', ['00ff', 0]])
})

for (const [code, message] of [
  [-28, 'Loading block index…'],
  [-28, 'Verifying blocks…'],
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
