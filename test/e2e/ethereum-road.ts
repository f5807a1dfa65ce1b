/** A gateway with a live account on a real Anvil: its watcher and settler are stepped by hand, so nothing waits. */
import assert from 'node:assert/strict'
import { createEthereumChain } from '../../src/chains/ethereum/ethereum-chain.ts'
import type { Asset } from '../../src/core/assets.ts'
import { SILENT } from '../../src/core/log.ts'
import { takeLease } from '../../src/deposits/chain-view.sql.ts'
import { createPayment } from '../../src/flows/create-payment.ts'
import { meetChain, observeChain } from '../../src/flows/observe-chain.ts'
import { readPayment } from '../../src/flows/read-payment.ts'
import { reconcile } from '../../src/flows/reconcile.ts'
import type { Payment } from '../../src/payments/payment.ts'
import type { PaymentView } from '../../src/payments/payment-view.ts'
import { settleNext } from '../../src/workers/settle.ts'
import { type Anvil, type AnvilOptions, startAnvil } from '../anvil.ts'
import { type TestGateway, testAccount, testGateway } from '../gateway.ts'

/** Confirmations of ether and tokens. */
const CONFIRMATIONS = 12

export interface EthereumRoad {
  readonly anvil: Anvil
  readonly gateway: TestGateway
  readonly usdc: string
  readonly usdt: string
  /** A payment of 25 dollars unless told: 0.01 ether, or 25 of a stablecoin. */
  create(asset: Asset, dollars?: bigint): Promise<Payment>
  /** Lets the watcher reach the node's tip and the settler decide about everything that is due. */
  follow(): Promise<void>
  /** Mines until what was sent is confirmed, and follows. */
  confirm(): Promise<void>
  show(payment: Payment): Promise<PaymentView>
  /** Types of the events about a payment, oldest first. */
  events(payment: Payment): Promise<string[]>
  /** A balance of the merchant in atoms. */
  balance(asset: Asset, kind: 'available' | 'unresolved'): Promise<bigint>
  /** The books agree with themselves and with the chain. */
  prove(): Promise<void>
}

export async function ethereumRoad(options: AnvilOptions = {}): Promise<EthereumRoad> {
  const anvil = await startAnvil(options)
  const usdc = await anvil.deploy('UsdCoin')
  const usdt = await anvil.deploy('TetherToken')
  const gateway = await testGateway({ freshPerChain: 80 })
  const account = await testAccount(gateway, 'live')
  const port = createEthereumChain({
    rpcUrl: anvil.url,
    network: 'dev',
    usdcContract: usdc,
    usdtContract: usdt,
    log: SILENT,
  })
  await meetChain(gateway, port)
  const lease = await takeLease(gateway.db, 'ethereum', 'test')
  assert.ok(lease)

  const road: EthereumRoad = {
    anvil,
    gateway,
    usdc,
    usdt,
    create: (asset, dollars = 25n) =>
      gateway.db.transaction((tx) =>
        createPayment(gateway, tx, account, {
          asset,
          fiatMinor: dollars * 100n,
          fiatCurrency: 'USD',
          reference: null,
          customerEmail: null,
          metadata: null,
        }),
      ),
    async follow() {
      while ((await observeChain(gateway, port, lease)).behind);
      while (await settleNext(gateway));
    },
    async confirm() {
      await anvil.mine(CONFIRMATIONS)
      await road.follow()
    },
    async show(payment) {
      const view = await readPayment(gateway.db, payment.accountId, payment.id)
      assert.ok(view)
      return view
    },
    async events(payment) {
      const { rows } = await gateway.db.query<{ type: string }>(
        `select type from events where account_id = $1 and cause like 'payment:' || $2 || ':%' order by created_at, id`,
        [payment.accountId, payment.id],
      )
      return rows.map((row) => row.type)
    },
    async balance(asset, kind) {
      const { rows } = await gateway.db.query<{ atoms: bigint }>(
        'select atoms from balances where account_id = $1 and asset = $2 and kind = $3',
        [account.id, asset, kind],
      )
      return rows[0]?.atoms ?? 0n
    },
    async prove() {
      const proof = await reconcile(gateway.db, [port])
      assert.deepEqual(proof.differences, [])
      assert.ok(proof.holdings.length > 0)
    },
  }
  await road.follow()
  return road
}
