/**
 * Somebody writes the database, row by row, to have another one's deposit credited to him, or to show a buyer his own
 * address. Nothing of it is shown or credited, and the operator hears of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAccount, testPayment } from '../../../test/gateway.ts'
import { type Story, tellStory } from '../../../test/story.ts'
import { TEST_SECRETS, testXpub } from '../../../test/wallet.ts'
import { insertAccount } from '../../accounts/accounts.sql.ts'
import { fillAddressPool } from '../../wallets/address-pool.sql.ts'
import { publishWallet } from '../../wallets/wallets.sql.ts'
import { type SetAside, settleNext } from '../../workers/settle.ts'
import { readPayment } from './read-payment.ts'

const COIN = 100_000_000n
const HIS = 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0'

/** What settling leads to, without stopping at what can not be decided. */
async function settleAll({ gateway }: Story): Promise<void> {
  const aside: SetAside = new Map()
  while (await settleNext(gateway, aside));
}

async function requireToldAndNothingCredited(story: Story): Promise<void> {
  const { db } = story.gateway
  const { rows: credited } = await db.query<{ atoms: bigint }>(
    `select coalesce(sum(amount_atoms), 0) as atoms from transfers where credit in ('available', 'unresolved')`,
  )
  assert.deepEqual(credited, [{ atoms: 0n }])
  const { rows: alerts } = await db.query<{ kind: string }>('select kind from alerts')
  assert.deepEqual(alerts, [{ kind: 'row_tampered' }])
}

/** Every term of a payment that a writer of the database might like to change. */
const TERMS: Readonly<Record<string, string>> = {
  address: `address = '${HIS}'`,
  'a due of one atom': 'due_atoms = tolerated_atoms + 1',
  'a price of one cent': 'fiat_minor = 1, fee_minor = 0, quoted_fee_minor = 0, net_minor = 1',
  'no fee': 'quoted_fee_minor = 0, fee_minor = 0, net_minor = fiat_minor',
  'another rate': 'rate_numerator = rate_numerator * 2',
  'another settlement rate': 'settlement_denominator = 7',
  'another coin': `asset = 'BTC'`,
  'another currency': `fiat_currency = 'EUR'`,
  'no confirmations': 'required_confirmations = 0',
  'a MAC of his own': `terms_mac = sha256('guess')`,
}

for (const [what, change] of Object.entries(TERMS))
  test(`a payment whose row is given ${what} is neither shown nor credited`, async () => {
    const story = await tellStory()
    const { gateway, account } = story
    const payment = await testPayment(gateway, account)
    await story.pay(payment, COIN)
    await story.look()
    await gateway.db.query(`update payments set ${change}`)
    await assert.rejects(readPayment(gateway, gateway.db, account.id, payment.id), {
      name: 'InvariantBroken',
      message: /tampered/,
    })
    await story.mine(6)
    await story.look().catch(() => {})
    await settleAll(story)
    await requireToldAndNothingCredited(story)
  })

test("a payment of another account's is not shown there by moving its row", async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const payment = await testPayment(gateway, account)
  const thief = await testAccount(gateway)
  await gateway.db.query('update payments set account_id = $1', [thief.id])
  await assert.rejects(readPayment(gateway, gateway.db, thief.id, payment.id), /tampered/)
})

test("an address that is made another payment's credits nobody: the victim's buyer pays no thief", async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const payment = await testPayment(gateway, account)
  const thief = await insertAccount(gateway.db, {
    name: 'Thief',
    email: 'thief@example.com',
    mode: 'test',
    currency: 'USD',
  })
  const his = await testPayment(gateway, thief)
  await gateway.db.query('update addresses set account_id = $1, payment_id = $2 where payment_id = $3', [
    thief.id,
    his.id,
    payment.id,
  ])
  await story.pay(payment, COIN)
  await story.mine(6)
  await story.look().catch(() => {})
  await settleAll(story)
  await requireToldAndNothingCredited(story)
})

const DEPOSITS: Readonly<Record<string, string>> = {
  "another account's payment and its address":
    'account_id = h.account_id, payment_id = h.id, address = h.address',
  "another account's payment": 'account_id = h.account_id, payment_id = h.id',
  'a larger amount': 'amount_atoms = amount_atoms * 10',
  'another coin': `asset = 'USDC'`,
  'another transaction': `tx_key = 'ff'`,
  'another output': 'output_index = 7',
  'no confirmations': 'required_confirmations = 0',
}

for (const [what, change] of Object.entries(DEPOSITS))
  test(`a deposit whose row is given ${what} is not booked`, async () => {
    const story = await tellStory()
    const { gateway, account } = story
    const payment = await testPayment(gateway, account)
    const thief = await testAccount(gateway)
    const his = await testPayment(gateway, thief)
    await story.pay(payment, COIN)
    await story.mine(1)
    await story.look()
    await gateway.db.query(`update deposits d set ${change} from payments h where h.id = $1`, [his.id])
    await gateway.db.query(
      `update payments set decision_due = true where id in (select payment_id from deposits)`,
    )
    await gateway.db.query(`update deposits set status = 'confirmed'`)
    await settleAll(story)
    await requireToldAndNothingCredited(story)
  })

test('a deposit that no chain showed is not booked', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const payment = await testPayment(gateway, account)
  await gateway.db.query(
    `insert into deposits (account_id, id, payment_id, chain, asset, tx_key, output_index, address, amount_atoms, status,
       block_height, block_hash, required_confirmations, seen_at, late, dust, mac, bookings, booked)
     select account_id, gen_random_uuid(), id, chain, asset, 'his', 0, address, due_atoms, 'confirmed', 1, 'b', 6, now(),
       false, false, sha256('guess'), 0, false from payments where id = $1`,
    [payment.id],
  )
  await gateway.db.query('update payments set decision_due = true')
  await settleAll(story)
  await requireToldAndNothingCredited(story)
})

test('a wallet that was retired is not made the current one again by a row', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const { db } = gateway
  const other = { chain: 'sim-litecoin', mode: 'testnet', xpub: testXpub('ethereum') } as const
  await db.transaction((tx) => publishWallet(tx, TEST_SECRETS, other, { replaces: true }))
  await fillAddressPool(db, TEST_SECRETS, { fresh: 4, change: 1 })
  await db.query(`update wallets set retired_at = now() where chain = 'sim-litecoin' and retired_at is null`)
  await db.query(`update wallets set retired_at = null where chain = 'sim-litecoin' and xpub <> $1`, [
    other.xpub,
  ])
  await assert.rejects(testPayment(gateway, account), { name: 'InvariantBroken', message: /tampered/ })
})
