/**
 * A gateway on a real Anvil whose database is lost and restored from its backup. What was signed since used nonces, and
 * moved coins that the restored database knows nothing of: the signer's journal gives it back.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { takeLease } from '../../src/chains/chain-progress.sql.ts'
import { writeBackup } from '../../src/cli/backup.ts'
import { readBackup } from '../../src/cli/restore.ts'
import type { Asset } from '../../src/core/assets.ts'
import { type Database, openDatabase } from '../../src/db/database.ts'
import { checkEther } from '../../src/flows/watching/check-ether.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import { requestWithdrawal } from '../../src/flows/withdrawals/request-withdrawal.ts'
import { reconcile, unfreeze } from '../../src/proof/reconcile.ts'
import { openJournal } from '../../src/signer/journal.ts'
import type { Withdrawal } from '../../src/withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../src/withdrawals/withdrawals.sql.ts'
import { settleNext } from '../../src/workers/settle.ts'
import { testDatabaseUrl } from '../database.ts'
import { gatewayOn } from '../gateway-on.ts'
import { payOnce, signAll, testSigner } from '../payouts.ts'
import { TEST_SECRETS } from '../wallet.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

const CONFIRMATIONS = 3

for (const [hardfork, how] of [
  ['cancun', 'each alone'],
  ['prague', 'in batches'],
] as const)
  for (const quicker of ['watcher', 'signer'] as const)
    describe(`a database restored to before sweeps ${how}, where the ${quicker} is quicker`, async () => {
      const payouts = await ethereumPayouts({ confirmations: CONFIRMATIONS, hardfork })

      it('knows them all again: the books agree, nothing is anybody else’s, and payouts go on', async () => {
        // The delegate is there and some sweeps were batched before; more deposits are booked and not swept yet.
        for (let count = 0; count < 2; count++) {
          await payouts.earn('USDC', 500n)
          await payouts.earn('USDT', 500n)
          if (count === 0) await payouts.finish()
        }
        await payouts.earn('ETH', 2_000n)
        const asked = await payouts.request('USDC', '300', stranger(1))
        const folder = join(await emptyFolder(), 'today')
        await writeBackup(payouts.gateway.db, await emptyFolder(), folder)

        // The backup knows nothing of these payments: what they brought is capital then, at addresses that are withheld.
        await payouts.earn('USDC', 700n)
        await payouts.earn('ETH', 1_000n)
        await payouts.finish()
        const paid = await payouts.now(asked)
        assert.equal(paid.status, 'completed')
        // One more is on its way when the database is lost, with all that waited in mempools.
        await payouts.mineAndTurn(2)

        const restored = await restore(payouts, folder)
        if (quicker === 'watcher') {
          await payouts.anvil.mine(CONFIRMATIONS)
          await restored.look()
          await restored.pay()
          await restored.look()
          // What it took for capital, and gas for deposits.
          const { rows } = await restored.db.query<{ capital: bigint; deposits: bigint }>(
            `select (select count(*) from journal_entries where kind = 'capital') as capital,
               (select count(*) from deposits where asset = 'ETH' and booked) as deposits`,
          )
          const [taken] = rows
          assert.ok(taken && taken.capital > 1n && (hardfork !== 'cancun' || taken.deposits > 1n))
        } else await restored.sign()
        for (let turn = 0; turn < 5; turn++) await restored.mineAndTurn()

        assert.deepEqual(await restored.differences(), [])
        const now = await restored.now(asked)
        assert.deepEqual([now.status, now.txHash], ['completed', paid.txHash])
        assert.deepEqual(await restored.signedSinceRestore(payouts), [], 'nothing new was signed')
        const { rows: gifts } = await restored.db.query(
          `select tx_key from deposits where chain = 'ethereum' and asset = 'ETH' and booked
             and tx_key in (select txid from signed_transactions)`,
        )
        assert.deepEqual(gifts, [])

        await restored.unfreezeAll()
        const next = await restored.request('USDT', '50', stranger(2))
        const ether = await restored.request('ETH', '0.1', stranger(3))
        for (let turn = 0; turn < 12; turn++) await restored.mineAndTurn()
        for (const withdrawal of [next, ether]) {
          assert.equal((await restored.now(withdrawal)).status, 'completed')
          const held = await payouts.port.holdings({ outpoints: [], addresses: [withdrawal.destination] })
          assert.equal(held[withdrawal.asset], withdrawal.netAtoms)
        }
        assert.deepEqual(await restored.differences(), [])
        const whole = await reconcile(restored.db, [payouts.port])
        assert.deepEqual([whole.unswept, whole.gifts], [[], []])
      })
    })

describe('a database restored to before a withdrawal was asked for', async () => {
  const payouts = await ethereumPayouts({ confirmations: CONFIRMATIONS })

  it('names the payout that left for it, and pays nothing of its coin until somebody looked', async () => {
    await payouts.earn('USDC', 500n)
    await payouts.finish()
    const folder = join(await emptyFolder(), 'today')
    await writeBackup(payouts.gateway.db, await emptyFolder(), folder)
    const lost = await payouts.request('USDC', '100', stranger(4))
    await payouts.finish()
    const { txHash } = await payouts.now(lost)

    const restored = await restore(payouts, folder)
    for (let turn = 0; turn < 6; turn++) await restored.mineAndTurn()
    const differences = await restored.differences()
    assert.deepEqual(
      differences.map(({ proof, asset, subject, expectedAtoms, foundAtoms }) => [
        proof,
        asset,
        subject,
        expectedAtoms - foundAtoms,
      ]),
      [
        ['values = payouts', 'USDC', `transaction ${txHash}`, -lost.netAtoms],
        ['books = blocks', 'USDC', null, lost.netAtoms],
      ],
    )
    const { lifted } = await unfreeze(restored.db, await reconcile(restored.db, [payouts.port]))
    assert.deepEqual(lifted.map(({ asset }) => asset).sort(), ['ETH', 'USDT'])
  })
})

const stranger = (number: number) => `0x${String(number).repeat(40)}`

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'beck-restored-'))
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 9 }))
  return folder
}

/** The gateway that comes back from a backup beside the same chain and the same signer's disk, all processes started anew. */
async function restore(
  { port, anvil, signer: before, gateway: lost, account }: EthereumPayouts,
  folder: string,
) {
  const db: Database = openDatabase({ url: await testDatabaseUrl({ template: null }) })
  after(() => db.close())
  await readBackup({ db, secrets: TEST_SECRETS }, { dataDir: await emptyFolder() }, folder, {
    chains: ['ethereum'],
    addressesAhead: 5,
  })
  await before.journal.close()
  const journal = await openJournal(join(before.config.folder, 'journal'))
  const gateway = { ...gatewayOn(db, TEST_SECRETS), settings: lost.settings }
  const fresh = await testSigner(gateway, ['ethereum'], { config: before.config })
  const signer = { ...fresh, journal }
  after(() => journal.close())
  await db.query('update chains set lease_until = now()')
  const lease = await takeLease(db, 'ethereum', 'restored')
  assert.ok(lease)
  const restored = {
    db,
    async look() {
      while ((await observeChain(gateway, port, lease)).behind);
      while (await checkEther(gateway, port, lease));
      while (await settleNext(gateway));
    },
    sign: () => signAll(signer),
    pay: () => payOnce(gateway, port),
    async mineAndTurn() {
      await anvil.mine()
      await restored.look()
      await restored.sign()
      await restored.pay()
      await restored.look()
    },
    differences: async () => (await reconcile(db, [port])).differences,
    async now({ accountId, id }: Withdrawal) {
      const found = await findWithdrawal(db, accountId, id)
      assert.ok(found)
      return found
    },
    request: (asset: Asset, amount: string, destination: string) =>
      gateway.db.transaction((tx) =>
        requestWithdrawal(gateway, tx, account, { asset, amount, destination, askedBy: 'unknown' }),
      ),
    async unfreezeAll() {
      const { lifted } = await unfreeze(db, await reconcile(db, [port]))
      assert.deepEqual(lifted.map(({ asset }) => asset).sort(), ['ETH', 'USDC', 'USDT'])
    },
    /** Signed transactions that the lost database did not have. */
    async signedSinceRestore(of: EthereumPayouts) {
      const { rows: known } = await of.gateway.db.query<{ txid: string }>(
        'select txid from signed_transactions',
      )
      const { rows } = await db.query<{ txid: string }>(
        'select txid from signed_transactions where txid <> all($1)',
        [known.map(({ txid }) => txid)],
      )
      return rows
    },
  }
  return restored
}
