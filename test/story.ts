/** Tells stories of payments on a simulated chain in memory: the watcher's looks and the decisions, one after the other. */
import assert from 'node:assert/strict'
import type { Account } from '../src/accounts/account.ts'
import type { ChainPort } from '../src/chains/chain.ts'
import { type Lease, takeLease } from '../src/chains/chain-progress.sql.ts'
import { mine, mint, reorganise, replace } from '../src/chains/simulated/ledger.ts'
import { createMemoryStorage } from '../src/chains/simulated/memory.ts'
import { lookupOf, type SimulatedChainName } from '../src/chains/simulated/network.ts'
import { simulatedPort } from '../src/chains/simulated/simulated-chain.ts'
import { ASSET_FACTS, type Asset } from '../src/core/assets.ts'
import { readPayment } from '../src/flows/payments/read-payment.ts'
import { markWindowsOver } from '../src/flows/payments/windows-over.sql.ts'
import { checkEther } from '../src/flows/watching/check-ether.ts'
import { meetChain, observeChain } from '../src/flows/watching/observe-chain.ts'
import type { Payment } from '../src/payments/payment.ts'
import type { PaymentResource } from '../src/payments/payment-resource.ts'
import { proveBlock } from '../src/proof/prove-block.ts'
import { reconcile } from '../src/proof/reconcile.ts'
import { settleAll, settleNext } from '../src/workers/settle.ts'
import { type TestGateway, testAccount, testGateway, testPayment } from './gateway.ts'

export interface Story {
  readonly gateway: TestGateway
  readonly account: Account
  readonly port: ChainPort
  /** Of the chain, which the story leads. */
  readonly lease: Lease
  /** The chain itself. */
  readonly storage: ReturnType<typeof createMemoryStorage>
  /** Sends coins to a payment's address. @returns The txid. */
  pay(payment: Payment, atoms: bigint, asset?: Asset): Promise<string>
  /** The same, buried as deep as the coin asks, and looked at. */
  payAndConfirm(payment: Payment, atoms: bigint, asset?: Asset): Promise<string>
  mine(count: number): Promise<void>
  /** Takes blocks away; their transactions wait again. */
  reorganise(depth: number): Promise<void>
  replace(txid: string): Promise<boolean>
  /** The watcher looks until it has seen everything, and every decision that is due falls. */
  look(): Promise<void>
  /** Sees the chain without deciding about anything. */
  watch(): Promise<void>
  /** Ends the payment's window, as the database's clock would. */
  endWindow(payment: Payment): Promise<void>
  read(payment: Payment): Promise<PaymentResource>
  /** Types of the account's events, oldest first. */
  events(): Promise<string[]>
  balance(kind: 'available' | 'held' | 'unresolved'): Promise<bigint>
  /** Fails with every difference unless the books balance, within the database and with the chain. */
  proveBooks(): Promise<void>
}

export async function tellStory(
  options: { chain?: SimulatedChainName; freshPerChain?: number } = {},
): Promise<Story> {
  const { chain = 'sim-litecoin', ...ofGateway } = options
  const gateway = await testGateway(ofGateway)
  const account = await testAccount(gateway)
  const storage = createMemoryStorage({ chain, seed: 'story', now: () => Date.now() })
  await storage.change((store) => mine(store, 3))
  const port = simulatedPort(storage)
  await meetChain(gateway, port)
  const lease = await takeLease(gateway.db, chain, 'story')
  assert(lease)

  const story: Story = {
    gateway,
    account,
    port,
    storage,
    lease,
    pay: (payment, atoms, asset = payment.asset) => {
      const lookup = lookupOf(chain, payment.address)
      assert(lookup)
      return storage.change((store) => mint(store, { lookup, asset, atoms }))
    },
    payAndConfirm: async (payment, atoms, asset = payment.asset) => {
      const txid = await story.pay(payment, atoms, asset)
      await story.mine(ASSET_FACTS[asset].confirmations)
      await story.look()
      return txid
    },
    mine: async (count) => {
      await storage.change((store) => mine(store, count))
    },
    reorganise: async (depth) => {
      await storage.change((store) => reorganise(store, depth))
    },
    replace: (txid) => storage.change(async (store) => (await replace(store, txid)) !== null),
    look: () => lookAndDecide(gateway, port, lease),
    watch: async () => {
      while ((await observeChain(gateway, port, lease)).behind);
    },
    endWindow: async (payment) => {
      await gateway.db.query(
        // Looks are dated in milliseconds: one that begins in the same millisecond would not be past the end.
        `update payments set expires_at = clock_timestamp() - interval '1 millisecond'
         where account_id = $1 and id = $2 and expires_at > clock_timestamp()`,
        [account.id, payment.id],
      )
    },
    read: async (payment) => {
      const view = await readPayment(gateway, gateway.db, account.id, payment.id)
      assert(view)
      return view
    },
    events: async () => {
      const { rows } = await gateway.db.query<{ type: string }>(
        'select type from events where account_id = $1 order by created_at, id',
        [account.id],
      )
      return rows.map((row) => row.type)
    },
    balance: async (kind) => {
      const { rows } = await gateway.db.query<{ atoms: bigint }>(
        'select atoms from balances where account_id = $1 and kind = $2',
        [account.id, kind],
      )
      return rows[0]?.atoms ?? 0n
    },
    proveBooks: async () => {
      const { differences } = await reconcile(gateway.db, [port])
      // Stories move balances by entries of their own, with causes that no part of Beck writes.
      assert.deepEqual(
        differences.filter(({ subject }) => !subject?.startsWith('entry settlement test:')),
        [],
      )
      // What runs after every block sees nothing either: healthy books never freeze.
      assert.notEqual(await proveBlock(gateway, port), 'unlike')
    },
  }
  return story
}

async function lookAndDecide(gateway: TestGateway, port: ChainPort, lease: Lease): Promise<void> {
  while ((await observeChain(gateway, port, lease)).behind);
  while (await checkEther(gateway, port, lease));
  while (await settleNext(gateway));
  await gateway.db.transaction((tx) => markWindowsOver(tx, 100))
  while (await settleNext(gateway));
}

/** So many payments of one block are paid in full and settled by two workers at once; each is completed. */
export async function settleSideBySide(story: Story, count: number): Promise<void> {
  const { gateway, account } = story
  const payments = await Promise.all(Array.from({ length: count }, () => testPayment(gateway, account)))
  for (const payment of payments) await story.pay(payment, payment.dueAtoms)
  await story.mine(payments[0]?.requiredConfirmations ?? 0)
  await story.watch()
  const never = new AbortController().signal
  await Promise.all([settleAll(gateway, new Map(), never), settleAll(gateway, new Map(), never)])
  for (const payment of payments) assert.equal((await story.read(payment)).status, 'completed')
}
