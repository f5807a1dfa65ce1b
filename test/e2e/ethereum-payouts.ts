/** Withdrawals on a real Anvil with the real signer: each turn signs, sends, follows and looks, so nothing waits. */
import assert from 'node:assert/strict'
import type { Asset } from '../../src/core/assets.ts'
import { rehearsePayouts } from '../../src/flows/withdrawals/rehearse-payouts.ts'
import { requestWithdrawal } from '../../src/flows/withdrawals/request-withdrawal.ts'
import type { Payment } from '../../src/payments/payment.ts'
import type { Signer } from '../../src/signer/signer.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../src/withdrawals/withdrawals.sql.ts'
import { feeRates, payOnce, signAll, testSigner } from '../payouts.ts'
import { type EthereumRoad, type EthereumRoadOptions, ethereumRoad } from './ethereum-road.ts'

const ETHER = 10n ** 18n
/** From one block to the next. */
const BLOCK_SECONDS = 12
/** Rounds after which everything that can move has moved: gas, sweeps and payouts wait for each other's blocks. */
const ROUNDS_MAX = 60

export interface EthereumPayouts extends EthereumRoad {
  readonly signer: Signer
  readonly hotWallet: string
  /** A paid and completed payment of so many dollars. */
  pay(asset: Asset, dollars: bigint): Promise<Payment>
  /** The same; what it brought, in atoms. */
  earn(asset: Asset, dollars: bigint): Promise<bigint>
  request(asset: Asset, amount: string, destination: string): Promise<Withdrawal>
  now(withdrawal: Withdrawal): Promise<Withdrawal>
  /** Asks the node about what was requested, and signs it. */
  sign(): Promise<void>
  /** A node said a moment ago that it would succeed: what its receiver is since then nobody knows. */
  rehearsed(withdrawal: Withdrawal): Promise<Withdrawal>
  /** Signs, sends, follows and looks once, then proves the books. */
  turn(): Promise<void>
  /** Blocks, each seen before the next, with a turn after each: what a node was asked about is that much older. */
  mineAndTurn(count: number): Promise<void>
  /** Turns and blocks until nothing is under way. */
  finish(): Promise<void>
  /** A block with this base fee, seen; blocks after it ask for little less each. */
  setBaseFee(wei: bigint): Promise<void>
  /** Everything that was signed is this much older. */
  pass(minutes: number): Promise<void>
  /** How many `payout.completed` were announced for a withdrawal. */
  announced(withdrawal: Withdrawal): Promise<number>
  tokensOf(asset: 'USDC' | 'USDT', address: string): Promise<bigint>
}

export async function ethereumPayouts(options: EthereumRoadOptions = {}): Promise<EthereumPayouts> {
  const road = await ethereumRoad(options)
  const { anvil, gateway, account, port } = road
  const signer = await testSigner(gateway, ['ethereum'], {
    config: { tokens: { USDC: road.usdc, USDT: road.usdt } },
  })
  const hotWallet = signer.vault.get('ethereum')?.hotWallet.address
  assert.ok(hotWallet)
  await anvil.send({ to: hotWallet, value: 10n * ETHER })
  await road.confirm()
  await payOnce(gateway, port)

  const payouts: EthereumPayouts = {
    ...road,
    signer,
    hotWallet,
    async pay(asset, dollars) {
      // Nothing is quoted on a view of the chain that is some seconds old.
      await road.follow()
      const payment = await road.create(asset, dollars)
      if (asset === 'ETH') await anvil.send({ to: payment.address, value: payment.dueAtoms })
      else
        await anvil.call(asset === 'USDC' ? road.usdc : road.usdt, 'transfer', [
          payment.address,
          payment.dueAtoms,
        ])
      await road.confirm()
      assert.equal((await road.show(payment)).status, 'completed')
      return payment
    },
    earn: async (asset, dollars) => (await payouts.pay(asset, dollars)).dueAtoms,
    request: (asset, amount, destination) =>
      gateway.db.transaction((tx) =>
        requestWithdrawal(gateway, tx, account, { asset, amount, destination, askedBy: 'unknown' }),
      ),
    async now({ accountId, id }) {
      const found = await findWithdrawal(gateway.db, accountId, id)
      assert.ok(found)
      return found
    },
    async sign() {
      await rehearsePayouts(gateway, port, await feeRates(gateway, port))
      await signAll(signer)
    },
    async rehearsed(withdrawal) {
      await gateway.db.query(
        "update withdrawals set rehearsal = 'succeeds', rehearsed_gas = 0, rehearsed_at = now() where account_id = $1 and id = $2",
        [withdrawal.accountId, withdrawal.id],
      )
      return withdrawal
    },
    async turn() {
      await payouts.sign()
      await payOnce(gateway, port)
      await road.follow()
      await road.prove()
    },
    async mineAndTurn(count) {
      for (let block = 0; block < count; block++) {
        await anvil.mine()
        await gateway.db.query(
          `update withdrawals set rehearsed_at = rehearsed_at - $1 * interval '1 second' where status = 'requested'`,
          [BLOCK_SECONDS],
        )
        await road.follow()
        await payouts.turn()
      }
    },
    async finish() {
      for (let round = 0; round < ROUNDS_MAX; round++) {
        await payouts.mineAndTurn(1)
        const { rows } = await gateway.db.query<{ open: bigint }>(
          `select (select count(*) from withdrawals where status in ('requested', 'broadcast'))
             + (select count(*) from sweeps where status not in ('done', 'failed'))
             + (select count(*) from signed_transactions where status not in ('confirmed', 'reverted', 'displaced', 'impossible')) as open`,
        )
        if (rows[0]?.open === 0n) return
      }
      const { rows } = await gateway.db.query(
        `select txid, kind, refusal, block_height from signed_transactions
         where status not in ('confirmed', 'reverted', 'displaced', 'impossible')`,
      )
      assert.fail(
        `something is still under way: ${JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value))}`,
      )
    },
    async setBaseFee(wei) {
      await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`])
      await anvil.mine()
      await road.follow()
    },
    async pass(minutes) {
      await gateway.db.query(
        `update signed_transactions set created_at = created_at - $1::bigint * interval '1 minute',
           send_at = send_at - $1::bigint * interval '1 minute'`,
        [minutes],
      )
    },
    async announced(withdrawal) {
      const { rowCount } = await gateway.db.query(
        `select from events where account_id = $1 and type = 'payout.completed'
           and cause = 'withdrawal:' || $2 || ':completed'`,
        [withdrawal.accountId, withdrawal.id],
      )
      return rowCount
    },
    async tokensOf(asset, address) {
      const held = await port.holdings({ outpoints: [], addresses: [address] })
      return held[asset] ?? 0n
    },
  }
  return payouts
}
