/**
 * The words of a wallet may be known to others: it is replaced as docs/upkeep.md says, and the operator moves its coins to the
 * new hot wallet by hand, on a real Anvil. Beck signed none of that. Each transaction is booked, and the books agree again.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HDKey } from '@scure/bip32'
import type { Asset } from '../../src/core/assets.ts'
import { bookSpend } from '../../src/flows/recovery/book-spend.ts'
import { readOwnBalances } from '../../src/flows/withdrawals/request-own-payout.ts'
import { listFreezes } from '../../src/ledger/freezes.sql.ts'
import { proveBlock } from '../../src/proof/prove-block.ts'
import { reconcile, unfreeze } from '../../src/proof/reconcile.ts'
import { chainKeys } from '../../src/signer/vault.ts'
import { fillAddressPool } from '../../src/wallets/address-pool.sql.ts'
import { publishWallet } from '../../src/wallets/wallets.sql.ts'
import { payOnce, signAll } from '../payouts.ts'
import { TEST_SECRETS } from '../wallet.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

const ETHER = 10n ** 18n
const DEEP = 64
const OTHER_KEYS = chainKeys(HDKey.fromMasterSeed(Buffer.alloc(64, 3)), 'ethereum', 'regtest')
const NEW_HOT_WALLET = OTHER_KEYS.hotWallet.address
const stranger = (number: number) => `0x${String(number).repeat(40)}`

describe('a hot wallet that was replaced and emptied by hand', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway, port, hotWallet, usdc } = payouts
  const moved: { txid: string; asset: Asset; atoms: bigint }[] = []
  const sent = await sender(payouts, hotWallet)

  it('freezes its coins, for Beck did not sign it', async () => {
    await payouts.earn('ETH', 2_000n)
    await payouts.earn('USDC', 500n)
    await payouts.finish()
    await replaceWallet(payouts)

    const tokens = await payouts.tokensOf('USDC', hotWallet)
    const first = await anvil.call(usdc, 'transfer', [NEW_HOT_WALLET, tokens], { from: hotWallet })
    await anvil.mine()
    const ether = (await anvil.balance(hotWallet)) - ETHER / 10n
    moved.push({ txid: first, asset: 'USDC', atoms: tokens })
    moved.push({ txid: await sent(NEW_HOT_WALLET, ether), asset: 'ETH', atoms: ether })
    await settle(payouts, 6)
    assert.equal(await proveBlock(gateway, port), 'unlike')
    assert.deepEqual(await frozen(payouts), ['ETH', 'USDC'])
    for (const { txid } of moved) await assert.rejects(book(payouts, txid), { reason: 'spend_too_fresh' })
    await settle(payouts, DEEP)
    assert.equal((await unfreeze(gateway.db, await reconcile(gateway.db, [port]))).lifted.length, 0)
  })

  it('is booked transaction by transaction: only the gas is a cost, and nothing of it is capital', async () => {
    const before = await own(payouts)
    for (const { txid, asset, atoms } of moved) {
      const booked = await book(payouts, txid)
      assert.deepEqual(
        [booked.asset, booked.movedAtoms, booked.lossAtoms, booked.paid],
        [asset, atoms, 0n, []],
      )
    }
    assert.deepEqual((await reconcile(gateway.db, [port])).differences, [], 'the books agree at once')
    await settle(payouts, 1)
    await payouts.prove()
    const after = await own(payouts)
    for (const { asset, atoms } of moved)
      assert.equal(before[asset].capital - after[asset].capital, atoms, `${asset} is no capital`)
    assert.equal(after.ETH.networkFees - before.ETH.networkFees, await gasOf(payouts, moved))
    assert.deepEqual([after.ETH.loss, after.USDC.loss], [before.ETH.loss, before.USDC.loss])
    for (const { txid } of moved)
      for (const loss of [false, true])
        await assert.rejects(book(payouts, txid, loss), { reason: 'spend_known' }, 'once')
    await payouts.prove()
  })

  it('is free again, and the new one pays', async () => {
    const { lifted } = await unfreeze(gateway.db, await reconcile(gateway.db, [port]))
    assert.deepEqual(lifted.map(({ asset }) => asset).sort(), ['ETH', 'USDC'])
    const asked = [
      await payouts.request('USDC', '100', stranger(1)),
      await payouts.request('ETH', '0.1', stranger(2)),
    ]
    const signer = { ...payouts.signer, vault: new Map([['ethereum' as const, OTHER_KEYS]]) }
    for (let turn = 0; turn < 8; turn++) {
      await payOnce(gateway, port)
      await signAll(signer)
      await settle(payouts, 1)
    }
    for (const withdrawal of asked) {
      assert.equal((await payouts.now(withdrawal)).status, 'completed')
      assert.equal(
        (await port.holdings({ outpoints: [], addresses: [withdrawal.destination] }))[withdrawal.asset],
        withdrawal.netAtoms,
      )
    }
    await payouts.prove()
  })
})

describe('what somebody sent from the hot wallet by another program', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway, port, hotWallet, usdc, usdt } = payouts
  const sent = await sender(payouts, hotWallet)
  await payouts.earn('ETH', 2_000n)
  await payouts.earn('USDC', 500n)
  await payouts.finish()

  it('to a stranger is a loss, if the operator says so; what failed, or moved nothing, cost its gas', async () => {
    const gone = await sent(stranger(3), ETHER / 100n)
    const tokens = await anvil.call(usdc, 'transfer', [stranger(3), 7_000_000n], { from: hotWallet })
    const failed = await anvil.call(usdt, 'transfer', [stranger(3), 10n ** 15n], { from: hotWallet })
    const nothing = await sent(hotWallet, 0n)
    await anvil.mine()
    await settle(payouts, DEEP)
    assert.notDeepEqual((await reconcile(gateway.db, [port])).differences, [])
    const before = await own(payouts)
    for (const txid of [gone, tokens]) {
      await assert.rejects(book(payouts, txid), { reason: 'spend_not_asked_for' })
      await book(payouts, txid, true)
    }
    for (const txid of [failed, nothing]) {
      const { lossAtoms, movedAtoms } = await book(payouts, txid)
      assert.deepEqual([lossAtoms, movedAtoms], [0n, 0n])
    }
    assert.deepEqual((await reconcile(gateway.db, [port])).differences, [])
    await settle(payouts, 2)
    await payouts.prove()
    const after = await own(payouts)
    assert.equal(after.ETH.loss - before.ETH.loss, ETHER / 100n)
    assert.equal(after.USDC.loss - before.USDC.loss, 7_000_000n)
    const all = [gone, tokens, failed, nothing].map((txid) => ({ txid }))
    assert.equal(after.ETH.networkFees - before.ETH.networkFees, await gasOf(payouts, all))
    for (const txid of all) await assert.rejects(book(payouts, txid.txid, true), { reason: 'spend_known' })
  })

  it('to whom a withdrawal waits to pay, to the atom, completes it, unless it was asked for later', async () => {
    const asked = await payouts.request('USDC', '50', stranger(4))
    const { txid } = await byHand(asked.destination, asked.netAtoms)
    const date = (to: string) =>
      gateway.db.query(`update withdrawals set created_at = created_at ${to} where id = $1`, [asked.id])
    await date("+ interval '1 hour'")
    await assert.rejects(book(payouts, txid), { reason: 'spend_not_asked_for' })
    await date("- interval '2 hours'")
    const booked = await book(payouts, txid)
    assert.deepEqual([booked.paid, booked.lossAtoms], [[asked.id], 0n])
    await settle(payouts, 1)
    const completed = await payouts.now(asked)
    assert.deepEqual([completed.status, completed.txHash], ['completed', txid])
    await payouts.prove()
  })

  it('with the nonce of a payout that waits: the same completes it; another is booked once that is given up', async () => {
    for (const pays of ['the same', 'another'] as const) {
      const asked = await payouts.request('USDC', '20', stranger(5))
      await payouts.sign()
      const { txid } = await byHand(
        pays === 'the same' ? asked.destination : stranger(6),
        asked.netAtoms,
        await waitingNonce(),
      )
      if (pays === 'the same') assert.deepEqual((await book(payouts, txid)).paid, [asked.id])
      else {
        await assert.rejects(book(payouts, txid, true), { reason: 'spend_displaces' })
        await payouts.pass(11)
        await settle(payouts, 1)
        assert.equal((await payouts.now(asked)).status, 'failed')
        assert.equal((await book(payouts, txid, true)).lossAtoms, asked.netAtoms)
      }
      await settle(payouts, 2)
      if (pays === 'the same') assert.equal((await payouts.now(asked)).txHash, txid)
      await payouts.prove()
    }
  })

  it('to the address of a payment is its merchant’s, and a loss; of ether it is gas, and none of a buyer’s', async () => {
    const payment = await payouts.create('USDC', 5n)
    const tokens = await byHand(payment.address, payment.dueAtoms)
    const gas = await sent(payment.address, ETHER / 1_000n)
    await settle(payouts, DEEP)
    assert.equal((await payouts.show(payment)).status, 'completed')
    await assert.rejects(book(payouts, tokens.txid), { reason: 'spend_not_asked_for' })
    assert.equal((await book(payouts, tokens.txid, true)).lossAtoms, payment.dueAtoms)
    assert.equal((await book(payouts, gas)).gasAtoms, ETHER / 1_000n)
    for (let turn = 0; turn < 3; turn++) await settle(payouts, 1)
    const { status, deposits } = await payouts.show(payment)
    assert.equal(status, 'completed')
    assert.equal(deposits.find(({ asset }) => asset === 'ETH')?.status, 'replaced')
    await payouts.prove()
  })

  it('is refused where nobody can tell, or it is none of ours', async () => {
    const others = await anvil.send({ to: stranger(7), value: 1n })
    await settle(payouts, DEEP)
    await assert.rejects(book(payouts, others, true), { reason: 'spend_not_ours' })
    await assert.rejects(book(payouts, `0x${'0'.repeat(64)}`, true), { reason: 'spend_not_found' })
    const deposit = (await payouts.pay('ETH', 100n)).address
    const fromDeposit = await (await sender(payouts, deposit))(stranger(9), 1n)
    await settle(payouts, DEEP)
    await assert.rejects(book(payouts, fromDeposit, true), { reason: 'spend_of_deposit_address' })
    // Of the tokens of somebody else, whom the hot wallet may take from.
    const paid = await payouts.pay('USDC', 100n)
    await anvil.rpc('anvil_impersonateAccount', [paid.address])
    await anvil.rpc('anvil_setBalance', [paid.address, `0x${ETHER.toString(16)}`])
    // approve(address,uint256)
    const words = [hotWallet.slice(2).toLowerCase(), paid.dueAtoms.toString(16)].map((word) =>
      word.padStart(64, '0'),
    )
    await anvil.send({ from: paid.address, to: usdc, data: `0x095ea7b3${words.join('')}` })
    const taken = await anvil.call(usdc, 'transferFrom', [paid.address, stranger(7), paid.dueAtoms], {
      from: hotWallet,
    })
    await settle(payouts, DEEP)
    await assert.rejects(book(payouts, taken, true), { reason: 'spend_unclear' })
  })

  async function byHand(to: string, atoms: bigint, nonce?: number): Promise<{ txid: string }> {
    const txid = await anvil.call(usdc, 'transfer', [to, atoms], {
      from: hotWallet,
      ...(nonce === undefined ? {} : { nonce }),
    })
    await anvil.mine()
    await settle(payouts, DEEP)
    return { txid }
  }

  async function waitingNonce(): Promise<number> {
    const { rows } = await gateway.db.query<{ nonce: bigint }>(
      `select nonce from signed_transactions where sender = $1 and status = 'ready'`,
      [hotWallet],
    )
    assert.equal(rows.length, 1)
    return Number(rows[0]?.nonce)
  }
})

/** A new keystore is published, and its first addresses are derived. */
async function replaceWallet({ gateway: { db } }: EthereumPayouts): Promise<void> {
  const { chain, mode, xpub } = OTHER_KEYS
  await db.transaction((tx) => publishWallet(tx, TEST_SECRETS, { chain, mode, xpub }, { replaces: true }))
  await fillAddressPool(db, TEST_SECRETS, { fresh: 4, change: 2 })
}

/** Somebody with its key. */
async function sender({ anvil }: EthereumPayouts, from: string) {
  await anvil.rpc('anvil_impersonateAccount', [from])
  return (to: string, value: bigint): Promise<string> => anvil.send({ from, to, value })
}

/** Blocks, each looked at, and the payer after the last. */
async function settle({ anvil, follow, gateway, port }: EthereumPayouts, count: number): Promise<void> {
  await anvil.mine(count)
  await follow()
  await payOnce(gateway, port)
  await follow()
}

const book = ({ gateway: { db }, port }: EthereumPayouts, txid: string, loss = false) =>
  bookSpend({ db, secrets: TEST_SECRETS }, port, txid, { loss })

async function frozen({ gateway: { db } }: EthereumPayouts): Promise<Asset[]> {
  return (await listFreezes(db)).map(({ asset }) => asset).sort()
}

async function own({ gateway: { db } }: EthereumPayouts) {
  const balances = await readOwnBalances(db)
  const of = (asset: Asset) => {
    const found = balances.find((balance) => balance.chain === 'ethereum' && balance.asset === asset)
    return found ?? { capital: 0n, loss: 0n, networkFees: 0n }
  }
  return { ETH: of('ETH'), USDC: of('USDC') } as Record<Asset, ReturnType<typeof of>>
}

/** What their receipts say that they cost. */
async function gasOf({ port }: EthereumPayouts, transactions: readonly { txid: string }[]): Promise<bigint> {
  let sum = 0n
  for (const { txid } of transactions) sum += (await port.findTransaction(txid))?.feeAtoms ?? 0n
  return sum
}
