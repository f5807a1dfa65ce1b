/** The pages of approvals, as people use them: the inbox, a request, the policy, approvers, the allowlist, bulk payouts. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testKey } from '../../../test/api.ts'
import { COIN_POLICY, pinApprover, publishAddress, publishPolicy } from '../../../test/approvals.ts'
import { homeOf, OWN_FORM, type Seen, type TestPerson, testPerson } from '../../../test/dashboard.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { readPolicy } from '../../approvals/approval-policy.ts'
import { type ApiKeyId, type ApprovalRequestId, newId, readId, showId } from '../../core/ids.ts'
import { requestBatch } from '../../flows/withdrawals/request-batch.ts'
import { requestWithdrawal } from '../../flows/withdrawals/request-withdrawal.ts'
import { readPayoutFile } from '../../withdrawals/payout-file.ts'

const story = await tellPayouts('sim-bitcoin')
const { gateway, account } = story
const app = await testApp(gateway)
const home = homeOf(account)
const destination = DESTINATIONS['sim-bitcoin']
await story.earn('BTC', 65_000n)
const person = (role: 'owner' | 'admin' | 'finance' | 'viewer') => testPerson(gateway, app, { account, role })
const [ada, bob, vera] = [await person('owner'), await person('finance'), await person('viewer')]
const bobsKey = await pinApprover(gateway.db, account.id, bob.userId)

const pathIn = (seen: Seen): string => seen.location?.split('?')[0] ?? ''

/** What the page gives to the browser. */
const optionsOf = (seen: Seen): { challenge: string; allowCredentials: { id: string }[] } | null => {
  const found = /data-passkey="([^"]*)"/.exec(seen.html)?.[1]
  return found ? JSON.parse(found.replaceAll('&quot;', '"')) : null
}

async function approve(who: TestPerson, path: string, key = bobsKey): Promise<Seen> {
  const options = optionsOf(await who.get(path))
  assert.ok(options, 'the page offers the passkey')
  assert.deepEqual(
    options.allowCredentials.map(({ id }) => id),
    [key.credentialId.toString('base64url')],
  )
  const assertion = key.answer(Buffer.from(options.challenge, 'base64url'))
  return who.post(`${path}/approve`, { assertion })
}

async function ask(amount: string): Promise<string> {
  const askedBy = showId('usr', ada.userId)
  const withdrawal = await gateway.db.transaction((tx) =>
    requestWithdrawal(gateway, tx, account, { asset: 'BTC', amount, destination, askedBy }),
  )
  return showId('wd', withdrawal.id)
}

test('a first policy is asked for by a form, refused while too few people are pinned, and approved by another one', async () => {
  const fields = { from_BTC: '0.0005', approvals_BTC: '1', keys: 'bound', delay_hours: '24' }
  assert.match((await ada.get(`${home}/approvals`)).text, /Nobody has to move the money alone/)
  const refused = await ada.post(`${home}/policy`, fields)
  assert.equal(refused.status, 409)
  assert.match(refused.text, /needs 2 people/)
  await pinApprover(gateway.db, account.id, ada.userId)
  const wrong = await ada.post(`${home}/policy`, { ...fields, from_BTC: '0,5' })
  assert.match(wrong.text, /give a decimal of BTC/)
  assert.match((await ada.get(`${home}/policy`)).html, /name="delay_hours"[^>]* required/)
  for (const delay_hours of ['', '721', '1e2'])
    assert.match((await ada.post(`${home}/policy`, { ...fields, delay_hours })).text, /give whole hours/)
  const asked = await ada.post(`${home}/policy`, fields)
  assert.equal(asked.status, 303)
  const page = await bob.get(pathIn(asked))
  assert.match(page.text, /Change the policy/)
  assert.match(page.text, /from 0\.0005 BTC: 1 approval/)
  assert.equal(optionsOf(await ada.get(pathIn(asked))), null, 'who asked approves nothing')
  const given = await approve(bob, pathIn(asked))
  assert.equal(given.status, 303, given.text)
  assert.match((await bob.get(pathIn(asked))).text, /The signer checks them now/)
  const { rows } = await gateway.db.query<{ terms: { policy: unknown } }>(
    'select terms from approval_requests',
  )
  assert.deepEqual(readPolicy(rows[0]?.terms.policy)?.coins, { BTC: { fromAtoms: 50_000n, approvals: 1 } })
})

test('what waits is on the overview of who is awaited, and on nobody else’s; a payout is released by a touch', async () => {
  await gateway.db.query(`update approval_requests set status = 'approved', decided_at = now()`)
  await publishPolicy(gateway.db, account.id, {
    ...COIN_POLICY,
    coins: { BTC: { fromAtoms: 50_000n, approvals: 1 } },
  })
  const id = await ask('0.001')
  assert.match((await bob.get(home)).text, /1 request waits for your approval/)
  assert.doesNotMatch((await ada.get(home)).text, /waits for your approval/)
  const inbox = await bob.get(`${home}/approvals`)
  assert.ok(inbox.text.includes(destination))
  assert.match(inbox.text, /0 of 1 approval, awaited from you/)
  const path = /href="([^"]*\/approvals\/apr_[^"]+)"/.exec(inbox.html)?.[1] ?? ''
  const page = await bob.get(path)
  for (const words of [destination, 'sim-bitcoin simulated', 'Pay 0.00099', 'Beck approval: version 1'])
    assert.ok(page.text.includes(words), words)
  assert.match((await ada.get(path)).text, /You asked for it, so others approve it/)
  assert.equal(optionsOf(await vera.get(path)), null)
  assert.match((await vera.post(`${path}/decline`)).text, /approvals:write/)
  assert.equal((await approve(bob, path)).status, 303)
  assert.doesNotMatch((await bob.get(home)).text, /waits for your approval/)
  assert.match((await ada.get(`${home}/withdrawals/${id}`)).text, /It waits for approvals/)
  const { rows } = await gateway.db.query<{ action: string; actor_name: string }>(
    `select action, actor_name from audit_log where action like 'approval.%' order by at desc limit 1`,
  )
  assert.deepEqual(rows, [{ action: 'approval.give', actor_name: bob.email }])
  // A key that may read sees who is awaited, and the contract's status stays what it was.
  const key = await testKey(gateway.db, account, ['withdrawals:read'])
  const answer = await call(app, key, 'GET', `/v1/withdrawals/${id}`)
  assert.equal(answer.data.status, 'requested')
  assert.deepEqual(
    { ...answer.data.approval, valid_until: '', requested_by: '' },
    { status: 'open', needed: 1, given: 1, valid_until: '', requested_by: '', awaiting: [] },
  )
})

test('an approval made for one request is refused on another, and nothing is kept', async () => {
  await ask('0.002')
  await ask('0.0021')
  const { rows } = await gateway.db.query<{ id: ApprovalRequestId }>(
    `select id from approval_requests where status = 'open' and act = 'withdrawal'
       and id not in (select request_id from approvals) order by created_at`,
  )
  const [one, other] = rows.map(({ id }) => `${home}/approvals/${showId('apr', id)}`)
  assert.ok(one && other)
  const options = optionsOf(await bob.get(one))
  const assertion = bobsKey.answer(Buffer.from(options?.challenge ?? '', 'base64url'))
  const refused = await bob.post(`${other}/approve`, { assertion })
  assert.equal(refused.status, 401)
  assert.match(refused.text, /What was signed is not what this request says now/)
  const declined = await bob.post(`${other}/decline`)
  assert.equal(declined.status, 303)
  assert.match((await bob.get(other)).text, /Declined by a member of the team/)
  assert.equal((await bob.post(`${other}/decline`)).status, 409)
})

test('of what a key asks, whoever made or rolled it is not awaited and reads why; the list of keys names him', async () => {
  const eve = await person('admin')
  await pinApprover(gateway.db, account.id, eve.userId)
  const shownKey = (seen: Seen) => /data-copy="(bk_test_\w+)"/.exec(seen.html)?.[1] ?? ''
  const askBy = async (key: string): Promise<{ awaiting: string[]; path: string }> => {
    const order = { asset: 'BTC', amount: '0.0006', destination_address: destination }
    const { data } = await call(app, key, 'POST', '/v1/withdrawals', { body: order })
    const { approval } = (await call(app, key, 'GET', `/v1/withdrawals/${data.id}`)).data
    const page = await ada.get(`${home}/withdrawals/${data.id}`)
    const path = /href="([^"]*\/approvals\/apr_[^"]+)"/.exec(page.html)?.[1] ?? ''
    return { awaiting: approval.awaiting.toSorted(), path }
  }
  const scopes = ['withdrawals:write', 'withdrawals:read']
  const made = await askBy(shownKey(await ada.post(`${home}/keys`, { name: 'Payroll', scopes })))
  assert.deepEqual(made.awaiting, [bob.name, eve.name].toSorted())
  const page = await ada.get(made.path)
  assert.match(page.text, /You made the API key that asked for it, so others approve it/)
  assert.ok(page.text.includes(`the API key Payroll , made by ${ada.name}`), page.text)
  const refused = await ada.post(`${made.path}/approve`, { assertion: '{}' })
  assert.match(refused.text, /You made the API key that asked for it: others approve it/)
  const { rows } = await gateway.db.query<{ id: ApiKeyId }>(`select id from api_keys where name = 'Payroll'`)
  assert.ok(rows[0])
  const rolled = await eve.post(`${home}/keys/${showId('key', rows[0].id)}/roll`, { overlap: '24' })
  assert.deepEqual((await askBy(shownKey(rolled))).awaiting, [ada.name, bob.name].toSorted())
  const list = await ada.get(`${home}/keys`)
  for (const words of [ada.name, eve.name, 'at the command line']) assert.ok(list.text.includes(words), words)
})

test('one request that cannot be read leaves the others on the page; what the signer turned down is said in words', async () => {
  await ask('0.0012')
  const { rows } = await gateway.db.query<{ id: ApprovalRequestId }>(
    `select id from approval_requests where status = 'open' order by created_at desc limit 1`,
  )
  assert.ok(rows[0])
  const path = `${home}/approvals/${showId('apr', rows[0].id)}`
  await approve(bob, path)
  await gateway.db.query(`update approvals set verdict = 'not_an_approver' where request_id = $1`, [
    rows[0].id,
  ])
  const page = await ada.get(path)
  assert.match(page.text, /the signer turned it down: the passkey is not pinned at the signer/)
  assert.match(page.text, /0 of 1 approval/)
  const [batch, unreadable] = [newId('bat'), newId('apr')]
  await gateway.db.query(
    `insert into payout_batches (account_id, id, chain, size, name, asked_by) values ($1, $2, 'sim-bitcoin', 1, 'Gone', 'unknown')`,
    [account.id, batch],
  )
  await gateway.db.query(
    `insert into approval_requests (account_id, id, act, batch_id, asked_by, needed, valid_until)
     values ($1, $2, 'batch', $3, 'unknown', 1, now() + interval '1 hour')`,
    [account.id, unreadable, batch],
  )
  const inbox = await bob.get(`${home}/approvals`)
  assert.match(inbox.text, /A request that cannot be shown now/)
  assert.ok(inbox.html.includes(path))
  const gone = await bob.get(`${home}/approvals/${showId('apr', unreadable)}`)
  assert.equal(gone.status, 200)
  assert.match(gone.text, /the payouts of its batch are missing in the database\. Nobody can approve it/)
  assert.equal(optionsOf(gone), null)
  assert.match(gone.html, /\/decline"/)
  await gateway.db.query(
    `update approval_requests set status = 'refused', refused_reason = 'cancelled', decided_at = now()
    where batch_id = $1`,
    [batch],
  )
})

test('approvers see their fingerprints and the operator’s command, and the team who is pinned', async () => {
  const fresh = await person('admin')
  assert.match((await fresh.get(`${home}/approvers`)).text, /No passkey yet/)
  const page = await bob.get(`${home}/approvers`)
  assert.match(page.text, /Fingerprint ([0-9a-f]{5} ){8}/)
  assert.match(page.text, /counts/)
  assert.ok((await ada.get(`${home}/approvers`)).text.includes(`${fresh.email}, admin`))
  for (const who of [bob, vera])
    assert.ok(!(await who.get(`${home}/approvers`)).text.includes(fresh.email), 'only with team:read')
  await gateway.db.query('delete from pinned_approvers where user_id = $1', [ada.userId])
  assert.match((await ada.get(`${home}/approvers`)).text, /npx beck wallet approvers add/)
  assert.doesNotMatch(page.text, /npx beck wallet approvers add/, 'not of what is pinned already')
})

test('an address is asked for and shown with its name; without the permission no form is there', async () => {
  await publishAddress(gateway.db, account.id, {
    network: 'litecoin',
    address: 'tltc1qcold',
    name: 'Cold wallet',
  })
  const asked = await ada.post(`${home}/allowlist`, {
    name: 'Supplier',
    network: 'bitcoin',
    destination_address: destination,
  })
  assert.equal(asked.status, 303, asked.text)
  assert.match((await bob.get(pathIn(asked))).text, /Allow Supplier/)
  assert.match((await ada.get(`${home}/allowlist`)).text, /Cold wallet/)
  const removed = await ada.post(`${home}/allowlist/remove`, {
    network: 'litecoin',
    destination_address: 'tltc1qcold',
  })
  assert.match((await bob.get(pathIn(removed))).text, /Take Cold wallet off the allowlist/)
  const form = /<form method="post" action="[^"]*allowlist/
  assert.match((await bob.get(`${home}/allowlist`)).html, form, 'finance asks too')
  assert.doesNotMatch((await vera.get(`${home}/allowlist`)).html, form)
  assert.equal((await vera.post(`${home}/allowlist`, { name: 'Hers' })).status, 403)
})

test('a file of payouts is checked line by line, and asked for as one once every line is right', async () => {
  const check = (payouts: string) =>
    ada.post(`${home}/withdrawals/batches/check`, { name: 'Salaries', payouts })
  const wrong = await check(`${destination},0.0001,BTC\nnowhere,0.0001,BTC\n${destination},9,BTC`)
  assert.match(wrong.text, /2 things to correct/)
  assert.match(wrong.text, /Line 2: &quot;nowhere&quot; is no bitcoin testnet address/)
  assert.match(wrong.text, /The lines of BTC take 9\.0001 BTC/)
  assert.doesNotMatch(wrong.html, /action="[^"]*\/withdrawals\/batches"/)
  const lines = `address,amount,coin,note\n${destination},0.0004,BTC,"Ada, may"\n${destination},0.0002,BTC`
  const good = await check(lines)
  assert.match(good.text, /All 2 lines can be paid out/)
  assert.match(good.text, /0\.0006 BTC/)
  // A file brings the same as what is pasted.
  const boundary = 'x-boundary'
  const part = (name: string, value: string, file = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
  const upload = (pasted: string) =>
    app.inject({
      method: 'POST',
      url: `${home}/withdrawals/batches/check`,
      headers: {
        cookie: ada.cookie,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        ...OWN_FORM,
      },
      payload: `${part('name', 'Salaries')}${part('payouts', pasted)}${part('file', lines, '; filename="p.csv"')}--${boundary}--\r\n`,
    })
  assert.match((await upload('')).body, /All 2 lines can be paid out/)
  // The lines of the file before stand in the form still when a corrected one is chosen.
  const corrected = await upload(`${destination},0.0001,BTC`)
  assert.match(corrected.body, /All 2 lines can be paid out/)
  const payouts = /name="payouts" value="([^"]*)"/.exec(good.html)?.[1]?.replaceAll('&quot;', '"') ?? ''
  const longest = Array.from(
    { length: 1_000 },
    (_, at) => `${destination},0.0001,BTC,"${'給'.repeat(76)}${at}"`,
  )
  assert.notEqual(
    (await ada.post(`${home}/withdrawals/batches`, { name: 'Salaries', payouts: longest.join('\n') })).status,
    413,
  )
  const confirm = await ada.post(`${home}/withdrawals/batches`, { name: 'Salaries', payouts })
  assert.match(confirm.text, /in 2 payouts/)
  const id = await gateway.db.transaction((tx) =>
    requestBatch(gateway, tx, account, {
      name: 'Salaries',
      lines: readPayoutFile(payouts).lines,
      askedBy: showId('usr', ada.userId),
    }),
  )
  const page = await ada.get(`${home}/withdrawals/batches/${showId('bat', id)}`)
  assert.match(page.text, /Ada, may/)
  assert.match(page.text, /It waits for approvals/)
  const apr = /approvals\/(apr_[0-9a-z]+)/.exec(page.html)?.[1] ?? ''
  assert.ok(readId('apr', apr))
  assert.match((await bob.get(`${home}/approvals/${apr}`)).text, /2 payouts of 0\.000\d+ BTC/)
})
