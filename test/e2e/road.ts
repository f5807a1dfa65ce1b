/** A gateway with a live account on a real chain: its watcher and settler are stepped by hand, so nothing waits. */
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Account } from '../../src/accounts/account.ts'
import type { ChainPort } from '../../src/chains/chain.ts'
import {
  findChainProgress,
  type Lease,
  releaseLease,
  takeLease,
} from '../../src/chains/chain-progress.sql.ts'
import type { Asset } from '../../src/core/assets.ts'
import { SECOND_MS } from '../../src/core/time.ts'
import type { Gateway } from '../../src/flows/gateway.ts'
import { readPayment } from '../../src/flows/payments/read-payment.ts'
import { checkEther } from '../../src/flows/watching/check-ether.ts'
import { meetChain, observeChain } from '../../src/flows/watching/observe-chain.ts'
import type { Payment } from '../../src/payments/payment.ts'
import type { PaymentResource } from '../../src/payments/payment-resource.ts'
import { proveBlock } from '../../src/proof/prove-block.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import { settleNext } from '../../src/workers/settle.ts'
import { type TestGateway, testAccount, testGateway, testPayment } from '../gateway.ts'

export interface Road {
  readonly gateway: TestGateway
  readonly account: Account
  readonly port: ChainPort
  /** A payment of 25 dollars unless told. */
  create(asset: Asset, dollars?: bigint): Promise<Payment>
  /** Lets the watcher reach the node's tip and the settler decide about everything that is due. */
  follow(): Promise<void>
  /** The lead that it watches the chain by. */
  readonly lease: Lease
  /** Gives up the lead of the chain, so that a watcher's loop can take it. No `follow` after that. */
  release(): Promise<void>
  show(payment: Payment): Promise<PaymentResource>
  /** Ends the payment's window now. */
  endWindow(payment: Payment): Promise<void>
  /** The payment's status, and its deposits' in the order they were seen. */
  statusOf(payment: Payment): Promise<readonly [string, readonly string[]]>
  /** Types of the events about a payment, oldest first. */
  events(payment: Payment): Promise<string[]>
  /** A balance of the merchant in atoms. */
  balance(asset: Asset, kind: 'available' | 'held' | 'unresolved'): Promise<bigint>
  /** The books agree with themselves and with the chain. */
  prove(): Promise<void>
}

export async function openRoad(
  port: ChainPort,
  settings: Pick<Gateway['settings'], 'confirmations'> = { confirmations: {} },
): Promise<Road> {
  const quiet = await testGateway({ freshPerChain: 80 })
  const gateway = { ...quiet, settings: { ...quiet.settings, ...settings } }
  const account = await testAccount(gateway, 'live')
  await meetChain(gateway, port)
  const lease = await takeLease(gateway.db, port.chain, 'test')
  assert.ok(lease)

  const road: Road = {
    gateway,
    account,
    port,
    async create(asset, dollars = 25n) {
      // Nothing is quoted on an old view; a watcher that runs looks every second, and a busy machine tells slowly.
      const progress = await findChainProgress(gateway.db, port.chain)
      if (!progress?.polledAt || Date.now() - progress.polledAt.getTime() > 5_000) await road.follow()
      return testPayment(gateway, account, { asset, fiatMinor: dollars * 100n })
    },
    async follow() {
      while ((await observeChain(gateway, port, lease)).behind);
      while (await checkEther(gateway, port, lease));
      while (await settleNext(gateway));
    },
    lease,
    release: () => releaseLease(gateway.db, lease),
    async show(payment) {
      const progress = await readPayment(gateway, gateway.db, payment.accountId, payment.id)
      assert.ok(progress)
      return progress
    },
    async endWindow({ accountId, id }) {
      await gateway.db.query(
        'update payments set expires_at = clock_timestamp() where account_id = $1 and id = $2',
        [accountId, id],
      )
      // Blocks are dated in whole seconds: one of this second would still be in time.
      await setTimeout(SECOND_MS - (Date.now() % SECOND_MS))
    },
    async statusOf(payment) {
      const { status, deposits } = await road.show(payment)
      // What is first seen in its block has the block's time, in whole seconds: it may stand before what it replaced.
      const isReplaced = (deposit: { status: string }) => Number(deposit.status === 'replaced')
      const inOrder = deposits.toSorted((a, b) => isReplaced(b) - isReplaced(a))
      return [status, inOrder.map((deposit) => deposit.status)]
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
      assert.deepEqual([proof.differences, proof.unproven], [[], []])
      assert.ok(proof.holdings.length > 0)
      // What runs after every block sees nothing either: healthy books never freeze.
      assert.notEqual(await proveBlock(gateway, port), 'unlike')
    },
  }
  await road.follow()
  return road
}
