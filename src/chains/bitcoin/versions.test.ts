/**
 * What nodes of several versions answer, literally: the fields and types that the sources of Litecoin Core 0.21 and of
 * Bitcoin Core 27 to 31 name for each method that Beck calls. The tests on real nodes show the versions that are installed;
 * these show that the adapter reads what differs between the others.
 */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { OutsideFailure } from '../../core/errors.ts'
import { SILENT } from '../../core/log.ts'
import { createBitcoinChain } from './bitcoin-chain.ts'
import type { BitcoinLike } from './networks.ts'

const TIP = '00000000000000000001a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f7'
const BLOCK = '0000000000000000000294d8c9b7a5f3e1d2c4b6a8f0e1d3c5b7a9f8e0d2c4b6'
const TXID = 'a1'.repeat(32)
const SCRIPT = '0014615613a6e18251b1316579f9914db0433202d7c9'
const NOT_FOUND =
  'No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries. Use gettransaction for wallet transactions.'

/** A result as JSON text, with the decimals that the node writes; or an error. */
type Answer = string | { readonly code: number; readonly message: string }

interface Version {
  readonly name: string
  readonly chain: BitcoinLike
  /** What it answers, by method. */
  readonly answers: Readonly<Record<string, Answer>>
  readonly floorAtomsPerKvb: bigint
}

const chainInfo = (more: string): string =>
  `{"chain":"main","blocks":900001,"headers":900001,"bestblockhash":"${TIP}","difficulty":123456789012.34,"mediantime":1750000000,"verificationprogress":0.9999999,"initialblockdownload":false,"chainwork":"00","size_on_disk":700000000000,"pruned":false,${more}}`
const networkInfo = (version: number, subversion: string, more: string): string =>
  `{"version":${version},"subversion":"${subversion}","protocolversion":70016,"localservices":"0000000000000409","localservicesnames":["NETWORK"],"localrelay":true,"timeoffset":0,"networkactive":true,"connections":10,"connections_in":0,"connections_out":10,"networks":[],${more}}`
const mempoolInfo = (fee: string, more: string): string =>
  `{"loaded":true,"size":1,"bytes":141,"usage":1200,"maxmempool":300000000,"mempoolminfee":${fee},"minrelaytxfee":${fee},"unbroadcastcount":0${more}}`
const unspent = (scriptPubKey: string): string =>
  `{"bestblock":"${TIP}","confirmations":2,"value":0.00012345,"scriptPubKey":${scriptPubKey},"coinbase":false}`
const scanned = (more: string): string =>
  `{"success":true,"txouts":170000000,"height":900001,"bestblock":"${TIP}","unspents":[{"txid":"${TXID}","vout":0,"scriptPubKey":"${SCRIPT}","desc":"addr(x)#00000000","amount":0.00012345,"height":900000${more}}],"total_amount":0.00012345}`

const WARNINGS_TEXT = '"warnings":""'
const WARNINGS_LIST = '"warnings":[]'
const LOW_FEES = '"relayfee":0.00000100,"incrementalfee":0.00000100,"localaddresses":[]'
const FEES = '"relayfee":0.00001000,"incrementalfee":0.00001000,"localaddresses":[]'
const MODERN_SCRIPT = `{"asm":"0 6156","desc":"addr(x)#00000000","hex":"${SCRIPT}","address":"x","type":"witness_v0_keyhash"}`
const OLD_SCRIPT = `{"asm":"0 6156","hex":"${SCRIPT}","reqSigs":1,"type":"witness_v0_keyhash","addresses":["x"]}`
const TARGET = '"bits":"17020000","target":"00"'

const COMMON: Version['answers'] = {
  getmempoolentry: { code: -5, message: 'Transaction not in mempool' },
  getrawtransaction: { code: -5, message: NOT_FOUND },
  getbestblockhash: `"${TIP}"`,
  getblockheader: `{"hash":"${TIP}","confirmations":1,"height":900001,"time":${Math.floor(Date.now() / 1_000)},"nTx":3}`,
  estimatesmartfee: '{"feerate":0.00012345,"blocks":3}',
}

const versions: readonly Version[] = [
  {
    name: 'Litecoin Core 0.21',
    chain: 'litecoin',
    floorAtomsPerKvb: 1_000n,
    answers: {
      ...COMMON,
      getblockchaininfo: chainInfo(`"softforks":{},${WARNINGS_TEXT}`),
      getnetworkinfo: networkInfo(210201, '/LitecoinCore:0.21.2.1/', `${FEES},${WARNINGS_TEXT}`),
      getmempoolinfo: mempoolInfo('0.00001000', ''),
      gettxout: unspent(OLD_SCRIPT),
      scantxoutset: scanned(''),
    },
  },
  {
    name: 'Bitcoin Core 27',
    chain: 'bitcoin',
    floorAtomsPerKvb: 1_000n,
    answers: {
      ...COMMON,
      getblockchaininfo: chainInfo(`"time":1750000600,${WARNINGS_TEXT}`),
      getnetworkinfo: networkInfo(270000, '/Satoshi:27.0.0/', `${FEES},${WARNINGS_TEXT}`),
      getmempoolinfo: mempoolInfo(
        '0.00001000',
        ',"total_fee":0.00000141,"incrementalrelayfee":0.00001000,"fullrbf":false',
      ),
      gettxout: unspent(MODERN_SCRIPT),
      scantxoutset: scanned(',"coinbase":false'),
    },
  },
  {
    name: 'Bitcoin Core 28',
    chain: 'bitcoin',
    floorAtomsPerKvb: 1_000n,
    answers: {
      ...COMMON,
      getblockchaininfo: chainInfo(`"time":1750000600,${WARNINGS_LIST}`),
      getnetworkinfo: networkInfo(280000, '/Satoshi:28.0.0/', `${FEES},${WARNINGS_LIST}`),
      getmempoolinfo: mempoolInfo(
        '0.00001000',
        ',"total_fee":0.00000141,"incrementalrelayfee":0.00001000,"fullrbf":true',
      ),
      gettxout: unspent(MODERN_SCRIPT),
      scantxoutset: scanned(`,"coinbase":false,"blockhash":"${BLOCK}","confirmations":2`),
    },
  },
  {
    name: 'Bitcoin Core 29.1 and 30',
    chain: 'bitcoin',
    floorAtomsPerKvb: 100n,
    answers: {
      ...COMMON,
      getblockchaininfo: chainInfo(`${TARGET},"time":1750000600,${WARNINGS_LIST}`),
      getnetworkinfo: networkInfo(300000, '/Satoshi:30.0.0/', `${LOW_FEES},${WARNINGS_LIST}`),
      getmempoolinfo: mempoolInfo(
        '0.00000100',
        ',"total_fee":0.00000141,"incrementalrelayfee":0.00000100,"fullrbf":true,"permitbaremultisig":true,"maxdatacarriersize":100000',
      ),
      gettxout: unspent(MODERN_SCRIPT),
      scantxoutset: scanned(`,"coinbase":false,"blockhash":"${BLOCK}","confirmations":2`),
    },
  },
  {
    name: 'Bitcoin Core 31',
    chain: 'bitcoin',
    floorAtomsPerKvb: 100n,
    answers: {
      ...COMMON,
      getblockchaininfo: chainInfo(`${TARGET},"time":1750000600,${WARNINGS_LIST}`),
      getnetworkinfo: networkInfo(310000, '/Satoshi:31.0.0/', `${LOW_FEES},${WARNINGS_LIST}`),
      getmempoolinfo: mempoolInfo(
        '0.00000100',
        ',"total_fee":0.00000141,"incrementalrelayfee":0.00000100,"fullrbf":true,"permitbaremultisig":true,"maxdatacarriersize":100000,"limitclustercount":64,"limitclustersize":101000,"optimal":true',
      ),
      gettxout: unspent(MODERN_SCRIPT),
      scantxoutset: scanned(`,"coinbase":false,"blockhash":"${BLOCK}","confirmations":2`),
    },
  },
]

/** Answers as Core does when no version of JSON-RPC is named: an error is HTTP 500, unless it stands in a batch. */
let answers: Version['answers'] = {}
const server = http.createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  const asked: unknown = JSON.parse(text)
  const calls = [asked].flat() as { id: number; method: string; params: readonly unknown[] }[]
  const bodies = calls.map(({ id, method, params }) => {
    const answer =
      method === 'getblockhash' ? blockHashAt(Number(params[0])) : (answers[method] ?? unknownMethod)
    return typeof answer === 'string'
      ? `{"result":${answer},"error":null,"id":${id}}`
      : `{"result":null,"error":${JSON.stringify(answer)},"id":${id}}`
  })
  if (!Array.isArray(asked) && bodies.some((body) => body.startsWith('{"result":null,"error":{')))
    response.statusCode = 500
  response.end(Array.isArray(asked) ? `[${bodies.join(',')}]` : bodies[0])
})
const unknownMethod = { code: -32_601, message: 'Method not found' }
const blockHashAt = (height: number): Answer =>
  height === 900_000 ? `"${BLOCK}"` : { code: -8, message: 'Block height out of range' }
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => {
  server.closeAllConnections()
  server.close()
})

function portOf(chain: BitcoinLike) {
  const { port } = server.address() as AddressInfo
  const rpcUrl = `http://u:p@127.0.0.1:${port}`
  const opened = createBitcoinChain({ chain, rpcUrl, network: 'mainnet', log: SILENT })
  after(() => opened.close())
  return opened
}

for (const version of versions) {
  test(`${version.name}: what differs between versions is read alike`, async () => {
    const port = portOf(version.chain)
    const asset = version.chain === 'bitcoin' ? 'BTC' : 'LTC'
    answers = version.answers
    assert.deepEqual(await port.tip(), { height: 900_001, hash: TIP })
    assert.deepEqual(await port.concerns?.(), [])
    assert.equal(await port.blockHash(900_002), null)
    assert.deepEqual(await port.feeRates(), {
      kind: 'vbyte',
      atomsPerKvb: 12_345n,
      mayGuess: version.chain !== 'bitcoin',
      floorAtomsPerKvb: version.floorAtomsPerKvb,
    })
    const holdings = await port.holdings({ outpoints: [{ txid: TXID, index: 0 }], addresses: [] })
    assert.deepEqual(holdings, { [asset]: 12_345n })
    assert.deepEqual(await port.findTransaction(TXID), { block: { height: 900_000, hash: BLOCK } })
    const lookup = Buffer.from(SCRIPT, 'hex')
    assert.deepEqual(await port.findFunds?.([lookup]), {
      at: { height: 900_001, hash: TIP },
      funds: [
        { lookup, asset, atoms: 12_345n, utxo: { txid: TXID, index: 0, height: 900_000, isCoinbase: false } },
      ],
    })
  })
}

test('a rate below one atom per virtual byte, which Core 31 may estimate, is read to the atom', async () => {
  answers = { ...versions.at(-1)?.answers, estimatesmartfee: '{"feerate":0.00000123,"blocks":3}' }
  const rates = await portOf('bitcoin').feeRates()
  assert.equal(rates.kind === 'vbyte' && rates.atomsPerKvb, 123n)
})

test('a node without an estimate says so in two ways', async () => {
  for (const estimatesmartfee of [
    '{"errors":["Insufficient data or no feerate found"],"blocks":3}',
    { code: -32_603, message: 'Fee estimation disabled' },
  ]) {
    answers = { ...versions.at(-1)?.answers, estimatesmartfee }
    const rates = await portOf('bitcoin').feeRates()
    assert.equal(rates.kind === 'vbyte' && rates.atomsPerKvb, null)
    assert.equal(rates.kind === 'vbyte' && rates.mayGuess, false, 'where blocks are full')
  }
})

test('what a node warns of is passed on, one text or a list; and that it relays blocks only', async () => {
  const disagrees =
    'Warning: We do not appear to fully agree with our peers! You may need to upgrade, or other nodes may need to upgrade.'
  for (const warnings of [JSON.stringify(disagrees), JSON.stringify([disagrees])]) {
    answers = {
      ...COMMON,
      getblockchaininfo: chainInfo(`"warnings":${warnings}`),
      getnetworkinfo: networkInfo(310000, '/Satoshi:31.0.0/', `${FEES},"warnings":${warnings}`).replace(
        '"localrelay":true',
        '"localrelay":false',
      ),
    }
    const problems = (await portOf('bitcoin').concerns?.())?.map(({ problem }) => problem)
    assert.match(String(problems?.[0]), /relays blocks only/)
    assert.deepEqual(problems?.slice(1), [`warns: ${disagrees}`])
  }
})

test('an id that is none is a failure of the node, before it is written anywhere', async () => {
  const { answers: newest } = versions.at(-1) ?? assert.fail('there are versions')
  for (const odd of [TXID.toUpperCase().replace(/^./, 'A'), TXID.slice(1)]) {
    answers = { ...newest, scantxoutset: String(newest.scantxoutset).replace(TXID, odd) }
    await assert.rejects(
      async () => portOf('bitcoin').findFunds?.([Buffer.from(SCRIPT, 'hex')]),
      (error) => error instanceof OutsideFailure && error.message.includes('instead of an id'),
    )
  }
})

test('a second search while the node makes one is a failure that says so', async () => {
  const message = 'Scan already in progress, use action "abort" or "status"'
  answers = { ...versions.at(-1)?.answers, scantxoutset: { code: -8, message } }
  await assert.rejects(
    async () => portOf('bitcoin').findFunds?.([Buffer.from(SCRIPT, 'hex')]),
    (error) => error instanceof OutsideFailure && error.message.includes(message),
  )
})

test('a block that was pruned, or not downloaded yet, is a failure that says so', async () => {
  for (const message of ['Block not available (pruned data)', 'Block not available (not fully downloaded)']) {
    answers = { ...versions.at(-1)?.answers, getblock: { code: -1, message } }
    await assert.rejects(
      portOf('bitcoin').readBlock(BLOCK),
      (error) => error instanceof OutsideFailure && error.message.includes(message),
    )
  }
})
