/**
 * Ethereum as its operator runs it: one process and its signer on a real node, set up and asked with the command line and
 * the API alone. Beck is killed while deposits are swept and payouts are on their way; the next start goes on.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startAnvil } from '../anvil.ts'
import { type Answer, startReceiver } from '../installation.ts'
import { liveInstallation } from '../live-installation.ts'
import { until } from '../wait-for.ts'

const ETHER = 10n ** 18n
const anvil = await startAnvil()
const tokens = { USDC: await anvil.deploy('UsdCoin'), USDT: await anvil.deploy('TetherToken') }
const { start, beck, openAccount } = await liveInstallation({
  ETHEREUM_RPC_URL: anvil.url,
  ETHEREUM_WS_URL: anvil.wsUrl,
  ETHEREUM_NETWORK: 'dev',
  USDC_CONTRACT: tokens.USDC,
  USDT_CONTRACT: tokens.USDT,
  BECK_CONFIRMATIONS: 'ETH=3,USDC=3,USDT=3',
  BECK_SIGNER_LIMITS: 'ETH=tx:1,day:5;USDC=tx:1000,day:5000;USDT=tx:1000',
})

it('a gateway takes, sweeps and pays out ether, USDC and USDT, killed on the way', {
  timeout: 300_000,
}, async () => {
  let running = await start()
  const call = await openAccount()
  /** Blocks come until it is so, as they do. */
  const untilMined = (what: string, isSo: () => Promise<boolean>) =>
    until(what, async () => {
      await anvil.mine()
      return isSo()
    })
  await beck('wallet', 'init')
  const { wallets } = await beck('wallet', 'show')
  const hotWallet = wallets.find((wallet: Answer) => wallet.chain === 'ethereum').hot_wallet
  await anvil.send({ to: hotWallet, value: ETHER })
  await anvil.mine()
  const { findings } = await beck('doctor')
  const gas = findings.find((finding: Answer) => finding.about === 'ethereum hot wallet')
  assert.equal(gas.state, 'fine')
  assert.match(gas.message, new RegExp(`${hotWallet} holds 1 ETH, gas for \\d{3,} token payouts`))
  const receiver = await startReceiver()
  const events = ['payment.completed', 'payout.completed']
  const endpoint = await call('POST', '/webhooks', { url: receiver.url, events })
  receiver.useSecret(endpoint.data.secret)

  const paid = ['ETH', 'USDC', 'USDC', 'USDC', 'USDT', 'USDT'] as const
  const ids: string[] = []
  for (const asset of paid) {
    const order = { asset, fiat_amount: 200 }
    let created = await call('POST', '/payments', order)
    await untilMined('the wallet is picked up', async () => {
      if (created.status !== 201) created = await call('POST', '/payments', order)
      return created.status === 201
    })
    const { id, deposit } = created.data
    const atoms = BigInt(deposit.expected_amount_atoms)
    if (asset === 'ETH') await anvil.send({ to: deposit.address, value: atoms })
    else await anvil.call(tokens[asset], 'transfer', [deposit.address, atoms])
    ids.push(id)
  }
  const payments = () =>
    Promise.all(ids.map(async (id) => (await call('GET', `/payments/${id}`)).data.status))
  await untilMined('every payment is completed', async () =>
    (await payments()).every((status) => status === 'completed'),
  )

  const destination = (anvil.accounts[8] ?? '').toLowerCase()
  const etherBefore = await anvil.balance(destination)
  const asked: { id: string; asset: 'ETH' | 'USDC' | 'USDT'; net: bigint }[] = []
  for (const [asset, amount] of [
    ['ETH', '0.05'],
    ['USDC', '500'],
    ['USDT', '390'],
  ] as const) {
    const order = { asset, amount, destination_address: destination }
    const before = await call('POST', '/withdrawals/quote', order)
    const { status, data } = await call('POST', '/withdrawals', order)
    const after = await call('POST', '/withdrawals/quote', order)
    assert.deepEqual([before.status, status, after.status], [200, 201, 200])
    // The gas price is asked anew every few seconds: it may change once in between.
    const net = decimal(BigInt(data.net_atoms), asset === 'ETH' ? 18 : 6)
    assert.ok(
      [before.data.net, after.data.net].includes(net),
      `${net} of ${before.data.net} or ${after.data.net}`,
    )
    asked.push({ id: data.id, asset, net: BigInt(data.net_atoms) })
  }
  for (let death = 0; death < 3; death++) {
    await anvil.mine()
    running.child.kill('SIGKILL')
    await running.ended
    running = await start()
  }
  await untilMined('every withdrawal is completed', async () => {
    const { data } = await call('GET', '/withdrawals')
    return data.every((withdrawal: Answer) => withdrawal.status === 'completed')
  })
  for (const { asset, net } of asked) {
    const has =
      asset === 'ETH' ? (await anvil.balance(destination)) - etherBefore : await tokensOf(tokens[asset])
    assert.equal(has, net)
  }
  const expected = paid.length + asked.length
  await until(
    'every event is delivered',
    async () => new Set(receiver.received.map(({ id }) => id)).size === expected,
  )
  const proof = await beck('reconcile')
  assert.deepEqual(proof.differences, [], JSON.stringify(proof))
  await running.stop()

  async function tokensOf(contract: string): Promise<bigint> {
    const data = `0x70a08231${destination.slice(2).padStart(64, '0')}`
    return BigInt(await anvil.rpc<string>('eth_call', [{ to: contract, data }, 'latest']))
  }
})

/** As the API writes amounts. */
function decimal(atoms: bigint, decimals: number): string {
  const digits = String(atoms).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '')
}
