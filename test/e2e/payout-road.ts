/**
 * The road of a withdrawal on a real node: signer, payer and watcher take turns by hand.
 */
import assert from 'node:assert/strict'
import { createBitcoinChain } from '../../src/chains/bitcoin/bitcoin-chain.ts'
import type { BitcoinLike } from '../../src/chains/bitcoin/networks.ts'
import { SILENT } from '../../src/core/log.ts'
import { formatDecimal } from '../../src/core/money.ts'
import { requestWithdrawal } from '../../src/flows/withdrawals/request-withdrawal.ts'
import type { Payment } from '../../src/payments/payment.ts'
import type { Signer } from '../../src/signer/signer.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../src/withdrawals/withdrawals.sql.ts'
import { startNodeOf } from '../dressed-node.ts'
import type { Node } from '../litecoind.ts'
import type { NodeProxy } from '../node-proxy.ts'
import { payOnce, signAll, testSigner } from '../payouts.ts'
import { openRoad, type Road } from './road.ts'

/** Confirmations of deposits and withdrawals. */
const PAYOUT_DEPTH = { bitcoin: 2, litecoin: 6 } as const
const ASSETS = { bitcoin: 'BTC', litecoin: 'LTC' } as const

export interface PayoutRoad extends Road {
  readonly node: Node
  /** What Beck talks to. */
  readonly proxy: NodeProxy
  readonly signer: Signer
  readonly asset: 'BTC' | 'LTC'
  readonly depth: number
  /** Payments of these dollars, paid together and completed: each gives the signer a coin. */
  earn(...dollars: readonly bigint[]): Promise<Payment[]>
  /** Pays payments as a buyer does, in one transaction. */
  pay(...payments: readonly Payment[]): Promise<string>
  /** Mines a block that pays its reward to an address. */
  mineTo(address: string): Promise<void>
  /** A fresh address of somebody else's wallet: `bech32` unless told `legacy` or `p2sh-segwit`. */
  stranger(kind?: string): Promise<string>
  request(atoms: bigint, destination: string): Promise<Withdrawal>
  sign(): Promise<void>
  /** The payer's turn, and the watcher's. */
  send(): Promise<void>
  /** Signs, sends and follows. */
  turn(): Promise<void>
  /** Mines and takes a turn. */
  mine(count: number): Promise<void>
  now(withdrawal: Withdrawal): Promise<Withdrawal>
  /** What waits in the node's mempool. */
  waiting(): Promise<string[]>
  raw(txid: string): Promise<string>
  /** Signed transactions of the replacement set that a withdrawal is paid by, the oldest first. */
  replacementSet(withdrawal: Withdrawal): Promise<{ txid: string; kind: string; status: string }[]>
  /** How much a transaction in a block pays an address, output by output. */
  paid(txid: string, address: string): Promise<bigint[]>
  /** Types of the events about a withdrawal. */
  announced(withdrawal: Withdrawal): Promise<string[]>
  /** Atoms that could be spent now, by the coins' places. */
  spendable(): Promise<Map<string, bigint>>
}

export async function payoutRoad(chain: BitcoinLike): Promise<PayoutRoad> {
  const { node, proxy, forNode, forBeck } = await startNodeOf(chain)
  const { rpcUrl } = proxy
  const road = await openRoad(createBitcoinChain({ chain, network: node.network, rpcUrl, log: SILENT }))
  const { gateway, port, account } = road
  const signer = await testSigner(gateway, [chain])
  const [asset, depth] = [ASSETS[chain], PAYOUT_DEPTH[chain]]
  await payOnce(gateway, port)

  const payouts: PayoutRoad = {
    ...road,
    node,
    proxy,
    signer,
    asset,
    depth,
    async earn(...dollars) {
      const payments: Payment[] = []
      for (const each of dollars) payments.push(await road.create(asset, each))
      await payouts.pay(...payments)
      await node.mine(depth)
      await road.follow()
      for (const payment of payments) assert.equal((await road.show(payment)).status, 'completed')
      return payments
    },
    pay: (...payments) =>
      node.pay(payments.map(({ address, dueAtoms }) => [forNode(address), formatDecimal(dueAtoms, 8)])),
    async mineTo(address) {
      await node.call('generatetoaddress', 1, forNode(address))
      node.forget()
    },
    stranger: async (kind = 'bech32') => forBeck(await node.call<string>('getnewaddress', '', kind)),
    request: (atoms, destination) =>
      gateway.db.transaction((tx) =>
        requestWithdrawal(gateway, tx, account, {
          asset,
          amount: formatDecimal(atoms, 8),
          destination,
          askedBy: 'unknown',
        }),
      ),
    sign: () => signAll(signer),
    async send() {
      await payOnce(gateway, port)
      await road.follow()
    },
    async turn() {
      await payouts.sign()
      await payouts.send()
    },
    async mine(count) {
      await node.mine(count)
      await road.follow()
      await payouts.turn()
    },
    async now({ accountId, id }) {
      const found = await findWithdrawal(gateway.db, accountId, id)
      assert.ok(found)
      return found
    },
    waiting: () => node.call<string[]>('getrawmempool'),
    async raw(txid) {
      const { rows } = await gateway.db.query<{ raw: string }>(
        'select raw from signed_transactions where txid = $1',
        [txid],
      )
      assert.ok(rows[0])
      return rows[0].raw
    },
    async replacementSet({ accountId, id }) {
      const { rows } = await gateway.db.query<{ txid: string; kind: string; status: string }>(
        `select t.txid, t.kind, t.status from signed_transactions t
         join signed_payouts p on p.chain = t.chain and p.replacement_set = t.replacement_set
         where p.account_id = $1 and p.withdrawal_id = $2 order by t.created_at`,
        [accountId, id],
      )
      return rows
    },
    async paid(txid, address) {
      const script = await scriptOf(node, forNode(address))
      const { rows } = await gateway.db.query<{ height: bigint }>(
        'select spent_height as height from utxos where spent_by = $1',
        [txid],
      )
      const found = await port.findTransaction(txid, Number(rows[0]?.height ?? 0))
      assert.ok(found?.block, `${txid} is in no block`)
      const { transactions } = await port.readBlock(found.block.hash)
      return (transactions.find(({ key }) => key === txid)?.outputs ?? [])
        .filter(({ lookup }) => Buffer.from(lookup).toString('hex') === script)
        .map(({ atoms }) => atoms)
    },
    async announced({ accountId, id }) {
      const { rows } = await gateway.db.query<{ type: string }>(
        `select type from events where account_id = $1 and cause like 'withdrawal:' || $2 || ':%' order by created_at, id`,
        [accountId, id],
      )
      return rows.map((row) => row.type)
    },
    async spendable() {
      const { rows } = await gateway.db.query<{ place: string; atoms: bigint }>(
        `select txid || ':' || output_index as place, atoms from utxos
         where chain = $1 and block_height is not null and spent_by is null and reserved_by is null`,
        [chain],
      )
      return new Map(rows.map((row) => [row.place, row.atoms]))
    },
  }
  return payouts
}

async function scriptOf(node: Node, address: string): Promise<string> {
  const { scriptPubKey } = await node.call<{ scriptPubKey: string }>('validateaddress', address)
  return scriptPubKey
}
