/** Receipts by mail reach the buyer of a payment, and nobody else. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { pathOf, testHosted } from '../../../test/hosted.ts'
import { listMails, mailsOfCauses, openLetter, pruneMails } from '../../mails/mails.sql.ts'

const hosted = await testHosted()
const { story, get, post } = hosted
const { db, secrets, settings } = story.gateway
const COIN = 100_000_000n

/** A mail server is set, and what is paid in simulated coins counts as paid in real ones. */
const goLive = async (isLive: boolean) => {
  Object.assign(settings, { sendsMail: isLive })
  await db.query('update accounts set mode = $2 where id = $1', [story.account.id, isLive ? 'live' : 'test'])
}

async function paid(email: string | null, typed?: string) {
  await goLive(false)
  const id = await hosted.open({ customerEmail: email, label: 'Order 7\r\nBcc: eve@example.com' })
  const payment = await hosted.pick(id, 'LTC', typed === undefined ? {} : { email: typed })
  await story.payAndConfirm(payment, COIN)
  await goLive(true)
  return { path: pathOf(id), payment }
}
const receipts = async () => (await listMails(db, 100)).filter(({ kind }) => kind === 'receipt')

test('it goes to the address that the merchant gave or the buyer typed, once, in his language', async () => {
  for (const [email, typed] of [['ann@example.com'], [null, 'bo@example.com']] as const) {
    const { path, payment } = await paid(email, typed)
    const to = email ?? typed ?? ''
    const { html } = await get(path)
    assert.match(html, new RegExp(`Mail the receipt to <bdi>${to[0]}•••@example\\.com</bdi>`))
    assert.doesNotMatch(html, new RegExp(to))
    for (let time = 0; time < 3; time++)
      assert.equal((await post(`${path}/receipt?lang=de`, { email: 'eve@example.com' })).status, 303)
    assert.match((await get(path)).text, /The receipt is on its way to .•••@example\.com \./)
    const { rows } = await db.query<{ id: string; recipient: string; sealed: Buffer }>(
      'select id, recipient, content_sealed as sealed from mails where cause = $1',
      [`receipt:${payment.id}`],
    )
    assert.deepEqual(
      rows.map(({ recipient }) => recipient),
      [to],
    )
    const letter = rows[0] && openLetter(secrets, rows[0])
    assert.equal(letter?.subject, 'Quittung von Shop')
    assert.match(letter?.text ?? '', /^Für: Order 7 Bcc: eve@example\.com$/m)
    assert.match(letter?.text ?? '', /^Bezahlt: 1 LTC$/m)
    assert.match(letter?.text ?? '', new RegExp(`^http://127\\.0\\.0\\.1:8080${path}$`, 'm'))
  }
})

test('nothing goes without an email, before the payment is complete, in simulated coins, or without a mail server', async () => {
  const before = (await receipts()).length
  const nobody = await paid(null)
  const { path } = await paid('cy@example.com')
  await goLive(false)
  for (const [sendsMail, mode] of [
    [true, 'test'],
    [false, 'live'],
  ] as const) {
    Object.assign(settings, { sendsMail })
    await db.query('update accounts set mode = $2 where id = $1', [story.account.id, mode])
    assert.doesNotMatch((await get(path)).html, /Mail the receipt/)
    assert.equal((await post(`${path}/receipt`, {})).status, 303)
  }
  await goLive(false)
  const open = await hosted.open({ customerEmail: 'dee@example.com' })
  await hosted.pick(open)
  await goLive(true)
  for (const each of [nobody.path, pathOf(open)]) {
    assert.doesNotMatch((await get(each)).html, /Mail the receipt/)
    assert.equal((await post(`${each}/receipt`, {})).status, 303)
  }
  const foreign = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  assert.equal((await post(`${path}/receipt`, {}, foreign)).status, 403)
  assert.equal((await receipts()).length, before)
})

test('one address gets five a day, whoever asks', async () => {
  const statuses = []
  const asked = []
  for (let i = 0; i < 6; i++) {
    const { path, payment } = await paid('Fay@example.com')
    asked.push(`receipt:${payment.id}`)
    statuses.push((await post(`${path}/receipt`, {})).status)
  }
  assert.deepEqual(statuses, [303, 303, 303, 303, 303, 429])
  assert.equal((await mailsOfCauses(db, asked)).size, 5)
})

test('a receipt that was mailed is not mailed again when its mail is forgotten', async () => {
  const { path, payment } = await paid('gus@example.com')
  const after = async (days: number) => {
    await db.query(`update payments set completed_at = completed_at - $2 * interval '1 day' where id = $1`, [
      payment.id,
      days,
    ])
    await db.query(
      `update mails set created_at = created_at - $2 * interval '1 day',
      finished_at = finished_at - $2 * interval '1 day' where cause = $1`,
      [`receipt:${payment.id}`, days],
    )
    await pruneMails(db, 100)
  }
  const mailed = async () => (await mailsOfCauses(db, [`receipt:${payment.id}`])).size
  await after(29)
  assert.match((await get(path)).html, /Mail the receipt/, 'there is time for it')
  assert.equal((await post(`${path}/receipt`, {})).status, 303)
  assert.equal(await mailed(), 1)
  await db.query(
    `update mails set status = 'sent', content_sealed = null, finished_at = now() where cause = $1`,
    [`receipt:${payment.id}`],
  )
  for (const [days, rows] of [
    [2, 1],
    [29, 0],
  ] as const) {
    await after(days)
    assert.equal(await mailed(), rows)
    assert.doesNotMatch((await get(path)).html, /Mail the receipt/)
    assert.equal((await post(`${path}/receipt`, {})).status, 303)
    assert.equal(await mailed(), rows)
  }
})
