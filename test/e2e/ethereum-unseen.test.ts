import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { markWindowsOver } from '../../src/flows/payments/windows-over.sql.ts'
import { checkEther } from '../../src/flows/watching/check-ether.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { settleNext } from '../../src/workers/settle.ts'
import { testAccountKey } from '../wallet.ts'
import { watched } from '../watched-database.ts'
import { type EthereumRoad, ethereumRoad } from './ethereum-road.ts'

const road = await ethereumRoad()
const { anvil, gateway } = road
const payer = await anvil.deploy('Payer')
const sendByContract = (payment: Payment, value: bigint) =>
  anvil.call(payer, 'payAll', [[payment.address]], { value })

async function settleAllDue(): Promise<void> {
  await gateway.db.transaction((tx) => markWindowsOver(tx, 100))
  while (await settleNext(gateway));
}

describe('ether that contracts send to an address of ours', () => {
  afterEach(() => road.prove())

  it('issued for another coin is recorded in its block and held', async () => {
    const payment = await road.create('USDC')
    await sendByContract(payment, 10n ** 15n)
    await road.confirm()
    const view = await road.show(payment)
    assert.equal(view.status, 'pending')
    assert.deepEqual(
      view.deposits.map((deposit) => [deposit.asset, deposit.amount, deposit.status]),
      [['ETH', '0.001', 'confirmed']],
    )
    assert.equal(await road.balance('ETH', 'unresolved'), 10n ** 15n)
  })

  it('issued more than a month ago is found within a day', async () => {
    const payment = await road.create('ETH')
    await gateway.db.query(
      "update addresses set issued_at = issued_at - interval '32 days' where address = $1",
      [payment.address],
    )
    await sendByContract(payment, payment.dueAtoms)
    await anvil.mine(2)
    await road.follow()
    assert.deepEqual((await road.show(payment)).deposits, [])

    await passDay(road)
    await road.follow()
    const { block_height } = await depositOf(payment)
    assert.equal(Number(block_height), await anvil.height(), 'it counts from the block in which it was found')
    await road.confirm()
    assert.deepEqual(await statusOf(payment), ['completed', ['confirmed']])

    await passDay(road)
    await road.follow()
    assert.equal((await road.show(payment)).deposits.length, 1, 'what is recorded is not found again')
  })

  it('and was found by such a check is found again when a reorganisation takes the block of the check', async () => {
    const payment = await road.create('ETH')
    await gateway.db.query(
      "update addresses set issued_at = issued_at - interval '32 days' where address = $1",
      [payment.address],
    )
    await sendByContract(payment, payment.dueAtoms)
    await anvil.mine(5)
    await road.follow()
    await passDay(road)
    await road.follow()
    await anvil.reorganise(2)
    await road.follow()
    await road.confirm()
    assert.deepEqual(await statusOf(payment), ['completed', ['replaced', 'confirmed']])
  })
})

describe('a node that keeps the state of few blocks', () => {
  it('loses no ether of contracts while Beck is away', async () => {
    const pruned = await ethereumRoad({ options: ['--prune-history', '4'] })
    const contract = await pruned.anvil.deploy('Payer')
    const payment = await pruned.create('ETH')
    const direct = await pruned.create('ETH')
    const half = payment.dueAtoms / 2n
    await pruned.anvil.call(contract, 'payAll', [[payment.address]], { value: half })
    await pruned.anvil.send({ to: direct.address, value: direct.dueAtoms })
    await pruned.anvil.mine(20)
    await pruned.anvil.call(contract, 'payAll', [[payment.address]], { value: half })
    await pruned.anvil.mine(20)
    await pruned.follow()
    assert.equal((await pruned.show(direct)).status, 'completed', 'transactions need no state')
    const view = await pruned.show(payment)
    assert.deepEqual(
      [view.status, view.deposits.map((deposit) => deposit.amount_atoms)],
      ['detected', [String(payment.dueAtoms)]],
    )
    await pruned.confirm()
    assert.equal((await pruned.show(payment)).status, 'completed')
    await pruned.prove()
  })
})

describe('windows that end while Beck does not see what contracts sent', () => {
  it('wait for the comparison that shows it, those of ether alone', async () => {
    const pruned = await ethereumRoad({ options: ['--prune-history', '4'] })
    const { db } = pruned.gateway
    const [paid, unpaid, token] = [
      await pruned.create('ETH'),
      await pruned.create('ETH'),
      await pruned.create('USDC'),
    ]
    const contract = await pruned.anvil.deploy('Payer')
    await pruned.anvil.call(contract, 'payAll', [[paid.address]], { value: paid.dueAtoms })
    await pruned.anvil.mine(20)
    for (const payment of [paid, unpaid, token]) await pruned.endWindow(payment)
    const decide = async () => {
      await db.transaction((tx) => markWindowsOver(tx, 100))
      while (await settleNext(pruned.gateway));
      return Promise.all([paid, unpaid, token].map(async (payment) => (await pruned.show(payment)).status))
    }
    while ((await observeChain(pruned.gateway, pruned.port, pruned.lease)).behind);
    // Twenty blocks at once are dated ahead of the clock.
    await db.query(
      `update chains set tip_time = (select min(expires_at) - interval '1 second' from payments)`,
    )
    assert.deepEqual(await decide(), ['pending', 'pending', 'expired'])
    await db.query('update payments set decision_due = true')
    assert.deepEqual(await decide(), ['pending', 'pending', 'expired'], 'nobody else ends them either')

    // What one comparison finds makes another one due: there may be more of it in the same block.
    for (let comparison = 0; comparison < 2; comparison++)
      while (await checkEther(pruned.gateway, pruned.port, pruned.lease));
    assert.deepEqual(await decide(), ['detected', 'expired', 'expired'])
  })

  it('end in as many statements for many payments as for few', async () => {
    const { db } = gateway
    await settleAllDue()
    const statementsFor = async (count: number): Promise<number> => {
      for (let payment = 0; payment < count; payment++) await road.endWindow(await road.create('ETH'))
      await anvil.mine()
      await road.follow()
      await db.transaction((tx) => markWindowsOver(tx, 100))
      let statements = 0
      const counted = watched(db, () => {
        statements += 1
      })
      assert.ok(await settleNext({ ...gateway, db: counted }))
      assert.equal(await settleNext(gateway), false, 'all of them together')
      return statements
    }
    const few = await statementsFor(2)
    assert.equal(await statementsFor(9), few)
  })

  it('end once the tip is past them: what is found from then on is late', async () => {
    const pruned = await ethereumRoad({ options: ['--prune-history', '4'] })
    const { db } = pruned.gateway
    const payment = await pruned.create('ETH')
    await pruned.anvil.mine(20)
    await pruned.endWindow(payment)
    while ((await observeChain(pruned.gateway, pruned.port, pruned.lease)).behind);
    await db.query(`update chains set tip_time = clock_timestamp()`)
    await db.transaction((tx) => markWindowsOver(tx, 100))
    while (await settleNext(pruned.gateway));
    assert.equal((await pruned.show(payment)).status, 'expired')
  })
})

describe('an old address that was swept', () => {
  it('is compared with what it received and sent, once its sweep has ended', async () => {
    const payment = await road.create('ETH')
    await anvil.send({ to: payment.address, value: payment.dueAtoms })
    await road.confirm()
    await gateway.db.query(
      "update addresses set issued_at = issued_at - interval '32 days' where address = $1",
      [payment.address],
    )

    // The sweep: half of it goes to the treasury, at a price that leaves a rest.
    const value = payment.dueAtoms / 2n
    const raw = await (await accountOf(payment)).signTransaction({
      type: 'eip1559',
      chainId: 31_337,
      to: '0x00000000000000000000000000000000000000aa',
      value,
      nonce: 0,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 10n ** 9n,
    })
    const hash = await anvil.rpc<string>('eth_sendRawTransaction', [raw])
    await gateway.db.query(
      `insert into signed_transactions (chain, txid, replacement_set, kind, status, raw, asset, value_atoms, sender, nonce, fee_atoms,
         fee_rate)
       values ('ethereum', $1, $1, 'sweep', 'ready', $2, 'ETH', $3, $4, 0, 1, 1)`,
      [hash, raw, value, payment.address],
    )
    await anvil.mine()
    await sendByContract(payment, 3n * 10n ** 15n)
    await road.confirm()
    await passDay(road)
    await road.follow()
    assert.equal((await road.show(payment)).deposits.length, 1, 'nobody knows yet what it should hold')

    const receipt = await anvil.rpc<{
      gasUsed: string
      effectiveGasPrice: string
      blockNumber: string
      blockHash: string
    }>('eth_getTransactionReceipt', [hash])
    await gateway.db.query(
      `update signed_transactions set status = 'confirmed', paid_fee_atoms = $2, block_height = $3, block_hash = $4
       where txid = $1`,
      [
        hash,
        BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice),
        BigInt(receipt.blockNumber),
        receipt.blockHash,
      ],
    )
    await passDay(road)
    await road.follow()
    assert.deepEqual(
      (await road.show(payment)).deposits.map((deposit) => deposit.amount_atoms),
      [String(payment.dueAtoms), String(3n * 10n ** 15n)],
    )
  })

  /** The key that the test wallet derived the address from. */
  async function accountOf(payment: Payment) {
    const { rows } = await gateway.db.query<{ position: bigint }>(
      'select position from addresses where address = $1',
      [payment.address],
    )
    const key = testAccountKey('ethereum').deriveChild(0).deriveChild(Number(rows[0]?.position)).privateKey
    assert.ok(key)
    return privateKeyToAccount(`0x${Buffer.from(key).toString('hex')}`)
  }
})

const passDay = ({ gateway: { db } }: EthereumRoad) =>
  db.query("update chains set ether_checked_at = ether_checked_at - interval '25 hours'")

async function depositOf(payment: Payment) {
  const { rows } = await gateway.db.query<{ block_height: bigint }>(
    'select block_height from deposits where payment_id = $1',
    [payment.id],
  )
  assert.ok(rows[0])
  return rows[0]
}

async function statusOf(payment: Payment) {
  const { status, deposits } = await road.show(payment)
  return [status, deposits.map((deposit) => deposit.status)]
}
