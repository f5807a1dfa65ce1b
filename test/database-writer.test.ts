/**
 * Somebody writes the database, every column of every table in turn, while payments come in and withdrawals go out. What
 * happens is what SECURITY.md says, and nobody is credited what did not come for him or paid what was not asked for.
 */
import assert from 'node:assert/strict'
import { AsyncResource } from 'node:async_hooks'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { bech32 } from '@scure/base'
import { createApiKey } from '../src/accounts/api-keys.sql.ts'
import { recordAct } from '../src/audit/audit-log.sql.ts'
import { lookupOf } from '../src/chains/simulated/network.ts'
import { newId } from '../src/core/ids.ts'
import { SCOPES } from '../src/core/scopes.ts'
import { createWebhookEndpoint } from '../src/events/webhook-endpoints.sql.ts'
import { readPayment } from '../src/flows/payments/read-payment.ts'
import { listFreezes } from '../src/ledger/freezes.sql.ts'
import type { Payment } from '../src/payments/payment.ts'
import { proveBlock } from '../src/proof/prove-block.ts'
import { reconcile } from '../src/proof/reconcile.ts'
import { type SetAside, settleNext } from '../src/workers/settle.ts'
import { testDatabase } from './database.ts'
import {
  type Column,
  fillPeople,
  listColumns,
  readPromises,
  requireKnown,
  type Thief,
  WITHOUT_ROWS,
  wishes,
} from './database-writer.ts'
import { testAccount, testPayment, testSession } from './gateway.ts'
import { DESTINATIONS, tellPayouts } from './payout-story.ts'
import { payOnce, signAll } from './payouts.ts'

const CHAIN = 'sim-litecoin'
const HIS = DESTINATIONS[CHAIN]
/** Each honest withdrawal goes to an address of its own, so that a second payment of one is seen. */
const ours = (number: number) =>
  bech32.encode('tltc', [
    0,
    ...bech32.toWords(createHash('sha256').update(`ours ${number}`).digest().subarray(0, 20)),
  ])
const AMOUNT = '0.01'

const db = await testDatabase()
const promised = await readPromises(db)
const columns = await listColumns(db)

/** A shop with funds, a buyer on his way and a withdrawal on its way; a thief with an account of his own. */
async function makeShop() {
  const story = await tellPayouts(CHAIN)
  const { gateway, account, port } = story
  await story.earn('LTC', 650_000n)
  // Too little, for which its merchant has not decided yet.
  const less = await testPayment(gateway, account)
  await story.pay(less, less.dueAtoms / 2n)
  await story.mine(6)
  await story.look()
  const other = await testAccount(gateway)
  const his = await testPayment(gateway, other)
  const thief: Thief = { account: other.id, payment: his.id, address: HIS }
  await fillOtherTables()
  let received = await received0()
  const asked = new Map<string, bigint>()
  const aside: SetAside = new Map()
  /** By lookup, what blocks below `nextHeight` paid: nothing takes one from this chain. */
  const paid = new Map<string, bigint[]>()
  let nextHeight = 0

  /** What fails in a way of Beck's own is what a worker logs; it goes on with the rest. */
  const tried = async (work: () => Promise<unknown>) => {
    await work().catch((error: unknown) => {
      requireKnown(error)
      refusals += 1
    })
  }
  let refusals = 0
  return {
    ...story,
    thief,
    /** What the thief wrote here, in order. */
    written: [] as string[],
    received: () => received,
    /** A payment that its buyer has just sent, and a withdrawal nobody has looked at yet. */
    async begin(): Promise<Payment | null> {
      let made: Payment | null = null
      await tried(async () => {
        made = await testPayment(gateway, account, { fiatMinor: 10_000n })
        await story.pay(made, made.dueAtoms)
        received += made.dueAtoms
      })
      await tried(story.watch)
      await tried(async () => {
        const withdrawal = await story.request('LTC', AMOUNT, ours(asked.size))
        asked.set(withdrawal.destination, withdrawal.netAtoms)
      })
      return made
    },
    /** What was asked for is signed, and waits for its broadcast. */
    sign: () => tried(() => signAll(story.signer)),
    /** How often Beck said that it does not act on a row. */
    async countRefusals(): Promise<number> {
      const { rowCount } = await gateway.db.query(
        "select from alerts where kind in ('row_tampered', 'withdrawal_refused')",
      )
      return rowCount + refusals
    },
    /** Everything that Beck does by itself, through some blocks. */
    async goOn(): Promise<void> {
      for (const blocks of [1, 6]) {
        await story.mine(blocks)
        await tried(story.watch)
        await tried(async () => {
          while (await settleNext(gateway, aside));
        })
        await tried(() => signAll(story.signer))
        await tried(() => payOnce(gateway, port))
        await tried(story.watch)
      }
      aside.clear()
    },
    /** Whether a proof finds something, of the block or of the whole. */
    async isFound(): Promise<boolean> {
      await tried(() => proveBlock(gateway, port))
      await tried(() => proveBlock(gateway, port))
      const differences = await reconcile(gateway.db, [port]).then(
        (proof) => proof.differences.length,
        // A proof that cannot be made has found nothing.
        (error: unknown) => {
          requireKnown(error)
          return 0
        },
      )
      return differences > 0 || (await listFreezes(gateway.db)).length > 0
    },
    /** What is wrong with who has what; null for nothing. */
    async wrongs(): Promise<string | null> {
      const tip = await port.tip()
      for (; nextHeight <= tip.height; nextHeight++) {
        const hash = await port.blockHash(nextHeight)
        if (hash === null) continue
        for (const { outputs } of (await port.readBlock(hash)).transactions)
          for (const { lookup, atoms } of outputs) {
            const key = Buffer.from(lookup).toString('hex')
            paid.set(key, [...(paid.get(key) ?? []), atoms])
          }
      }
      const to = (address: string) =>
        paid.get(Buffer.from(lookupOf(CHAIN, address) ?? []).toString('hex')) ?? []
      if (to(HIS).length > 0) return `the thief was paid ${to(HIS)}`
      for (const [address, net] of asked) {
        const payments = to(address)
        if (payments.length > 1 || payments.some((atoms) => atoms !== net))
          return `a withdrawal of ${net} was paid ${payments}`
      }
      const { rows } = await gateway.db.query<{ id: string; atoms: bigint }>(
        `select account_id as id, sum(atoms) as atoms from balances where kind in ('available', 'held') group by account_id`,
      )
      for (const { id, atoms } of rows)
        if (atoms > (id === account.id ? received : 0n)) return `${id} has ${atoms}, and ${received} came`
      return null
    },
  }

  async function received0(): Promise<bigint> {
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      'select sum(amount_atoms) as atoms from deposits',
    )
    return rows[0]?.atoms ?? 0n
  }

  /** At least a row in the tables that stories do without. */
  async function fillOtherTables(): Promise<void> {
    const { db } = gateway
    await createApiKey(db, { accountId: account.id, mode: 'test', name: 'key', scopes: [...SCOPES] })
    await testSession(gateway, account)
    await db.transaction((tx) =>
      createWebhookEndpoint(tx, gateway.secrets, {
        accountId: account.id,
        url: 'https://shop.example/hook',
        events: ['payment.created'],
      }),
    )
    await db.transaction((tx) =>
      recordAct(tx, {
        accountId: account.id,
        actor: { kind: 'cli', id: 'root', name: null },
        address: null,
        action: 'key.create',
        subject: null,
        before: null,
        after: null,
      }),
    )
    const user = newId('usr')
    await db.query("insert into users (id, email, name) values ($1, 'a@example.com', 'A')", [user])
    await db.query(
      `insert into sessions (id, user_id, token_hash, factor, address, agent) values ($1, $2, $3, 'passkey', '', '')`,
      [newId('ses'), user, randomBytes(32)],
    )
    await fillPeople(db, account.id, user, CHAIN)
    await db.query(
      `insert into payment_links (account_id, id, label, amount_minor, currency) values ($1, gen_random_uuid(), 'x', 100, 'USD')`,
      [account.id],
    )
    await db.query(
      `insert into points_of_sale (account_id, id, name, currency) values ($1, gen_random_uuid(), 'x', 'USD')`,
      [account.id],
    )
    await db.query(
      `insert into idempotency_keys (account_id, key, request_hash) values ($1, 'key', sha256('x'))`,
      [account.id],
    )
  }
}

type Shop = Awaited<ReturnType<typeof makeShop>>

/** Puts another value into a column of every row, or of none where a constraint forbids it. @returns How many rows. */
async function write({ gateway }: Shop, { table, name }: Column, value: string): Promise<number> {
  try {
    const { rowCount } = await gateway.db.query(
      `update ${table} set ${name} = ${value} where ${name}::text is distinct from (${value})::text`,
    )
    if (rowCount > 0) written.add(table)
    return rowCount
  } catch (error) {
    const { code } = (error as { cause?: { code?: string } }).cause ?? (error as { code?: string })
    // A constraint, a trigger, or a value that does not fit: the database itself says no.
    assert.match(String(code), /^(23|22|P0|42)/, `${table}.${name} = ${value}: ${String(error)}`)
    forbidden.add(`${table}.${name}`)
    return 0
  }
}

const changed = new Set<string>()
/** Tables of which a row was changed. */
const written = new Set<string>()
/** Where a constraint said no to something that was tried. */
const forbidden = new Set<string>()
/** Columns that a proof found, at one of their values. */
const found = new Set<string>()
/** Columns of which Beck said that it does not act on them, at one of their values. */
const refused = new Set<string>()
/** Elsewhere money does not follow: one value of each kind is enough. */
const FOLLOWED =
  /^(payments|addresses|wallets|deposits|withdrawals|journal_entries|transfers|balances|unresolved_funds|utxos|signed_transactions|signed_payouts|chains|accounts)$/

/** What is written into a column, and whether before that what was asked for is signed. */
function plays(table: string, wishes: readonly string[]): (readonly [string, boolean])[] {
  const signed = table === 'withdrawals' ? [false, true] : [table.startsWith('signed_')]
  const few = FOLLOWED.test(table) ? wishes : wishes.slice(0, 1)
  return few.flatMap((wish) => signed.map((isSigned) => [wish, isSigned] as const))
}

/** Shops outlive the test that opens them: what they hold is closed when the file ends. */
const fileScope = new AsyncResource('shops')
const openShop = () => fileScope.runInAsyncScope(makeShop)

/** Shops whose books hold whatever was written, for the next table: opening one takes longer than a column. */
const soundShops: Shop[] = []

/** Some columns of one table. */
async function walk(table: string, some: readonly Column[]): Promise<void> {
  let shop = soundShops.pop() ?? (await openShop())
  let payment: Payment | null = null
  let isBegun = false
  for (const column of some) {
    const outcome = promised.get(`${table}.${column.name}`)
    const all = await wishes(shop.gateway.db, column, shop.thief)
    for (const [wish, isSigned] of plays(table, all)) {
      // What the database forbade left everything as it was begun.
      if (!isBegun) payment = await shop.begin()
      if (!payment) {
        // What was written before keeps Beck from going on: a new one.
        shop = await openShop()
        payment = await shop.begin()
      }
      isBegun = true
      if (isSigned) await shop.sign()
      const before = payment && (await ownValue(shop, payment, column))
      const refusedBefore = await shop.countRefusals()
      if ((await write(shop, column, wish)) === 0) continue
      const isOther = payment !== null && before !== (await ownValue(shop, payment, column))
      isBegun = false
      changed.add(`${table}.${column.name}`)
      shop.written.push(`${table}.${column.name} = ${wish}`)
      const isShown = !payment || (await shownOrRefused(shop, payment, isOther && outcome === 'refused'))
      await shop.goOn()
      const wrong = await shop.wrongs()
      const isFound = await shop.isFound()
      if (isFound) found.add(`${table}.${column.name}`)
      // These are looked at when an address is handed out.
      if (/^(addresses|wallets)$/.test(table)) {
        payment = await shop.begin()
        isBegun = payment !== null
      }
      if (!isShown || (await shop.countRefusals()) > refusedBefore) refused.add(`${table}.${column.name}`)
      if (wrong !== null)
        assert.ok(
          outcome === 'frozen' && isFound,
          `${shop.written.join(', then ')} is ${outcome}, and ${wrong}; ${isFound ? 'a proof finds it' : 'nobody notices'}`,
        )
      if (wrong !== null || isFound) shop = await openShop()
    }
  }
  soundShops.push(shop)
}

/** Of the payment that is under way, what its row says; null of other tables. */
async function ownValue(
  { gateway }: Shop,
  payment: Payment,
  { table, name }: Column,
): Promise<string | null> {
  if (table !== 'payments') return null
  const { rows } = await gateway.db.query<{ value: string | null }>(
    `select ${name}::text as value from payments where account_id = $1 and id = $2`,
    [payment.accountId, payment.id],
  )
  return rows[0]?.value ?? null
}

/** A payment under other terms is shown to nobody; under its own it is shown as it was made. */
async function shownOrRefused({ gateway }: Shop, payment: Payment, isRefused: boolean): Promise<boolean> {
  const shown = await readPayment(gateway, gateway.db, payment.accountId, payment.id).catch(
    (error: Error) => {
      assert.match(error.message, /tampered/)
      return null
    },
  )
  if (isRefused) assert.equal(shown, null, 'terms that were changed are refused')
  if (shown) {
    assert.equal(shown.deposit.address, payment.address)
    assert.equal(shown.deposit.expected_amount_atoms, String(payment.dueAtoms))
  }
  return shown !== null
}

const asked = process.env.BECK_TEST_TABLES?.split(',')
const TABLES = [...new Set(columns.map(({ table }) => table))].filter(
  (table) => asked?.includes(table) ?? true,
)

/** Of a table in one test: the largest would take a slow machine as long as a test may. */
const COLUMNS_MAX = 10

describe('every column of every table is written', { concurrency: 2 }, () => {
  for (const table of TABLES) {
    const all = columns.filter((each) => each.table === table)
    for (let at = 0; at < all.length; at += COLUMNS_MAX) {
      const some = all.slice(at, at + COLUMNS_MAX)
      test(`${table} from ${some[0]?.name} on: what SECURITY.md says, and nobody has what is not his`, () =>
        walk(table, some))
    }
  }
})

test('what money follows was written column by column, or the database itself said no', () => {
  const followed = [...promised.keys()].filter((column) => TABLES.includes(column.split('.')[0] ?? ''))
  assert.deepEqual(
    followed.filter(
      (column) => FOLLOWED.test(column.split('.')[0] ?? '') && !changed.has(column) && !forbidden.has(column),
    ),
    [],
  )
})

test('what SECURITY.md calls frozen a proof has found, and what it calls refused Beck has refused, or found', () => {
  const silent = [...promised].filter(
    ([column, outcome]) =>
      changed.has(column) &&
      FOLLOWED.test(column.split('.')[0] ?? '') &&
      (outcome === 'frozen' || outcome === 'refused') &&
      !found.has(column) &&
      !(outcome === 'refused' && refused.has(column)),
  )
  assert.deepEqual(silent, [])
})

test('tables that were walked without a row of their own are these', () => {
  assert.deepEqual(
    TABLES.filter((table) => !written.has(table) && !WITHOUT_ROWS.includes(table)),
    [],
  )
})
