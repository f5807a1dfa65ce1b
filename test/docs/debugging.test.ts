/** The SQL of docs/internals/debugging.md runs on the schema as it is, and finds what its sentence says. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { showId } from '../../src/core/ids.ts'
import { testPayment } from '../gateway.ts'
import { tellStory } from '../story.ts'

const page = await readFile('docs/internals/debugging.md', 'utf8')
const queries = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) => sql)
const query = (beginning: RegExp): string =>
  queries.find((sql) => beginning.test(sql)) ?? assert.fail(`no query like ${beginning} on the page`)

test('a settled payment is followed from its address to what its merchant was told', async () => {
  const story = await tellStory()
  const { db } = story.gateway
  const payment = await testPayment(story.gateway, story.account)
  await story.payAndConfirm(payment, payment.dueAtoms)

  const { rows: found } = await db.query<{ id: string; status: string }>(
    query(/from payments where address/),
    [payment.address],
  )
  assert.deepEqual([found[0]?.id, found[0]?.status], [payment.id, 'completed'])
  const key = [story.account.id, payment.id]
  const { rows: deposits } = await db.query<{ amount_atoms: bigint }>(query(/^select tx_hash/), key)
  assert.deepEqual([deposits.length, deposits[0]?.amount_atoms], [1, payment.dueAtoms])
  const { rows: booked } = await db.query<{ kind: string }>(query(/^select e\.kind/), key)
  assert.deepEqual([...new Set(booked.map(({ kind }) => kind))], ['deposit', 'settlement'])
  const { rows: told } = await db.query<{ type: string }>(query(/^select e\.type/), [
    story.account.id,
    showId('pay', payment.id),
  ])
  assert.deepEqual(
    told.map(({ type }) => type),
    ['payment.created', 'payment.confirming', 'payment.completed'],
  )
  const { rows: waiting } = await db.query<{ count: bigint }>(query(/payments to decide/))
  assert.deepEqual(
    waiting.map(({ count }) => count),
    [0n, 0n, 0n, 0n],
  )
})

test('the query that follows a withdrawal fits the schema', async () => {
  const story = await tellStory()
  const nobody = '00000000-0000-7000-8000-000000000000'
  const { rows } = await story.gateway.db.query(query(/^select w\.status/), [story.account.id, nobody])
  assert.deepEqual(rows, [])
})
