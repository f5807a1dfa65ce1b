/** Nothing is left but the 24 words and a node: every coin is found again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEther } from 'viem'
import { createBitcoinChain } from '../../src/chains/bitcoin/bitcoin-chain.ts'
import type { ChainPort } from '../../src/chains/chain.ts'
import { takeLease } from '../../src/chains/chain-progress.sql.ts'
import { createEthereumChain } from '../../src/chains/ethereum/ethereum-chain.ts'
import type { ChainName } from '../../src/core/assets.ts'
import { SILENT } from '../../src/core/log.ts'
import { findFunds } from '../../src/flows/recovery/find-funds.ts'
import { bookCapital } from '../../src/flows/treasury/book-capital.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { type Branch, readAccountKey } from '../../src/wallets/derivation.ts'
import { startAnvil } from '../anvil.ts'
import { testDatabase } from '../database.ts'
import { startNodeOf } from '../dressed-node.ts'
import { testAccount, testPayment } from '../gateway.ts'
import { gatewayOn } from '../gateway-on.ts'
import { fillTestWallets, TEST_SECRETS, testMode, testXpub } from '../wallet.ts'

const GAP = 20

/** Wallets of the words, and nothing else. */
async function emptyGateway(chain: ChainName) {
  const db = await testDatabase()
  await fillTestWallets(db, { chains: [chain], freshPerChain: 4 })
  return gatewayOn(db, TEST_SECRETS)
}

const addressAt = (chain: ChainName, branch: Branch, position: bigint): string =>
  readAccountKey(chain, testMode(chain), testXpub(chain)).derive(branch, position).address

for (const chain of ['bitcoin', 'litecoin'] as const) {
  test(`${chain}: coins of deposits and change are found beyond gaps, become capital, and the books agree`, {
    timeout: 240_000,
  }, async () => {
    const { node, proxy, forNode } = await startNodeOf(chain)
    const places = [
      [0, 3n, '1.5'],
      [0, 19n, '0.25'],
      [0, 38n, '2'],
      [1, 7n, '0.125'],
    ] as const
    for (const [branch, position, amount] of places)
      await node.pay([[forNode(addressAt(chain, branch, position)), amount]])
    await node.mine(6)

    const gateway = await emptyGateway(chain)
    const { db } = gateway
    const { rpcUrl } = proxy
    const port = createBitcoinChain({ chain, network: node.network, rpcUrl, log: SILENT })
    const { finds, recorded } = await findFunds(gateway, [port], GAP)
    assert.deepEqual(
      finds.map(({ path, atoms, address }) => [path, String(atoms), address]).sort(),
      places
        .map(([branch, position, amount]) => [
          `m/84'/1'/0'/${branch}/${position}`,
          String(Math.round(Number(amount) * 1e8)),
          addressAt(chain, branch, position),
        ])
        .sort(),
    )
    assert.deepEqual(recorded, { [chain]: 4 })
    assert.deepEqual((await findFunds(gateway, [port], GAP)).recorded, {}, 'a second search adds nothing')

    await bookCapital(gateway, chain)
    const { differences, compared } = await reconcile(db, [port])
    assert.deepEqual([differences, compared], [[], [chain]])
    const { rows } = await db.query<{ atoms: bigint }>(
      `select sum(amount_atoms) as atoms from transfers where credit = 'capital'`,
    )
    assert.equal(rows[0]?.atoms, 387_500_000n)

    // What was handed out before the loss is watched, and handed out to nobody.
    const lease = await takeLease(db, chain, 'test')
    assert(lease)
    while ((await observeChain(gateway, port, lease)).behind);
    await fillTestWallets(db, { chains: [chain], freshPerChain: 4 })
    const payment = await testPayment(gateway, await testAccount(gateway, 'live'), {
      asset: chain === 'bitcoin' ? 'BTC' : 'LTC',
    })
    const lost = Array.from({ length: 39 + GAP }, (_, position) => addressAt(chain, 0, BigInt(position)))
    assert.ok(!lost.includes(payment.address))
    await port.close()
  })
}

test('ethereum: ether and tokens are found at the addresses that hold them', {
  timeout: 120_000,
}, async () => {
  const anvil = await startAnvil()
  const [usdcContract, usdtContract] = [await anvil.deploy('UsdCoin'), await anvil.deploy('TetherToken')]
  const port = createEthereumChain({
    rpcUrl: anvil.url,
    network: 'dev',
    usdcContract,
    usdtContract,
    log: SILENT,
  })
  await anvil.send({ to: addressAt('ethereum', 0, 2n), value: parseEther('1.25') })
  await anvil.send({ to: addressAt('ethereum', 1, 0n), value: parseEther('3') })
  await anvil.call(usdcContract, 'transfer', [addressAt('ethereum', 0, 21n), 5_000_000n])
  await anvil.send({ to: addressAt('ethereum', 0, 41n), value: parseEther('0.5') })
  await anvil.mine(1)
  // The chain goes on while it is searched.
  const moving: ChainPort = {
    ...port,
    async findFunds(lookups) {
      const found = await port.findFunds?.(lookups)
      await anvil.mine(1)
      return found ?? assert.fail('it can be searched')
    },
  }
  const { finds } = await findFunds(await emptyGateway('ethereum'), [moving], GAP)
  assert.deepEqual(
    finds.map(({ path, asset, atoms }) => `${path} ${asset} ${atoms}`).sort(),
    [
      "m/44'/1'/0'/0/2 ETH 1250000000000000000",
      "m/44'/1'/0'/0/21 USDC 5000000",
      "m/44'/1'/0'/0/41 ETH 500000000000000000",
      "m/44'/1'/0'/1/0 ETH 3000000000000000000",
    ].sort(),
  )
  await port.close()
})
