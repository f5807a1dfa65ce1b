/** What a block means for us, as a table: who is paid by whom decides what is written, and nothing is asked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChainTransaction } from '../../chains/chain.ts'
import type { Asset, ChainName } from '../../core/assets.ts'
import { newId } from '../../core/ids.ts'
import type { IssuedAddress } from './own-addresses.sql.ts'
import { planDeposits } from './plan-deposits.ts'

const ISSUED = Buffer.from('01', 'hex')
const UNISSUED = Buffer.from('02', 'hex')
/** A buyer was told it, by what a database forgot. */
const WITHHELD = Buffer.from('04', 'hex')
const STRANGER = Buffer.from('03', 'hex')
const END = new Date('2026-01-01T00:30:00Z')
const address: IssuedAddress = {
  address: 'issued',
  accountId: newId('acct'),
  paymentId: newId('pay'),
  mode: 'live',
  fiatCurrency: 'USD',
  requiredConfirmations: 6,
  windowEndsAt: END,
}
const BLOCK = { height: 7, hash: 'block 7' }
const spent = [{ txid: 'spent', index: 3 }]

const planOf = (of: {
  chain?: ChainName
  to: Buffer
  asset?: Asset
  atoms?: bigint
  ours?: boolean
  mempool?: boolean
  seenAt?: Date
  now?: Date
}) => {
  const { chain = 'litecoin', to, asset = 'LTC', atoms = 1_000_000n } = of
  const { seenAt = new Date('2026-01-01T00:10:00Z') } = of
  const transactions: ChainTransaction[] = [
    { key: 'tx', hash: 'tx', inputs: spent, outputs: [{ lookup: to, index: 0, asset, atoms }] },
  ]
  return planDeposits({
    chain,
    block: of.mempool ? null : BLOCK,
    transactions,
    own: {
      find: (lookup) => (lookup === ISSUED ? address : lookup === STRANGER ? undefined : null),
      depositAddress: (lookup) => (lookup === ISSUED ? 'issued' : lookup === WITHHELD ? 'withheld' : null),
    },
    ours: new Set(of.ours ? ['tx'] : []),
    seenAt,
    now: of.now ?? seenAt,
    macOf: () => Buffer.alloc(32),
    worthOf: () => 77n,
  })
}

const STORIES = [
  ['a buyer pays, in a block', { to: ISSUED }, 'utxo spend sighting'],
  ['a buyer pays, in the mempool', { to: ISSUED, mempool: true }, 'spend sighting'],
  ['our own change comes back', { to: UNISSUED, ours: true }, 'utxo unissued'],
  ['the operator brings coins', { to: UNISSUED }, 'utxo unissued'],
  ['we pay an address of a payment ourselves', { to: ISSUED, ours: true }, 'utxo'],
  ['strangers pay each other', { to: STRANGER }, ''],
  ['nothing is paid to a payment', { to: ISSUED, atoms: 0n }, 'utxo spend'],
  ['a buyer pays ether', { chain: 'ethereum', asset: 'ETH', to: ISSUED }, 'spend sighting'],
  ['the operator brings ether', { chain: 'ethereum', asset: 'ETH', to: UNISSUED }, 'unexpected unissued'],
  [
    'our gas reaches an address of a payment',
    { chain: 'ethereum', asset: 'ETH', to: ISSUED, ours: true },
    'gas',
  ],
  [
    'our gas reaches an address that no payment has',
    { chain: 'ethereum', asset: 'ETH', to: WITHHELD, ours: true },
    'gas unissued',
  ],
  [
    'our sweep reaches the hot wallet',
    { chain: 'ethereum', asset: 'ETH', to: UNISSUED, ours: true },
    'unissued',
  ],
  [
    'our token reaches an address of a payment',
    { chain: 'ethereum', asset: 'USDC', to: ISSUED, ours: true },
    '',
  ],
] as const

for (const [story, given, expected] of STORIES)
  test(`${story}: ${expected || 'nothing'}`, () => {
    const plan = planOf(given)
    const written = Object.entries({
      utxo: plan.utxos,
      unexpected: plan.unexpectedDeposits,
      gas: plan.gas,
      unissued: plan.unissued,
      spend: plan.spends,
      sighting: plan.sightings,
    })
    assert.equal(
      written
        .filter(([, rows]) => rows.length > 0)
        .map(([name]) => name)
        .join(' '),
      expected,
    )
  })

test('a deposit that may be late is worth what it is worth now; one within the window needs no rate; a small one is dust', () => {
  const worth = (seenAt: Date, now = seenAt, atoms = 1_000_000n) => {
    const [sighting] = planOf({ to: ISSUED, seenAt, now, atoms }).sightings
    return [sighting?.sightedMinor, sighting?.dust]
  }
  const after = new Date(END.getTime() + 1)
  assert.deepEqual(worth(END), [null, false])
  assert.deepEqual(worth(after), [77n, false])
  // Its block says that it was there in time; by now the payment may be over.
  assert.deepEqual(worth(END, after), [77n, false])
  assert.deepEqual(worth(END, END, 1n), [null, true])
})
