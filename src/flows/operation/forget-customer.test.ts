/** One person is forgotten: nothing of the database says his name any more, and every proof still holds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPayment, testSession } from '../../../test/gateway.ts'
import { tellStory } from '../../../test/story.ts'
import { chainActs, recordAct, verifyAuditLog } from '../../audit/audit-log.sql.ts'
import { newId, showId } from '../../core/ids.ts'
import type { Queryable } from '../../db/database.ts'
import { queueMails } from '../../mails/mails.sql.ts'
import { renameCustomer } from '../../payments/customers.sql.ts'
import { forgetCustomers } from './forget-customer.ts'

const EMAIL = 'Grace.O"Hopper@example.com'
const NAME = 'Grace Hopper'

/** Tables of which a row says a text, whatever its case. Sealed answers are gone after 24 hours. */
async function tablesThatSay(db: Queryable, text: string): Promise<string[]> {
  const { rows: tables } = await db.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' order by 1",
  )
  const said: string[] = []
  for (const { name } of tables) {
    const { rowCount } = await db.query(
      `select from ${name} t where strpos(lower(row_to_json(t)::text), lower($1)) > 0 limit 1`,
      [text],
    )
    if (rowCount > 0) said.push(name)
  }
  return said
}

test('name and email of a customer go, everywhere; amounts, MACs, books and the audit chain stay', async () => {
  const story = await tellStory()
  const { gateway, account } = story
  const { db, secrets } = gateway
  const big = '{"order":12345678901234567890}'
  const paid = await testPayment(gateway, account, { customerEmail: EMAIL, metadata: big })
  await testPayment(gateway, account, { customerEmail: EMAIL.toUpperCase() })
  await testPayment(gateway, account, { customerEmail: 'other@example.com' })
  await testSession(gateway, account, { customerEmail: EMAIL })
  await story.payAndConfirm(paid, 100_000_000n)
  const before = await story.read(paid)
  const { customerId } = paid
  assert.ok(customerId)
  const subject = showId('cus', customerId)
  await db.transaction(async (tx) => {
    await renameCustomer(tx, account.id, customerId, NAME)
    for (const after of [{ name: NAME }, { note: `asked by ${EMAIL}` }])
      await recordAct(tx, {
        accountId: account.id,
        actor: { kind: 'user', id: 'usr_1', name: 'Support' },
        address: null,
        action: 'name' in after ? 'customer.rename' : 'account.change',
        subject: 'name' in after ? subject : 'acct_1',
        before: null,
        after,
      })
  })
  await queueMails(db, secrets, [
    { cause: `receipt:${paid.id}`, kind: 'receipt', to: [EMAIL], letter: { subject: 'x', text: 'x' } },
  ])
  const user = newId('usr')
  await db.query("insert into users (id, email, name) values ($1, 's@example.com', 'Support')", [user])
  await db.query(
    `insert into saved_views (user_id, account_id, id, page, name, query) values ($1, $2, $3, 'payments', 'x', $4)`,
    [user, account.id, newId('view'), `filter_email=${encodeURIComponent(EMAIL)}`],
  )
  await db.query(
    `insert into notes (account_id, id, subject_kind, subject_id, text, user_id) values ($1, $2, 'payment', $3, $4, $5)`,
    [account.id, newId('note'), paid.id, `ask ${EMAIL}`, user],
  )
  await chainActs(db, secrets, 100)
  const json = (text: string) => JSON.stringify(text).slice(1, -1)
  const told = [...(await tablesThatSay(db, json(EMAIL))), ...(await tablesThatSay(db, json(json(EMAIL))))]
  assert.deepEqual(told.toSorted(), [
    'audit_log',
    'checkout_sessions',
    'customers',
    'events',
    'mails',
    'notes',
    'payments',
  ])

  const record = (tx: Parameters<typeof recordAct>[0]) =>
    recordAct(tx, {
      accountId: account.id,
      actor: { kind: 'cli', id: 'root', name: null },
      address: null,
      action: 'customer.forget',
      subject,
      before: null,
      after: null,
    })
  const done = await forgetCustomers(db, secrets, { email: EMAIL.toLowerCase() }, null, record)
  assert.deepEqual(done, [
    {
      accountId: account.id,
      id: customerId,
      payments: 2,
      sessions: 1,
      events: done[0]?.events,
      views: 1,
      acts: 2,
    },
  ])
  assert.ok((done[0]?.events ?? 0) >= 3, 'created, confirming, completed, and that of the second payment')

  for (const text of [json(EMAIL), json(json(EMAIL)), EMAIL, 'hopper', NAME, encodeURIComponent(EMAIL)])
    assert.deepEqual(await tablesThatSay(db, text), [], text)
  assert.equal((await tablesThatSay(db, 'other@example.com')).length, 3, 'nobody else is forgotten')
  const nobody = `${subject}@forgotten.invalid`
  const after = await story.read(paid)
  assert.deepEqual(after, { ...before, customers: { id: subject, email: nobody } })
  const { rows } = await db.query<{ body: string }>(
    "select body from events where type = 'payment.completed'",
  )
  assert.ok(rows[0]?.body.includes(big), 'the merchant’s metadata, number by number')
  assert.equal(JSON.parse(rows[0]?.body ?? '').data.customers.email, nobody)
  await chainActs(db, secrets, 100)
  const proof = await verifyAuditLog(db, secrets)
  assert.deepEqual([proof.broken, proof.entries, proof.unchained], [null, 3n, 0n])
  await story.proveBooks()

  assert.deepEqual(await forgetCustomers(db, secrets, { email: EMAIL }, null, record), [])
  const back = await testPayment(gateway, account, { customerEmail: EMAIL })
  assert.notEqual(back.customerId, customerId, 'who comes back is somebody new')
})

test('an audit log that was tampered with is not made whole by forgetting somebody', async () => {
  const { gateway, account } = await tellStory()
  const { db, secrets } = gateway
  const payment = await testPayment(gateway, account, { customerEmail: EMAIL })
  const subject = showId('cus', payment.customerId ?? assert.fail())
  for (const name of ['A', 'B'])
    await db.transaction((tx) =>
      recordAct(tx, {
        accountId: account.id,
        actor: { kind: 'user', id: 'usr_1', name: null },
        address: null,
        action: 'customer.rename',
        subject,
        before: null,
        after: { name },
      }),
    )
  await chainActs(db, secrets, 100)
  await db.transaction(async (tx) => {
    await tx.query('alter table audit_log disable trigger user')
    await tx.query(`update audit_log set actor_id = 'usr_2' where place = 1`)
    await tx.query('alter table audit_log enable trigger user')
  })
  await assert.rejects(
    forgetCustomers(db, secrets, { email: EMAIL }, null, async () => {}),
    { reason: 'audit_log_broken' },
  )
  assert.ok((await tablesThatSay(db, 'hopper')).includes('customers'), 'all of it or nothing')
})
