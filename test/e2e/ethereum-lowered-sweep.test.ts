/** A sweep of ether that was signed for two deposits, of which a reorganisation then takes one, on a real Anvil. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { parseTransaction } from 'viem'
import { listFreezes } from '../../src/ledger/freezes.sql.ts'
import { ethereumPayouts } from './ethereum-payouts.ts'

const GWEI = 10n ** 9n

for (const when of ['signed', 'done'] as const)
  test(`a sweep that was ${when} for more than a reorganisation leaves takes what is there, and the rest when it comes back`, () =>
    tell(when))

test('a sweep whose deposit a reorganisation took offers no more for as long as that is away', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway } = payouts
  const payment = await payouts.create('ETH', 100n)
  const before = await anvil.height()
  await anvil.send({ to: payment.address, value: payment.dueAtoms })
  await payouts.confirm()
  await payouts.turn()
  await payouts.sign()
  const sendAgain = await anvil.reorganise((await anvil.height()) - before)
  await payouts.follow()
  for (let quarter = 0; quarter < 8; quarter++) {
    await payouts.pass(16)
    await payouts.turn()
  }
  const { rows } = await gateway.db.query<{ kind: string; status: string }>(
    'select kind, status from signed_transactions where sender = $1',
    [payment.address],
  )
  assert.deepEqual(rows, [{ kind: 'sweep', status: 'refused' }])

  await sendAgain()
  await payouts.confirm()
  await payouts.finish()
  assert.equal(await anvil.balance(payment.address), 0n)
  assert.deepEqual(await listFreezes(gateway.db), [])
})

test('a sweep that was to be lowered, and for which fees rose first, takes all that has come back', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway } = payouts
  const payment = await payouts.create('ETH', 100n)
  await payouts.setBaseFee(GWEI)
  // Four times what a transfer costs now, and less than it will.
  const first = 120_000n * GWEI
  const second = payment.dueAtoms - first
  await anvil.send({ to: payment.address, value: first })
  await payouts.confirm()
  const before = await anvil.height()
  await anvil.send({ to: payment.address, value: second })
  await payouts.confirm()
  await payouts.turn()
  await payouts.sign()
  await anvil.reorganise((await anvil.height()) - before)
  await payouts.follow()
  await payouts.turn()
  assert.deepEqual(await planned(), [first])

  await payouts.setBaseFee(10n * GWEI)
  await payouts.turn()
  await anvil.send({ to: payment.address, value: second })
  await payouts.confirm()
  for (let turn = 0; turn < 5 && (await anvil.balance(payment.address)) > 0n; turn++) {
    await payouts.setBaseFee(10n * GWEI)
    await payouts.turn()
  }
  assert.equal(await anvil.balance(payment.address), 0n)
  await payouts.mineAndTurn(3)
  assert.deepEqual(await planned(), [payment.dueAtoms])
  assert.deepEqual(await listFreezes(gateway.db), [])

  async function planned(): Promise<bigint[]> {
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      'select atoms from sweeps where address = $1',
      [payment.address],
    )
    return rows.map(({ atoms }) => atoms)
  }
})

test('for a sweep no more is ever signed than was signed before, whatever its row says', async () => {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { gateway, hotWallet, signer } = payouts
  const payment = await payouts.pay('ETH', 100n)
  await payouts.turn()
  await payouts.sign()
  await gateway.db.query(
    `with raised as (update sweeps set atoms = atoms * 10 where address = $1 and status = 'sweeping' returning replacement_set)
     update signed_transactions t set bump_wanted = true from raised
     where t.txid = raised.replacement_set and t.block_height is null`,
    [payment.address],
  )
  await payouts.sign()
  const { rows } = await gateway.db.query<{ txid: string }>(
    'select txid from signed_transactions where sender = $1 order by created_at',
    [payment.address],
  )
  const signed = await Promise.all(rows.map(({ txid }) => signer.journal.entryOf('ethereum', txid)))
  const [before, after] = signed.map((entry) => parseTransaction((entry?.raw ?? '0x') as `0x02${string}`))
  assert.equal(signed.length, 2)
  assert.deepEqual([takenBy(before), takenBy(after)], [payment.dueAtoms, payment.dueAtoms])
  assert.ok((after?.maxFeePerGas ?? 0n) > (before?.maxFeePerGas ?? 0n), 'it is the bump that was asked for')
  assert.equal(after?.to?.toLowerCase(), hotWallet.toLowerCase())
  assert.equal(after?.nonce, before?.nonce)
})

type Parsed = ReturnType<typeof parseTransaction<`0x02${string}`>>

/** All that leaves its sender, the fee at its highest included. */
const takenBy = (transaction: Parsed | undefined): bigint =>
  (transaction?.value ?? 0n) + (transaction?.gas ?? 0n) * (transaction?.maxFeePerGas ?? 0n)

async function tell(when: 'signed' | 'done'): Promise<void> {
  const payouts = await ethereumPayouts({ confirmations: 2 })
  const { anvil, gateway } = payouts
  const payment = await payouts.create('ETH', 100n)
  const [first, second] = [payment.dueAtoms / 4n, payment.dueAtoms - payment.dueAtoms / 4n]
  await anvil.send({ to: payment.address, value: first })
  await anvil.mine(3)
  await anvil.send({ to: payment.address, value: second })
  await payouts.confirm()
  assert.equal((await payouts.show(payment)).status, 'completed')
  await payouts.turn()
  await payouts.sign()
  if (when === 'done') await payouts.finish()
  const status = when === 'done' ? 'done' : 'sweeping'
  assert.deepEqual(await sweeps(), [{ status, atoms: payment.dueAtoms }])

  const sendAgain = await anvil.reorganise((await anvil.height()) - (await heightOfSecond()) + 1)
  await payouts.follow()
  await payouts.pass(1)
  await payouts.turn()
  await payouts.finish()
  assert.deepEqual(await sweeps(), [{ status: 'done', atoms: first }])
  assert.equal(await anvil.balance(payment.address), 0n)
  await payouts.prove()

  // The deposit comes first; the sweep that was taken with it has lost its nonce.
  await (when === 'done' ? assert.rejects(sendAgain(), /nonce too low/) : sendAgain())
  await payouts.confirm()
  assert.equal((await payouts.show(payment)).status, 'completed')
  assert.equal(await anvil.balance(payment.address), second)
  await payouts.turn()
  await payouts.finish()
  assert.deepEqual(await sweeps(), [
    { status: 'done', atoms: first },
    { status: 'done', atoms: second },
  ])
  assert.equal(await anvil.balance(payment.address), 0n, 'no coin is stuck')
  assert.deepEqual(await listFreezes(gateway.db), [])

  async function heightOfSecond(): Promise<number> {
    const { rows } = await gateway.db.query<{ height: bigint }>(
      'select block_height as height from deposits where payment_id = $1 and amount_atoms = $2',
      [payment.id, second],
    )
    return Number(rows[0]?.height)
  }

  async function sweeps() {
    const { rows } = await gateway.db.query<{ status: string; atoms: bigint }>(
      'select status, atoms from sweeps where address = $1 order by created_at',
      [payment.address],
    )
    return rows
  }
}
