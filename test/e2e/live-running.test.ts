/** A gateway for live coins on a Bitcoin and a Litecoin node: one process and its signer. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startNodeOf } from '../dressed-node.ts'
import { type Answer, startReceiver } from '../installation.ts'
import { liveInstallation } from '../live-installation.ts'
import { until, waitFor } from '../wait-for.ts'

const nodes = { bitcoin: await startNodeOf('bitcoin'), litecoin: await startNodeOf('litecoin') }
const { start, beck, openAccount } = await liveInstallation({
  BITCOIN_RPC_URL: nodes.bitcoin.proxy.rpcUrl,
  BITCOIN_NETWORK: 'regtest',
  LITECOIN_RPC_URL: nodes.litecoin.proxy.rpcUrl,
  LITECOIN_NETWORK: 'regtest',
  BECK_SIGNER_LIMITS: 'BTC=tx:1,day:5;LTC=tx:100,day:500',
})

describe('live accounts of a running gateway', () => {
  it('take and pay out Bitcoin and Litecoin, set up with the command line alone', {
    timeout: 240_000,
  }, async () => {
    const running = await start()
    const call = await openAccount()
    const before = await waitFor('the node of bitcoin is seen', async () => {
      const answer = await call('POST', '/payments', { asset: 'BTC', fiat_amount: 650 })
      return answer.error?.reason === 'chain_unavailable' ? null : answer
    })
    assert.deepEqual([before.status, before.error?.reason], [503, 'no_address'])

    const { words } = await beck('wallet', 'init')
    assert.equal(String(words).split(' ').length, 24)
    const receiver = await startReceiver()
    const endpoint = await call('POST', '/webhooks', {
      url: receiver.url,
      events: ['payment.completed', 'payout.completed'],
    })
    receiver.useSecret(endpoint.data.secret)

    for (const [chain, asset, prefix, depth, amount] of [
      ['bitcoin', 'BTC', 'bcrt1q', 2, '0.005'],
      ['litecoin', 'LTC', 'rltc1q', 6, '3.25'],
    ] as const) {
      const { node, forNode, forBeck } = nodes[chain]
      let created = await call('POST', '/payments', { asset, fiat_amount: 650 })
      await until(`the wallet of ${chain} is picked up`, async () => {
        if (created.status !== 201) created = await call('POST', '/payments', { asset, fiat_amount: 650 })
        return created.status === 201
      })
      const { id, deposit } = created.data
      assert.ok(deposit.address.startsWith(prefix))
      assert.equal(deposit.qr_data, `${chain}:${deposit.address}?amount=${deposit.expected_amount}`)
      const payment = async () => (await call('GET', `/payments/${id}`)).data
      await node.pay([[forNode(deposit.address), deposit.expected_amount]])
      await until('the deposit is seen', async () => (await payment()).status === 'detected')
      await node.mine(depth)
      await until('the payment is completed', async () => (await payment()).status === 'completed')

      const destination = forBeck(await node.call<string>('getnewaddress', '', 'bech32'))
      const order = { asset, amount, destination_address: destination }
      const quote = await call('POST', '/withdrawals/quote', order)
      assert.equal(quote.status, 200, JSON.stringify(quote.error))
      const requested = await call('POST', '/withdrawals', order)
      assert.equal(requested.status, 201, JSON.stringify(requested.error))
      const withdrawal = async () =>
        (await call('GET', '/withdrawals')).data.find((each: Answer) => each.id === requested.data.id)
      await until(
        'the withdrawal is broadcast',
        async () => (await withdrawal()).status === 'broadcast',
      ).catch(async (cause) =>
        assert.fail(`${cause}: ${JSON.stringify(await withdrawal())}\n${running.log()}`),
      )
      const { tx_hash: txid, net_atoms: net } = await withdrawal()
      await node.mine(depth)
      await until('the withdrawal is completed', async () => (await withdrawal()).status === 'completed')
      const unspent = await node.call<{ txid: string; amount: number }[]>('listunspent', 1, 999, [
        forNode(destination),
      ])
      assert.deepEqual(
        unspent.map((each) => [each.txid, String(Math.round(each.amount * 1e8))]),
        [[txid, net]],
      )
      assert.equal((Number(net) / 1e8).toFixed(8), Number(quote.data.net).toFixed(8))
    }
    await until('every event is delivered', async () => receiver.received.length === 4)
    const proof = await beck('reconcile')
    assert.deepEqual(proof.differences, [], JSON.stringify(proof))
    await running.stop()
  })
})
