/** Tells stories of withdrawals on a simulated chain in memory: signer, payer and watcher take turns. */
import assert from 'node:assert/strict'
import type { SimulatedChainName } from '../src/chains/simulated/network.ts'
import type { Asset } from '../src/core/assets.ts'
import { requestWithdrawal } from '../src/flows/withdrawals/request-withdrawal.ts'
import { wishBump } from '../src/treasury/signed-transactions.sql.ts'
import type { Withdrawal } from '../src/withdrawals/withdrawal.ts'
import { findWithdrawal } from '../src/withdrawals/withdrawals.sql.ts'
import { testPayment } from './gateway.ts'
import { payOnce, signAll, testSigner } from './payouts.ts'
import { tellStory } from './story.ts'

export const DESTINATIONS = {
  'sim-bitcoin': 'tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx',
  'sim-litecoin': 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
  'sim-ethereum': '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
} as const
export const PAYOUT_CONFIRMATIONS = { 'sim-bitcoin': 2, 'sim-litecoin': 6, 'sim-ethereum': 12 } as const

export type PayoutStory = Awaited<ReturnType<typeof tellPayouts>>

export async function tellPayouts(chain: SimulatedChainName) {
  const story = await tellStory({ chain })
  const { gateway, account, port } = story
  const signer = await testSigner(gateway, [chain])
  const turn = async () => {
    await signAll(signer)
    await payOnce(gateway, port)
    await story.look()
  }
  const request = (asset: Asset, amount: string, destination: string = DESTINATIONS[chain]) =>
    gateway.db.transaction((tx) =>
      requestWithdrawal(gateway, tx, account, { asset, amount, destination, askedBy: 'unknown' }),
    )
  const now = async ({ accountId, id }: Withdrawal): Promise<Withdrawal> => {
    const found = await findWithdrawal(gateway.db, accountId, id)
    assert(found)
    return found
  }
  /** A bump of what pays a withdrawal, signed and sent. @returns The id that the withdrawal shows then. */
  const bump = async (withdrawal: Withdrawal): Promise<string> => {
    const { rows } = await gateway.db.query<{ replacement_set: string }>(
      'select replacement_set from signed_payouts where withdrawal_id = $1',
      [withdrawal.id],
    )
    assert(rows[0] && (await wishBump(gateway.db, chain, rows[0].replacement_set)))
    await turn()
    const { txHash } = await now(withdrawal)
    assert(txHash)
    return txHash
  }
  await payOnce(gateway, port)
  return {
    ...story,
    signer,
    turn,
    /** A turn of the payer alone, while the signer is away. */
    turnPayer: () => payOnce(gateway, port),
    async earn(asset: Asset, fiatMinor: bigint) {
      const payment = await testPayment(gateway, account, { asset, fiatMinor })
      await story.pay(payment, payment.dueAtoms)
      await story.mine(PAYOUT_CONFIRMATIONS[chain])
      await story.look()
      assert.equal((await story.read(payment)).status, 'completed')
    },
    request,
    now,
    /** A withdrawal that is signed and sent. */
    async send(asset: Asset, amount: string) {
      const withdrawal = await request(asset, amount)
      await turn()
      const { txHash } = await now(withdrawal)
      assert(txHash, 'it is sent')
      return { withdrawal, txHash }
    },
    bump,
    /** Blocks that the watcher sees, and what follows from them. */
    async mineAndTurn(count: number) {
      await story.mine(count)
      await story.look()
      await turn()
    },
    /** What a database restored from a backup taken after the requests looks like: nothing of what was signed. */
    async forgetSigned() {
      for (const statement of FORGETTING) await gateway.db.query(statement)
    },
    /** The same of a backup taken between a payout and a bump that followed: the payout alone is known. @returns The bump. */
    async forgetBump(withdrawal: Withdrawal, payout: string) {
      const forgotten = await bump(withdrawal)
      assert.notEqual(forgotten, payout)
      await gateway.db.query('delete from utxos where txid = $1', [forgotten])
      await gateway.db.query('delete from signed_transactions where txid = $1', [forgotten])
      await gateway.db.query('update withdrawals set tx_hash = $1 where id = $2', [payout, withdrawal.id])
      return forgotten
    },
    async outputsOf(txid: string) {
      const found = await port.findTransaction(txid)
      assert(found?.block)
      const block = await port.readBlock(found.block.hash)
      return block.transactions.find((transaction) => transaction.key === txid)?.outputs ?? []
    },
  }
}

const FORGETTING = [
  `update withdrawals set status = 'requested', tx_hash = null, broadcast_at = null, completed_at = null, signing_since = null`,
  `update nonces n set next = t.nonce from signed_transactions t join signed_payouts p on p.chain = t.chain and p.replacement_set = t.replacement_set
   where n.chain = t.chain and n.sender = t.sender`,
  `update utxos c set reserved_by = null from signed_payouts p where p.chain = c.chain and p.replacement_set = c.reserved_by`,
  'delete from utxos where block_height is null',
  `with forgotten as (delete from signed_payouts returning chain, replacement_set)
   delete from signed_transactions t using forgotten f where t.chain = f.chain and t.replacement_set = f.replacement_set`,
]
