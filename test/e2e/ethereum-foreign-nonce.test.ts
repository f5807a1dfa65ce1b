/**
 * Somebody else has the hot wallet's keys too: the operator sends something from it by another program, or two databases were
 * restored from one. Or a reorganisation brings a batch back, whose authorisation uses what a sweep was signed with meanwhile.
 * What Beck signed under a nonce that was used that way never enters the chain.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { ChainPort } from '../../src/chains/chain.ts'
import { signTransfer } from '../../src/chains/ethereum/sign.ts'
import type { Asset } from '../../src/core/assets.ts'
import { planSweeps } from '../../src/flows/treasury/sweep-deposits.ts'
import { fail } from '../../src/flows/withdrawals/fail-withdrawal.ts'
import { HOT_WALLET_POSITION, INTERNAL_BRANCH } from '../../src/wallets/derivation.ts'
import { feeRates, payOnce, signAll } from '../payouts.ts'
import { type EthereumPayouts, ethereumPayouts } from './ethereum-payouts.ts'

const older = await ethereumPayouts({ confirmations: 2, hardfork: 'cancun' })
const newer = await ethereumPayouts({ confirmations: 2 })
const stranger = () => `0x${randomBytes(20).toString('hex')}`

describe('a nonce of the hot wallet that somebody else used', () => {
  it('ends the payout that was signed with it: the hold is given back once, and the next one is paid', async () => {
    await older.earn('ETH', 2_000n)
    await older.finish()
    const before = await older.balance('ETH', 'available')
    const lost = await older.request('ETH', '0.1', stranger())
    const next = await older.request('ETH', '0.2', stranger())
    await older.sign()
    await useNonceOf(older, lost.id, { asset: 'ETH', to: stranger(), atoms: 1n })
    await turns(older, 6)
    assert.equal((await older.now(next)).status, 'completed')
    assert.equal((await older.now(lost)).status, 'requested', 'nothing is given back before that is final')
    await untilFinal(older)
    const now = await older.now(lost)
    assert.deepEqual([now.status, now.refusedReason], ['failed', 'nonce_used'])
    assert.equal(await older.balance('ETH', 'held'), 0n)
    assert.equal(await older.balance('ETH', 'available'), before - next.amountAtoms)
    assert.deepEqual(await alertsAbout(older), ['nonce_taken'])
    await isPaid(older, await older.request('ETH', '0.1', lost.destination))
  })

  it('by what pays the same is left to the operator: it is neither paid again nor given back', async () => {
    const doubtful = await older.request('ETH', '0.15', stranger())
    await older.sign()
    const { destination: to, netAtoms: atoms } = doubtful
    await useNonceOf(older, doubtful.id, { asset: 'ETH', to, atoms })
    await turns(older, 2)
    await untilFinal(older, 3)
    assert.equal((await older.now(doubtful)).status, 'requested')
    assert.equal(await older.balance('ETH', 'held'), doubtful.amountAtoms)
    assert.equal((await older.port.holdings({ outpoints: [], addresses: [to] })).ETH, atoms)
    assert.deepEqual(await alertsAbout(older), ['nonce_taken', 'payout_doubtful'])
    await isPaid(older, await older.request('ETH', '0.1', stranger()))
  })

  it('ends the gas of a sweep that was signed with it: the deposit is swept a day later', async () => {
    const paid = await older.earn('USDC', 500n)
    const before = await older.tokensOf('USDC', older.hotWallet)
    await payOnce(older.gateway, older.port)
    await older.sign()
    await useNonceOf(older, 'gas', { asset: 'ETH', to: stranger(), atoms: 1n })
    await givenUp(older)
    await turns(older, 8)
    assert.equal((await older.tokensOf('USDC', older.hotWallet)) - before, paid)
  })

  it('ends a batch of sweeps that was signed with it: the authorisations of a next one are good', async () => {
    for (let count = 0; count < 2; count++) await newer.earn('USDC', 500n)
    await newer.finish()
    const before = await newer.tokensOf('USDC', newer.hotWallet)
    const paid = (await newer.earn('USDC', 500n)) + (await newer.earn('USDC', 500n))
    await payOnce(newer.gateway, newer.port)
    await newer.sign()
    await useNonceOf(newer, 'batch', { asset: 'ETH', to: stranger(), atoms: 1n })
    await givenUp(newer)
    await turns(newer, 8)
    assert.equal((await newer.tokensOf('USDC', newer.hotWallet)) - before, paid)
  })

  it('ends a batch: ether that came to an address of it is swept by the nonce that the chain asks for', async () => {
    const payment = await newer.pay('USDC', 500n)
    await payOnce(newer.gateway, newer.port)
    await newer.sign()
    await useNonceOf(newer, 'batch', { asset: 'ETH', to: stranger(), atoms: 1n })
    await newer.anvil.send({ to: payment.address, value: 10n ** 18n })
    await givenUp(newer)
    await turns(newer, 8)
    const { ETH, USDC } = await newer.port.holdings({ outpoints: [], addresses: [payment.address] })
    assert.deepEqual([ETH, USDC], [0n, 0n])
  })

  it('ends the replacement set of a payout that failed before; one that cannot be settled holds no other up', async () => {
    const { gateway } = newer
    await newer.earn('ETH', 2_000n)
    await turns(newer, 8)
    const failed = await newer.request('ETH', '0.01', stranger())
    const broken = await newer.request('ETH', '0.02', stranger())
    const lost = await newer.request('ETH', '0.03', stranger())
    await newer.sign()
    for (const { id } of [failed, broken, lost])
      await useNonceOf(newer, id, { asset: 'ETH', to: stranger(), atoms: 1n })
    // As a call that reverted in a block that is gone, and as what must never be: a hold given back under way.
    for (const withdrawal of [failed, broken])
      await gateway.db.transaction((tx) => fail(gateway, tx, withdrawal, 'impossible', 'reverted'))
    await gateway.db.query(
      `update withdrawals set status = 'requested', refused_reason = null, failed_at = null where id = $1`,
      [broken.id],
    )
    await turns(newer, 2)
    await untilFinal(newer)
    const ends = await Promise.all([failed, broken, lost].map((withdrawal) => newer.now(withdrawal)))
    assert.deepEqual(
      ends.map(({ status, refusedReason }) => [status, refusedReason]),
      [
        ['failed', 'reverted'],
        ['requested', null],
        ['failed', 'nonce_used'],
      ],
    )
    const { rows: open } = await gateway.db.query<{ withdrawal_id: string }>(
      `select p.withdrawal_id from signed_transactions t join signed_payouts p on p.chain = t.chain and p.replacement_set = t.replacement_set
       where t.status not in ('confirmed', 'reverted', 'displaced', 'impossible')`,
    )
    assert.deepEqual(open, [{ withdrawal_id: broken.id }])
    assert.deepEqual(await alertsAbout(newer), ['nonce_taken', 'payout_unsettled'])
  })
})

describe('a nonce of a deposit address that an authorisation of ours used', () => {
  it('ends the sweep that was signed with it too: what it was to take is swept a day later', async () => {
    const { anvil, gateway, port, signer } = newer
    const payment = await newer.pay('USDC', 500n)
    await turns(newer, 8)
    assert.equal(await newer.tokensOf('USDC', payment.address), 0n, 'its batch is in the chain')
    await anvil.send({ to: payment.address, value: 10n ** 18n })
    await newer.confirm()
    // As from a branch that the batch is not in, between one call and the next.
    const elsewhere: ChainPort = { ...port, nextNonce: async () => 0n }
    await planSweeps(gateway, elsewhere, await feeRates(gateway, port))
    await signAll(signer)
    const ofSweep = async () =>
      (
        await gateway.db.query<{ nonce: bigint; status: string }>(
          'select nonce, status from signed_transactions where sender = $1 order by nonce, created_at limit 1',
          [payment.address],
        )
      ).rows[0]
    assert.equal((await ofSweep())?.nonce, 0n)
    await givenUp(newer)
    assert.equal((await ofSweep())?.status, 'impossible')
    await turns(newer, 8)
    assert.equal(await anvil.balance(payment.address), 0n)
  })
})

describe('a nonce that nothing uses', () => {
  it('is told of, for all later ones wait behind it; it is used, and they go on', async () => {
    const { gateway, hotWallet, anvil } = older
    await older.earn('ETH', 200n)
    await turns(older, 8)
    await gateway.db.query('update nonces set next = next + 1 where sender = $1', [hotWallet])
    const waits = await older.request('ETH', '0.01', stranger())
    await older.sign()
    await turns(older, 2)
    const alerts = async () =>
      (await gateway.db.query<{ message: string }>("select message from alerts where kind = 'nonce_missing'"))
        .rows
    assert.deepEqual(await alerts(), [], 'not yet: another may be on its way')
    await untilFinal(older)
    const [alert] = await alerts()
    assert.match(alert?.message ?? '', new RegExp(`of ${hotWallet}, whose next one is .* and nothing`))
    assert.notEqual((await older.now(waits)).status, 'completed')

    await anvil.rpc('anvil_impersonateAccount', [hotWallet])
    await anvil.send({ from: hotWallet, to: stranger(), value: 1n })
    await isPaid(older, waits)
  })
})

/** Mines another transaction under the nonce of the one that was signed last of a kind, or for a withdrawal. */
async function useNonceOf(
  payouts: EthereumPayouts,
  of: string,
  { asset, to, atoms }: { asset: Asset; to: string; atoms: bigint },
): Promise<void> {
  const { rows } = await payouts.gateway.db.query<{ nonce: bigint }>(
    `select nonce from signed_transactions t where sender = $1 and status not in ('confirmed', 'reverted', 'displaced', 'impossible') and (kind = $2 or exists (
       select from signed_payouts p where p.replacement_set = t.replacement_set and p.withdrawal_id::text = $2)) order by nonce desc limit 1`,
    [payouts.hotWallet, of],
  )
  const key = payouts.signer.vault.get('ethereum')?.privateKey(INTERNAL_BRANCH, HOT_WALLET_POSITION)
  assert.ok(rows[0] && key)
  const { raw } = signTransfer(
    {
      chainId: 31_337,
      nonce: rows[0].nonce,
      gasLimit: 21_000n,
      maxFeeWei: 10n ** 11n,
      priorityFeeWei: 10n ** 9n,
      asset,
      contract: null,
      to,
      atoms,
    },
    key,
  )
  await payouts.anvil.rpc('eth_sendRawTransaction', [raw])
  await payouts.anvil.mine()
  await payouts.follow()
}

/** What the hot wallet holds is no longer what the books say, so these turns prove nothing. */
async function turns({ anvil, gateway, port, signer, follow }: EthereumPayouts, count: number) {
  for (let turn = 0; turn < count; turn++) {
    await follow()
    await signAll(signer)
    await payOnce(gateway, port)
    await anvil.mine()
  }
  await follow()
}

/** Until the block that used a nonce is final, and some turns after it. */
async function untilFinal(payouts: EthereumPayouts, count = 2): Promise<void> {
  await payouts.pass(11)
  await payouts.anvil.mine(64)
  await turns(payouts, count)
}

/** The sweeps under way fail, and may be tried again. */
async function givenUp(payouts: EthereumPayouts): Promise<void> {
  await turns(payouts, 2)
  await untilFinal(payouts)
  const { db } = payouts.gateway
  const { rowCount } = await db.query("select from sweeps where status = 'failed'")
  assert.ok(rowCount > 0)
  await db.query("update sweeps set created_at = created_at - interval '4 days'")
}

async function isPaid(
  payouts: EthereumPayouts,
  withdrawal: Awaited<ReturnType<EthereumPayouts['request']>>,
): Promise<void> {
  await turns(payouts, 5)
  assert.equal((await payouts.now(withdrawal)).status, 'completed')
}

async function alertsAbout({ gateway }: EthereumPayouts): Promise<string[]> {
  const { rows } = await gateway.db.query<{ kind: string }>(
    "select distinct kind from alerts where kind <> 'payout_refused' order by kind",
  )
  return rows.map(({ kind }) => kind)
}
