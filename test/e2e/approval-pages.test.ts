/**
 * The pages of approvals in real Chromium, two people in two profiles with a passkey each: what one asks for, the other looks at
 * and signs. What the signer publishes stands in the database as it writes it; that it releases the money is told elsewhere.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import test, { after } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import { fingerprintOf } from '../../src/approvals/approver.ts'
import { showId, type UserId } from '../../src/core/ids.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startServer } from '../../src/http/server.ts'
import { listPasskeys } from '../../src/users/factors.sql.ts'
import { UNLIMITED } from '../api.ts'
import { COIN_POLICY, publishAddress, publishPolicy } from '../approvals.ts'
import { axeFindings } from '../axe.ts'
import { giveAuthenticator, startBrowser } from '../browser.ts'
import { homeOf, testPerson } from '../dashboard.ts'
import { DESTINATIONS, tellPayouts } from '../payout-story.ts'

/** Where the guide's pictures go, when they are wanted. */
const pictures = process.env.BECK_SCREENSHOTS
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const

const story = await tellPayouts('sim-litecoin')
const { account } = story
await story.earn('LTC', 2_000_000n)
const port = await freePort()
const origin = `http://localhost:${port}`
const gateway = {
  ...story.gateway,
  settings: { ...story.gateway.settings, publicUrl: origin, dashboardUrl: origin },
}
const server = await startServer(gateway, { port, rateLimit: UNLIMITED })
after(() => server.close())
const browser = await startBrowser()
const home = homeOf(account)
const destination = DESTINATIONS['sim-litecoin']

interface Somebody {
  readonly userId: UserId
  readonly page: Page
  /** Ended, it would take the passkey along. */
  readonly devtools: CDPSession
}

const troubles: string[] = []

/** Signed in, in a profile of his own, with a passkey that he adds on the page of his sign-in. */
async function somebody(name: string, role: 'owner' | 'finance'): Promise<Somebody> {
  const person = await testPerson(gateway, server.app, { account, role })
  await gateway.db.query('update users set name = $2 where id = $1', [person.userId, name])
  const context = await browser.newContext({ viewport: SIZES.desktop })
  const [cookie = '', value = ''] = person.cookie.split('=')
  await context.addCookies([{ name: cookie, value, url: origin }])
  const page = await context.newPage()
  page.on('pageerror', (error) => troubles.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40\d/.test(message.text())) troubles.push(message.text())
  })
  const devtools = await giveAuthenticator(page)
  await page.goto(`${origin}/dashboard/me/passkeys`)
  await page.fill('#name', 'Laptop')
  await page.click('button:has-text("Add a passkey")')
  await page.waitForSelector('ol.codes')
  return { userId: person.userId, page, devtools }
}

const ada = await somebody('Ada Lovelace', 'owner')
const bob = await somebody('Bob Miller', 'finance')

/** As the signer publishes it once the operator has compared the fingerprint. */
async function pin({ userId }: Somebody, fingerprint: string): Promise<void> {
  const [passkey] = await listPasskeys(gateway.db, userId)
  assert.ok(passkey)
  await gateway.db.query(
    `insert into pinned_approvers (account_id, credential_id, user_id, name, fingerprint, pinned_at, counts_from)
     values ($1, $2, $3, 'Somebody', $4, now(), now())`,
    [account.id, passkey.credentialId, userId, fingerprint],
  )
}

/** Nothing is wider than the screen, axe finds nothing, in both sizes and colours; and a picture of each, where wanted. */
async function inspect(who: Somebody, name: string): Promise<void> {
  const { page: of } = who
  await of.locator('h1').click()
  for (const [size, viewport] of Object.entries(SIZES))
    for (const colorScheme of ['light', 'dark'] as const) {
      await of.setViewportSize(viewport)
      await of.emulateMedia({ colorScheme })
      const width = await of.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(width <= viewport.width, `${name} is ${width} wide on a ${size}`)
      if (pictures) {
        await mkdir(pictures, { recursive: true })
        const path = join(pictures, `approvals-${name}-${colorScheme}-${size}.png`)
        // The menu at the side is as long as the screen.
        const height = await of.evaluate<number>('document.documentElement.scrollHeight')
        await of.setViewportSize({ ...viewport, height: Math.max(height, viewport.height) })
        await of.screenshot({ path })
      }
      if ((size === 'phone') === (colorScheme === 'dark')) assert.deepEqual(await axeFindings(of), [], name)
    }
  await of.setViewportSize(SIZES.desktop)
  await of.emulateMedia({ colorScheme: 'light' })
}

test('each reads a fingerprint on the own page that the pin is made of, and the operator gets his command', async () => {
  for (const who of [ada, bob]) {
    await who.page.goto(`${origin}${home}/approvers`)
    const shown = await who.page.locator('.exact').innerText()
    const [passkey] = await listPasskeys(gateway.db, who.userId)
    const expected = fingerprintOf({
      account: showId('acct', account.id),
      user: showId('usr', who.userId),
      name: '',
      credentialId: passkey?.credentialId.toString('base64url') ?? '',
      publicKey: passkey?.publicKey.toString('base64url') ?? '',
      rpId: 'localhost',
      origin,
    })
    assert.equal(shown, expected)
    assert.match(await who.page.innerText('main'), /npx beck wallet approvers add/)
    if (who === ada) await inspect(ada, 'approvers')
    await pin(who, shown)
  }
})

test('one asks for a policy, and the other approves it with his passkey', async () => {
  const { page } = ada
  await page.goto(`${origin}${home}/policy`)
  await page.fill('#from_LTC', '10')
  await page.fill('#from_BTC', '0')
  await page.selectOption('#approvals_LTC', '1')
  await inspect(ada, 'policy')
  await page.click('button:has-text("Ask for this policy")')
  await page.waitForSelector('h1:has-text("Change the policy")')
  await bob.page.goto(page.url().split('?')[0] ?? '')
  await inspect(bob, 'policy-request')
  await bob.page.click('button:has-text("Approve with passkey")')
  await bob.page.waitForSelector('text=There are approvals enough')
  await gateway.db.query(`update approval_requests set status = 'approved', decided_at = now()`)
  await gateway.db.query(`update approvals set verdict = 'counts'`)
  await publishPolicy(gateway.db, account.id, {
    ...COIN_POLICY,
    coins: { LTC: { fromAtoms: 1_000_000_000n, approvals: 1 } },
  })
  await publishAddress(gateway.db, account.id, {
    network: 'litecoin',
    address: destination,
    name: 'Cold wallet',
  })
  await page.goto(`${origin}${home}/allowlist`)
  await inspect(ada, 'allowlist')
})

test('a payout above the bound waits; the other is told, sees the address and the exact text, and releases it by a touch', async () => {
  const { page } = ada
  await page.goto(`${origin}${home}/withdrawals/new`)
  await page.selectOption('#asset', 'LTC')
  await page.fill('#amount', '48')
  await page.fill('#destination_address', destination)
  await page.click('button:has-text("Go on")')
  await page.click('button:has-text("Confirm with a passkey")')
  await page.waitForSelector('text=It waits for approvals')
  await bob.page.goto(`${origin}${home}`)
  await bob.page.click('text=Look and decide')
  await bob.page.waitForSelector('h2:has-text("1 request for you")')
  await inspect(bob, 'inbox')
  await bob.page.click('text=Look and decide')
  await bob.page.waitForSelector('h2:has-text("Your decision")')
  assert.ok((await bob.page.innerText('main')).includes(destination))
  await inspect(bob, 'request')
  await bob.page.click('summary:has-text("The exact text")')
  assert.match(
    await bob.page.locator('details pre').innerText(),
    /^Beck approval: version 1\nact: pay out one withdrawal\n/,
  )
  await bob.page.click('button:has-text("Approve with passkey")')
  await bob.page.waitForSelector('text=There are approvals enough')
  const { rows } = await gateway.db.query<{ user_id: UserId }>(
    `select a.user_id from approvals a join approval_requests r on r.id = a.request_id where r.act = 'withdrawal'`,
  )
  assert.deepEqual(rows, [{ user_id: bob.userId }])
  // Who asked is offered no button.
  await page.goto(bob.page.url().split('?')[0] ?? '')
  assert.equal(await page.locator('button:has-text("Approve")').count(), 0)
})

test('a pasted file is checked, corrected, asked for by a touch, and waits as one', async () => {
  const { page } = ada
  const paste = async (lines: string) => {
    await page.goto(`${origin}${home}/withdrawals/batches/new`)
    await page.fill('#name', 'Salaries November')
    await page.fill('#payouts', lines)
    await page.click('button:has-text("Check")')
    await page.waitForSelector('.notice')
  }
  await page.goto(`${origin}${home}/withdrawals/batches/new`)
  await inspect(ada, 'bulk-new')
  await paste(`${destination},1,LTC\nnobody,1,LTC\n${destination},-1,LTC`)
  assert.match(await page.innerText('main'), /2 things to correct/)
  await inspect(ada, 'bulk-wrong')
  const lines = Array.from({ length: 6 }, (_, at) => `${destination},${at + 2}.25,LTC,Salary ${at + 1}`)
  await paste(['address,amount,coin,note', ...lines].join('\n'))
  await inspect(ada, 'bulk')
  await page.click('button:has-text("Ask for 6 payouts")')
  await page.click('button:has-text("Confirm with a passkey")')
  await page.waitForSelector('text=It waits for approvals')
  await inspect(ada, 'bulk-waiting')
  await page.click('text=See who is awaited')
  const request = page.url()
  await bob.page.goto(request)
  await inspect(bob, 'bulk-request')
  await bob.page.click('button:has-text("Decline")')
  await bob.page.waitForSelector('text=Declined by a member of the team')
  await bob.page.goto(`${origin}${home}/approvals`)
  await inspect(bob, 'decided')
})

test('nothing was complained of by the browser', () => {
  assert.deepEqual(troubles, [])
})
