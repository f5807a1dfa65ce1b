/** What is held for payments, by stories that run together in one transaction. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { testAccount, testGateway, testPayment } from '../../test/gateway.ts'
import { type PaymentId, showId } from '../core/ids.ts'
import type { Tx } from '../db/database.ts'
import { doLast, together } from '../db/together.ts'
import { addUnresolved, lockUnresolved, takeUnresolved } from './unresolved-funds.sql.ts'

const gateway = await testGateway()
const { db } = gateway
const account = await testAccount(gateway)
let payments: readonly PaymentId[] = []
before(async () => {
  payments = (await Promise.all([1, 2, 3].map(() => testPayment(gateway, account)))).map(({ id }) => id)
})
const nothing = () => db.query('delete from unresolved_funds')

const keyOf = (number: number) => ({
  accountId: account.id,
  paymentId: payments[number] ?? assert.fail(),
  asset: 'LTC' as const,
})
const heldFor = async (number: number): Promise<bigint | null> => {
  const { rows } = await db.query<{ atoms: bigint }>(
    'select atoms from unresolved_funds where payment_id = $1',
    [payments[number]],
  )
  return rows[0]?.atoms ?? null
}
/** A story for each of the changes: of a payment, what is added or taken. */
const change = (changes: readonly (readonly [payment: number, atoms: bigint])[]) =>
  db.transaction((tx) =>
    together(
      tx,
      changes,
      () => null,
      (one, [payment, atoms]) =>
        atoms < 0n ? takeUnresolved(one, keyOf(payment), -atoms) : addUnresolved(one, keyOf(payment), atoms),
    ),
  )
const look = (tx: Tx, number: number) => lockUnresolved(tx, account.id, keyOf(number).paymentId)

const step = fc.array(fc.tuple(fc.nat({ max: 2 }), fc.bigInt({ min: -30n, max: 30n })), {
  minLength: 1,
  maxLength: 8,
})

test('each payment holds the sum of what its own was added and taken, or none changes where one sum is below zero', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
      await nothing()
      const held = [0n, 0n, 0n]
      for (const changes of steps) {
        const after = held.map((atoms, payment) =>
          changes.filter(([of]) => of === payment).reduce((sum, [, more]) => sum + more, atoms),
        )
        if (after.every((atoms) => atoms >= 0n)) {
          await change(changes)
          held.splice(0, 3, ...after)
        } else await assert.rejects(change(changes))
        for (const [payment, atoms] of held.entries()) assert.equal((await heldFor(payment)) ?? 0n, atoms)
      }
    }),
    { numRuns: 40 },
  )
})

test('of many payments each gives what it holds, from rows of an earlier transaction', async () => {
  await nothing()
  await change([
    [0, 90n],
    [1, 10n],
    [2, 15n],
  ])
  await change([
    [2, -10n],
    [0, -90n],
    [1, -4n],
  ])
  assert.deepEqual(await Promise.all([0, 1, 2].map(heldFor)), [0n, 6n, 5n])
})

test('what one transaction adds and takes again leaves no row', async () => {
  await nothing()
  await change([
    [0, 50n],
    [0, -50n],
    [1, 50n],
    [1, -30n],
  ])
  assert.deepEqual(await Promise.all([0, 1].map(heldFor)), [null, 20n])
})

test('nothing is given out twice, nor what is held for another payment', async () => {
  await nothing()
  await change([
    [0, 90n],
    [1, 15n],
  ])
  const twice = [
    [1, -10n],
    [1, -10n],
  ] as const
  await assert.rejects(change(twice), { code: '23514' })
  await assert.rejects(change([[1, -16n]]), { code: '23514' })
  assert.deepEqual(await Promise.all([0, 1].map(heldFor)), [90n, 15n])
})

test('of what never held anything nothing is taken, and the failure names it', async () => {
  await nothing()
  await change([[0, 5n]])
  const taken = change([
    [0, -1n],
    [2, -1n],
  ])
  await assert.rejects(taken, {
    message: `nothing of LTC is held for payment ${showId('pay', payments[2] as PaymentId)}`,
  })
  assert.equal(await heldFor(0), 5n)
})

test('no sign is turned around', async () => {
  await assert.rejects(
    db.transaction((tx) => addUnresolved(tx, keyOf(0), -1n)),
    /can not be held/,
  )
  await assert.rejects(
    db.transaction((tx) => takeUnresolved(tx, keyOf(0), -1n)),
    /can not be taken/,
  )
})

test('who looks at what is held sees all that was put off of it, and has nothing else done', async () => {
  await nothing()
  await change([[0, 9n]])
  const done: string[] = []
  const balances = async () => void done.push('balances')
  await db.transaction((tx) =>
    together(
      tx,
      ['adds', 'takes', 'looks'],
      () => null,
      async (one, what) => {
        await doLast(one, balances, what)
        if (what === 'adds') await addUnresolved(one, keyOf(1), 7n)
        else if (what === 'takes') await takeUnresolved(one, keyOf(0), 2n)
        else {
          assert.deepEqual(await look(one, 0), [{ asset: 'LTC', atoms: 7n }])
          await takeUnresolved(one, keyOf(0), 3n)
          assert.deepEqual(await look(one, 0), [{ asset: 'LTC', atoms: 4n }])
          assert.deepEqual(await look(one, 1), [{ asset: 'LTC', atoms: 7n }])
          assert.deepEqual(done, [])
        }
      },
    ),
  )
  assert.deepEqual(done, ['balances'])
})
