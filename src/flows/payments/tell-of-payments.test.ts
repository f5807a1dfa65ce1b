/** Mails about live payments reach those of the team who want them, and nobody else. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { testApp } from '../../../test/api.ts'
import { signedIn, testPerson } from '../../../test/dashboard.ts'
import { testAccount, testPayment } from '../../../test/gateway.ts'
import { type Story, settleSideBySide, tellStory } from '../../../test/story.ts'
import { listAlerts } from '../../alerts/alerts.sql.ts'
import { showId } from '../../core/ids.ts'
import { claimMails, finishMail, openLetter, queueMails } from '../../mails/mails.sql.ts'
import type { Role } from '../../users/permissions.ts'
import { merchantOfAccount } from '../people/merchants.ts'
import { tellOfPayments } from './tell-of-payments.ts'

const COIN = 100_000_000n

const scene = async (freshPerChain = 8) => tellLive(await tellStory({ freshPerChain }))

/** What is paid in simulated coins counts as paid in real ones, since the merchant says that this is his live account. */
async function tellLive(story: Story) {
  const { gateway, account } = story
  Object.assign(gateway.settings, { sendsMail: true })
  const { id } = await gateway.db.transaction((tx) => merchantOfAccount(tx, account))
  const setLive = (isLive: boolean) =>
    gateway.db.query('update merchants set live_account_id = $2, test_account_id = $3 where id = $1', [
      id,
      isLive ? account.id : null,
      isLive ? null : account.id,
    ])
  const member = async (role: Role, mails?: string[]) => {
    const { userId, email } = await signedIn(gateway.db, { account, role })
    if (mails)
      await gateway.db.query('update members set payment_mails = $2 where user_id = $1', [userId, mails])
    return email
  }
  /** What was queued since the last look, `recipient: subject`, in their order. */
  const mails = async () => {
    const claimed = await claimMails(gateway.db, 100)
    for (const each of claimed) await finishMail(gateway.db, each.id, 'sent', null)
    return claimed.map((each) => ({ to: each.recipient, ...openLetter(gateway.secrets, each) }))
  }
  const lines = async () => (await mails()).map(({ to, subject }) => `${to}: ${subject}`).sort()
  await setLive(true)
  return { ...story, setLive, member, mails, lines }
}

test('what waits for a decision is told to those who may decide, unless they want not to; what is paid to those who ask for it', async () => {
  const story = await scene()
  const { gateway, account } = story
  const owner = await story.member('owner')
  await story.member('admin', [])
  const support = await story.member('support', ['decision', 'paid'])
  await story.member('viewer')
  const finance = await story.member('finance', ['paid'])

  const short = await testPayment(gateway, account, {
    reference: 'order-7',
    customerEmail: 'ann@example.com',
  })
  await story.payAndConfirm(short, COIN / 2n)
  const [first, ...others] = await story.mails()
  assert.deepEqual([first, ...others].map((mail) => mail?.to).sort(), [owner, support].sort())
  assert.equal(first?.subject, 'Shop: a payment of 100 USD waits for a decision')
  assert.match(
    first?.text ?? '',
    /for which 1 LTC was asked, got less than was asked\. Held until somebody credits it or sends it back: 0\.5 LTC\./,
  )
  assert.match(first?.text ?? '', /^Your reference: order-7$/m)
  assert.match(
    first?.text ?? '',
    new RegExp(`/dashboard/${showId('acct', account.id)}/payments/${showId('pay', short.id)}$`, 'm'),
  )
  assert.doesNotMatch(first?.text ?? '', /ann@example/, 'whose it is stays in the database')

  const exact = await testPayment(gateway, account)
  await story.payAndConfirm(exact, COIN)
  assert.deepEqual(await story.lines(), [finance, support].map((to) => `${to}: Shop: 100 USD paid`).sort())

  const much = await testPayment(gateway, account)
  await story.payAndConfirm(much, 2n * COIN)
  assert.deepEqual(
    await story.lines(),
    [
      ...[owner, support].map(
        (to) => `${to}: Shop: what came beyond a payment of 100 USD waits for a decision`,
      ),
      ...[finance, support].map((to) => `${to}: Shop: 100 USD paid`),
    ].sort(),
  )

  const late = await testPayment(gateway, account)
  await story.endWindow(late)
  await story.mine(1)
  await story.look()
  assert.equal((await story.read(late)).status, 'expired')
  assert.deepEqual(await story.lines(), [], 'unpaid is nothing to decide about')
  await story.payAndConfirm(late, COIN)
  assert.deepEqual(
    await story.lines(),
    [owner, support].map((to) => `${to}: Shop: a payment of 100 USD waits for a decision`).sort(),
  )
  await story.look()
  assert.deepEqual(await story.lines(), [], 'told once')
})

test('a reorganisation tells nobody a second time', async () => {
  const story = await scene()
  await story.member('owner', ['paid'])
  const payment = await testPayment(story.gateway, story.account)
  await story.payAndConfirm(payment, COIN)
  assert.equal((await story.lines()).length, 1)
  await story.reorganise(7)
  await story.look()
  await story.mine(7)
  await story.look()
  assert.equal((await story.read(payment)).status, 'completed')
  assert.deepEqual(await story.lines(), [])
})

test('nobody is told of a test account, without a mail server, or more than thirty times an hour', async () => {
  const story = await scene()
  const { gateway, account } = story
  const owner = await story.member('owner', ['paid'])
  const paid = async () => story.payAndConfirm(await testPayment(gateway, account), COIN)
  await story.setLive(false)
  await paid()
  assert.deepEqual(await story.lines(), [])
  await story.setLive(true)
  Object.assign(gateway.settings, { sendsMail: false })
  await paid()
  assert.deepEqual(await story.lines(), [])
  Object.assign(gateway.settings, { sendsMail: true })
  for (let count = 0; count < 29; count++)
    await queueMails(gateway.db, gateway.secrets, [
      {
        cause: `earlier:${count}`,
        kind: 'paid',
        to: [owner.toUpperCase()],
        letter: { subject: 's', text: 't' },
      },
    ])
  await story.mails()
  await paid()
  assert.match((await story.mails())[0]?.text ?? '', /the last of these mails for this hour/)
  await paid()
  assert.deepEqual(await story.lines(), [])
  await gateway.db.query(`update members set payment_mails = '{decision,paid}'`)
  await story.payAndConfirm(await testPayment(gateway, account), COIN / 2n)
  assert.deepEqual(
    await story.lines(),
    [`${owner}: Shop: a payment of 100 USD waits for a decision`],
    'what is paid uses up nothing of what waits for a decision',
  )
})

test('forty payments that settle at once are thirty mails, one of them the last, whether by one worker or by two', async () => {
  const story = await scene(48)
  const owner = await story.member('owner', ['paid'])
  await settleSideBySide(story, 40)
  const mails = await story.mails()
  assert.equal(mails.length, 30)
  assert.ok(mails.every(({ to, subject }) => to === owner && subject === 'Shop: 100 USD paid'))
  assert.equal(mails.filter(({ text }) => text.includes('the last of these mails for this hour')).length, 1)
})

test('many payments that settle at once are told of in as many statements as one', async () => {
  const story = await scene(16)
  const { gateway, account } = story
  await story.member('owner', ['paid'])
  const statementsOf = async (count: number) => {
    const settled = await Promise.all(
      Array.from({ length: count }, async () => ({
        before: 'detected' as const,
        payment: { ...(await testPayment(gateway, account)), status: 'completed' as const },
        booked: null,
      })),
    )
    let statements = 0
    await gateway.db.transaction((tx) =>
      tellOfPayments(
        gateway,
        {
          ...tx,
          query(...asked) {
            statements += 1
            return tx.query<never>(...asked)
          },
        },
        settled,
      ),
    )
    assert.equal((await story.mails()).length, count)
    return statements
  }
  assert.equal(await statementsOf(12), await statementsOf(1))
})

test('a payment is credited though its mail can not be written, and others that settle with it are told of', async () => {
  const story = await scene()
  const { gateway, account } = story
  const owner = await story.member('owner', ['paid'])
  const other = await testAccount(gateway)
  const { userId } = await signedIn(gateway.db, { account: other, role: 'owner' })
  await gateway.db.query(`update members set payment_mails = '{paid}' where user_id = $1`, [userId])
  const { id } = await gateway.db.transaction((tx) => merchantOfAccount(tx, other))
  await gateway.db.query(
    'update merchants set live_account_id = test_account_id, test_account_id = null where id = $1',
    [id],
  )
  // Too long for `mails`, by whatever way it came in.
  await gateway.db.query('alter table users drop constraint users_email_check')
  await gateway.db.query(`update users set email = repeat('a', 300) || '@example.com' where id = $1`, [
    userId,
  ])
  const payments = [await testPayment(gateway, account), await testPayment(gateway, other)]
  for (const payment of payments) await story.pay(payment, COIN)
  await story.mine(payments[0]?.requiredConfirmations ?? 0)
  await story.look()
  const { rows } = await gateway.db.query<{ status: string }>('select status from payments')
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['completed', 'completed'],
  )
  assert.deepEqual(await story.lines(), [`${owner}: Shop: 100 USD paid`])
  assert.deepEqual(await listAlerts(gateway.db, { all: false, limit: 10 }), [])
})

test('each sets on the page of his sign-in what he wants, for each merchant, and no other’s', async () => {
  const story = await scene()
  const { gateway, account } = story
  const app = await testApp(gateway)
  const viewer = await testPerson(gateway, app, { account, role: 'viewer' })
  const support = await testPerson(gateway, app, { account, role: 'support' })
  const stranger = await testPerson(gateway, app)
  assert.doesNotMatch((await viewer.get('/dashboard/me')).html, /value="decision"/)
  const page = await support.get('/dashboard/me')
  assert.match(page.html, /value="decision" checked/)
  const merchant = /name="merchant" value="(mer_\w+)"/.exec(page.html)?.[1] ?? ''
  assert.equal(
    (await support.post('/dashboard/me/mails', { merchant, mails: 'paid' })).location,
    '/dashboard/me?done=saved',
  )
  const changed = await support.get('/dashboard/me')
  assert.match(changed.html, /value="paid" checked/)
  assert.doesNotMatch(changed.html, /value="decision" checked/)
  assert.equal((await stranger.post('/dashboard/me/mails', { merchant, mails: 'paid' })).status, 404)
  const { rows } = await gateway.db.query(
    `select subject, before, after from audit_log where action = 'user.mails'`,
  )
  assert.deepEqual(rows, [{ subject: merchant, before: { mails: ['decision'] }, after: { mails: ['paid'] } }])
  await story.setLive(false)
  assert.doesNotMatch(
    (await support.get('/dashboard/me')).html,
    /Mails about payments/,
    'of tests nobody is told',
  )
})

test('the wrong coin is told of when the payment does not wait any more, with what is held', async () => {
  const story = await tellLive(await tellStory({ chain: 'sim-ethereum' }))
  const { gateway, account } = story
  const owner = await story.member('owner', ['decision', 'paid'])
  const asked = await testPayment(gateway, account, { asset: 'USDC' })
  await story.payAndConfirm(asked, 40_000_000_000_000_000n, 'ETH')
  assert.equal((await story.read(asked)).status, 'pending')
  assert.deepEqual(await story.lines(), [], 'the right one may still come')
  await story.endWindow(asked)
  await story.mine(1)
  await story.look()
  assert.equal((await story.read(asked)).status, 'expired')
  const [mail, ...others] = await story.mails()
  assert.equal(others.length, 0)
  assert.deepEqual([mail?.to, mail?.subject], [owner, 'Shop: a payment of 100 USD waits for a decision'])
  assert.match(mail?.text ?? '', /got another coin than was asked\. Held until .*: 0\.04 ETH\./)
  await story.payAndConfirm(asked, 10_000_000_000_000_000n, 'ETH')
  assert.match((await story.mails())[0]?.text ?? '', /another coin .*: 0\.05 ETH\./)

  const paid = await testPayment(gateway, account, { asset: 'USDC' })
  await story.payAndConfirm(paid, paid.dueAtoms)
  assert.deepEqual(await story.lines(), [`${owner}: Shop: 100 USD paid`])
  const beyond = [`${owner}: Shop: what came beyond a payment of 100 USD waits for a decision`]
  for (const [atoms, asset] of [
    [10_000_000_000_000_000n, 'ETH'],
    [5_000_000n, 'USDC'],
    [6_000_000n, 'USDC'],
  ] as const) {
    await story.payAndConfirm(paid, atoms, asset)
    assert.deepEqual(await story.lines(), beyond, `${atoms} ${asset}`)
  }
  await story.look()
  assert.deepEqual(await story.lines(), [])
})
