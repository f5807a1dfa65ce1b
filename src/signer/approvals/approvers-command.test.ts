/** `beck wallet approvers` with the signer's own user of the database. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makePasskey } from '../../../test/authenticator.ts'
import { databaseAs } from '../../../test/database.ts'
import { testAccount, testGateway } from '../../../test/gateway.ts'
import { fingerprintOf } from '../../approvals/approver.ts'
import { newId, newRowId, showId } from '../../core/ids.ts'
import { SIGNER_ROLE } from '../../db/grants.ts'
import { readApprovers } from './approvers.ts'
import { approversCommand } from './approvers-command.ts'

const DASHBOARD = 'https://dashboard.example.com'
const folder = await mkdtemp(join(tmpdir(), 'beck-approvers-'))
after(() => rm(folder, { recursive: true, force: true }))
const gateway = await testGateway()
const db = await databaseAs(gateway.db.url, SIGNER_ROLE)
const [live, sandbox] = [await testAccount(gateway, 'live'), await testAccount(gateway, 'test')]
const passkey = makePasskey()
const userId = newId('usr')
const merchant = newRowId()
await gateway.db.query(`insert into users (id, email, name) values ($1, 'ann@example.com', 'Ann')`, [userId])
await gateway.db.query(
  `insert into merchants (id, name, live_account_id, test_account_id) values ($1, 'Shop', $2, $3)`,
  [merchant, live.id, sandbox.id],
)
await gateway.db.query(`insert into members (merchant_id, user_id, role) values ($1, $2, 'finance')`, [
  merchant,
  userId,
])
await gateway.db.query(
  `insert into passkeys (user_id, id, credential_id, public_key, counter, name) values ($1, $2, $3, $4, 0, 'Key')`,
  [userId, newId('psk'), passkey.credentialId, passkey.publicKey],
)

const fingerprint = (account = live, origin = DASHBOARD): string =>
  fingerprintOf({
    account: showId('acct', account.id),
    user: showId('usr', userId),
    name: '',
    credentialId: passkey.credentialId.toString('base64url'),
    publicKey: passkey.publicKey.toString('base64url'),
    rpId: new URL(origin).hostname,
    origin,
  })

/** What the operator was asked last. */
let asked = ''

async function run(given: readonly string[], answer = 'yes', json = false): Promise<string> {
  const said: string[] = []
  const print = (text: string) => void said.push(text)
  const ask = async (question: string) => {
    asked = question
    return answer
  }
  await approversCommand({ db, folder, json, yes: false, dashboardUrl: `${DASHBOARD}/`, print, ask }, given)
  return said.join('\n')
}

test('a fingerprint leads to one person and one account, who are shown before anything is written', async () => {
  await assert.rejects(run(['add', fingerprint()], 'no'), { reason: 'not_confirmed' })
  assert.deepEqual(await readApprovers(folder), [])
  const said = await run(['add', ...fingerprint().toUpperCase().split(' ')])
  assert.match(said, /^Ann <ann@example\.com>, finance of Shop\n {2}account {6}acct_\w+ \(live\)/)
  const [pin, ...others] = await readApprovers(folder)
  assert.deepEqual([pin?.account, pin?.rpId, others], [showId('acct', live.id), 'dashboard.example.com', []])
  await assert.rejects(run(['add', fingerprint()]), { reason: 'already_an_approver' })
  await run(['add', fingerprint(sandbox)])
  assert.equal((await readApprovers(folder)).length, 2)
  assert.match(await run(['list']), new RegExp(`^${fingerprint()}  acct_`))
  const { approvers } = JSON.parse(await run(['list'], '', true))
  assert.deepEqual(
    approvers.map((each: { fingerprint: string }) => each.fingerprint),
    [fingerprint(), fingerprint(sandbox)],
  )
})

test('what is no fingerprint of a member’s passkey on these pages adds nobody', async () => {
  const before = await readApprovers(folder)
  for (const [given, reason] of [
    [['add', '0'.repeat(40)], 'no_such_passkey'],
    [['add', fingerprint(live, 'https://his.example.com')], 'no_such_passkey'],
    [['add', fingerprint().slice(0, -1)], 'unknown_command'],
    [['add', ''], 'unknown_command'],
    [['remove', '0'.repeat(40)], 'not_an_approver'],
    [['lend', fingerprint()], 'unknown_command'],
  ] as const)
    await assert.rejects(run(given), { reason }, given.join(' '))
  assert.deepEqual(await readApprovers(folder), before)
})

test('who is removed is gone from the folder, and shown as removed', async () => {
  await gateway.db.query(
    `insert into pinned_approvers (account_id, credential_id, user_id, name, fingerprint, pinned_at, counts_from)
     values ($1, $2, $3, 'Ann', $4, now(), now())`,
    [live.id, passkey.credentialId, userId, fingerprint()],
  )
  await run(['remove', fingerprint()])
  assert.deepEqual(
    (await readApprovers(folder)).map(({ account }) => account),
    [showId('acct', sandbox.id)],
  )
  const { rows } = await gateway.db.query('select removed_at is not null as gone from pinned_approvers')
  assert.deepEqual(rows, [{ gone: true }])
})

test('a program is answered with one object, and the operator is shown the same person beside it', async () => {
  for (const pin of await readApprovers(folder)) await run(['remove', fingerprintOf(pin)])
  const { added } = JSON.parse(await run(['add', fingerprint()], 'yes', true))
  assert.deepEqual([added.fingerprint, added.account], [fingerprint(), showId('acct', live.id)])
  assert.ok(asked.startsWith('Ann <ann@example.com>, finance of Shop\n') && asked.includes(fingerprint()))
  const { removed } = JSON.parse(await run(['remove', fingerprint()], '', true))
  assert.deepEqual(removed, added)
})
