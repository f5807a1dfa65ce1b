/** Requests for approvals, as people's answers, time and the signer's word move them. Real passkeys, made in the test. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COIN_POLICY, pinApprover, publishAddress, publishPolicy } from '../../../test/approvals.ts'
import { makePasskey } from '../../../test/authenticator.ts'
import { databaseAs } from '../../../test/database.ts'
import { DESTINATIONS, tellPayouts } from '../../../test/payout-story.ts'
import { createApiKey } from '../../accounts/api-keys.sql.ts'
import type { ApprovalRequest } from '../../approvals/approval-request.ts'
import { listRequests } from '../../approvals/approval-requests.sql.ts'
import { type AskedBy, askedByKey } from '../../approvals/asker.ts'
import { challengeOf } from '../../approvals/statement.ts'
import { newId, showId, type UserId } from '../../core/ids.ts'
import type { Database, Tx } from '../../db/database.ts'
import { SERVER_ROLE } from '../../db/grants.ts'
import { putMember } from '../../users/merchants.sql.ts'
import type { Role } from '../../users/permissions.ts'
import { insertUser } from '../../users/users.sql.ts'
import { listBatch } from '../../withdrawals/payout-batches.sql.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { merchantOfAccount } from '../people/merchants.ts'
import { awaitBroadcast } from '../withdrawals/await-broadcast.ts'
import { checkPayouts, requestBatch } from '../withdrawals/request-batch.ts'
import { requestWithdrawal } from '../withdrawals/request-withdrawal.ts'
import { approvalsOfWithdrawals } from './approval-view.ts'
import { declineRequest } from './decline-request.ts'
import { giveApproval } from './give-approval.ts'
import { countAwaiting } from './progress.sql.ts'
import { proposeAddress, proposePolicy } from './propose-change.ts'
import { statementOf } from './statement-of-request.ts'
import { tellApprovers } from './tell-approvers.ts'
import { tendRequests } from './tend-requests.ts'

let people = 0

async function tell() {
  const story = await tellPayouts('sim-bitcoin')
  await story.earn('BTC', 65_000n)
  const { gateway, account } = story
  const { db } = gateway
  const join = async (role: Role): Promise<UserId> => {
    people += 1
    const email = `${role}-${people}@example.com`
    return db.transaction(async (tx) => {
      const user = await insertUser(tx, {
        email,
        name: `The ${role}`,
        passwordHash: null,
        isOperator: false,
      })
      assert.ok(user)
      const merchant = await merchantOfAccount(tx, account)
      await putMember(tx, merchant.id, user.id, role)
      return user.id
    })
  }
  const [ada, bob] = [await join('owner'), await join('finance')]
  const keys = new Map([
    [ada, await pinApprover(db, account.id, ada)],
    [bob, await pinApprover(db, account.id, bob)],
  ])
  const requests = () => listRequests(db, account.id, 50)
  const only = async (): Promise<ApprovalRequest> => {
    const [request, ...more] = await requests()
    assert.ok(request && more.length === 0)
    return request
  }
  const answer = async (request: ApprovalRequest, user: UserId, wrong = {}) => {
    const statement = await statementOf(db, gateway.secrets, request)
    return (keys.get(user) ?? makePasskey()).answer(challengeOf(statement), wrong)
  }
  const approve = async (request: ApprovalRequest, userId: UserId, response?: string) => {
    const given = { id: request.id, userId, response: response ?? (await answer(request, userId)) }
    return db.transaction((tx) => giveApproval(gateway, tx, account, given))
  }
  const ask = (amount: string, askedBy: AskedBy = showId('usr', ada)): Promise<Withdrawal> =>
    db.transaction((tx) =>
      requestWithdrawal(gateway, tx, account, {
        asset: 'BTC',
        amount,
        destination: DESTINATIONS['sim-bitcoin'],
        askedBy,
      }),
    )
  const view = async (withdrawal: Withdrawal) =>
    (await approvalsOfWithdrawals(db, account.id, [withdrawal])).get(withdrawal.id) ?? null
  return { ...story, db, ada, bob, join, keys, requests, only, answer, approve, ask, view }
}

test('without a policy nobody is asked; from its bound on a request is open in the same moment, small ones add up', async () => {
  const story = await tell()
  await story.ask('0.0005')
  assert.deepEqual(await story.requests(), [])
  await publishPolicy(story.db, story.account.id, {
    ...COIN_POLICY,
    coins: { BTC: { fromAtoms: 70_000n, approvals: 1 } },
  })
  const small = await story.ask('0.00019')
  assert.deepEqual([await story.view(small), await story.requests()], [null, []])
  const crossing = await story.ask('0.00002')
  const request = await story.only()
  assert.deepEqual(await story.view(crossing), {
    status: 'open',
    needed: 1,
    given: 0,
    valid_until: request.validUntil.toISOString(),
    requested_by: 'The owner',
    awaiting: ['The finance'],
  })
})

test('what waits for people is answered at once, and not after the wait for the signer', async () => {
  const story = await tell()
  const { id } = await story.ask('0.001')
  await story.db.query(`update withdrawals set waiting_for = 'approval'`)
  const settings = { ...story.gateway.settings, broadcastWaitMs: 20_000 }
  const since = performance.now()
  const found = await awaitBroadcast({ ...story.gateway, settings }, story.account.id, id)
  assert.equal(found?.waitingFor, 'approval')
  assert.ok(performance.now() - since < 10_000)
})

test('keys are asked about where the policy binds them, and by their name', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id, { ...COIN_POLICY, bindsKeys: false })
  const byKey = askedByKey(newId('key'), null)
  await story.ask('0.001', byKey)
  assert.deepEqual(await story.requests(), [])
  await publishPolicy(story.db, story.account.id)
  const withdrawal = await story.ask('0.001', byKey)
  const view = await story.view(withdrawal)
  assert.deepEqual([view?.requested_by, view?.awaiting.length], [null, 2])
})

test('who made the key that asks is not awaited and approves nothing of it; another does', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  const { id, name } = await createApiKey(story.db, {
    accountId: story.account.id,
    mode: 'test',
    name: 'Shop server',
    scopes: ['withdrawals:write'],
    madeBy: story.bob,
  })
  const withdrawal = await story.ask('0.001', askedByKey(id, story.bob))
  const view = await story.view(withdrawal)
  assert.deepEqual([view?.requested_by, view?.awaiting], [name, ['The owner']])
  const awaited = [story.ada, story.bob].map((user) => countAwaiting(story.db, story.account.id, user))
  assert.deepEqual(await Promise.all(awaited), [1, 0])
  const request = await story.only()
  await assert.rejects(story.approve(request, story.bob), { reason: 'made_the_key' })
  await story.approve(request, story.ada)
  assert.equal((await story.view(withdrawal))?.given, 1)
})

test('whose passkey was replaced after he had approved is awaited again, and approves anew', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  const withdrawal = await story.ask('0.001')
  const request = await story.only()
  await story.approve(request, story.bob)
  await story.db.query(`update approvals set verdict = 'counts'`)
  await story.db.query('update pinned_approvers set removed_at = now() where user_id = $1', [story.bob])
  const view = async () => {
    const { given, awaiting } = (await story.view(withdrawal)) ?? {}
    return [given, awaiting, await countAwaiting(story.db, story.account.id, story.bob)]
  }
  assert.deepEqual(await view(), [0, [], 0])
  await assert.rejects(story.approve(request, story.bob), { reason: 'not_an_approver' })
  const replaced = await pinApprover(story.db, story.account.id, story.bob)
  story.keys.set(story.bob, replaced)
  assert.deepEqual(await view(), [0, ['The finance'], 1])
  await story.approve(request, story.bob)
  assert.deepEqual(await view(), [1, [], 0])
  await assert.rejects(story.approve(request, story.bob), { reason: 'approved_already' })
  const { rows } = await story.db.query('select credential_id, verdict from approvals')
  assert.deepEqual(rows, [{ credential_id: replaced.credentialId, verdict: null }])
})

test('an approval is kept as it was signed, once a person, and who asked gives none', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  const withdrawal = await story.ask('0.001')
  const request = await story.only()
  await assert.rejects(story.approve(request, story.ada), { reason: 'asked_himself' })
  await story.approve(request, story.bob)
  await assert.rejects(story.approve(request, story.bob), { reason: 'approved_already' })
  const view = await story.view(withdrawal)
  assert.deepEqual([view?.status, view?.given, view?.awaiting], ['open', 1, []])
  const { rows } = await story.db.query<{ user_id: UserId; verdict: string | null; credential_id: Buffer }>(
    'select user_id, verdict, credential_id from approvals',
  )
  assert.deepEqual(rows, [
    { user_id: story.bob, verdict: null, credential_id: story.keys.get(story.bob)?.credentialId },
  ])
})

test('an approval that the signer turned down is given anew by the server’s own user, and one that counts is not', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  await story.ask('0.001')
  const request = await story.only()
  const server = await databaseAs(story.db.url, SERVER_ROLE)
  const approve = async () => {
    const given = { id: request.id, userId: story.bob, response: await story.answer(request, story.bob) }
    await server.transaction((tx) => giveApproval(story.gateway, tx, story.account, given))
    const { rows } = await story.db.query<{ signature: Buffer; verdict: string | null; created_at: Date }>(
      'select signature, verdict, created_at from approvals',
    )
    const [row, ...more] = rows
    assert.ok(row && more.length === 0)
    return row
  }
  const first = await approve()
  await story.db.query(`update approvals set verdict = 'not_an_approver'`)
  const second = await approve()
  assert.equal(second.verdict, null)
  assert.notDeepEqual(second.signature, first.signature)
  assert.ok(second.created_at > first.created_at)
  for (const verdict of [null, 'counts']) {
    await story.db.query('update approvals set verdict = $1', [verdict])
    await assert.rejects(approve(), { reason: 'approved_already' })
  }
})

test('what a passkey did not say about this request, verified by its device, on this page, is not kept', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  await story.ask('0.001')
  await story.ask('0.0011')
  const [request, other] = await story.requests()
  assert.ok(request && other)
  const refused = { reason: 'passkey_refused' }
  for (const wrong of [
    { flags: 0x01 },
    { origin: 'http://localhost:8081' },
    { rpId: 'elsewhere.example' },
    { type: 'webauthn.create' },
    { crossOrigin: true },
  ])
    await assert.rejects(
      story.approve(request, story.bob, await story.answer(request, story.bob, wrong)),
      refused,
    )
  await assert.rejects(story.approve(request, story.bob, await story.answer(other, story.bob)), refused)
  await assert.rejects(story.approve(request, story.bob, await story.answer(request, story.ada)), refused)
  for (const text of ['', '{}', 'null', '[]', '{"id":"x","response":{}}'])
    await assert.rejects(story.approve(request, story.bob, text), refused)
  const before = await story.answer(request, story.bob)
  await story.db.query('update withdrawals set destination = $1', [
    'tb1q6rz28mcfaxtmd6v789l9rrlrusdprr9pqcpvkl',
  ])
  await assert.rejects(story.approve(request, story.bob, before), refused)
  const { rowCount } = await story.db.query('select from approvals')
  assert.equal(rowCount, 0)
})

test('only pinned passkeys that count are heard, and removed or waiting ones are told so', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  await story.ask('0.001')
  const request = await story.only()
  const [eve, new_] = [await story.join('admin'), await story.join('admin')]
  story.keys.set(new_, await pinApprover(story.db, story.account.id, new_, { countsIn: 100 }))
  for (const user of [eve, new_])
    await assert.rejects(story.approve(request, user), { reason: 'not_an_approver' })
  await story.db.query('update pinned_approvers set removed_at = now() where user_id = $1', [story.bob])
  await assert.rejects(story.approve(request, story.bob), { reason: 'not_an_approver' })
})

test('a passkey that keeps count must count up', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  await story.ask('0.001')
  await story.ask('0.0011')
  const counting = makePasskey({ keepsCount: true })
  const dora = await story.join('finance')
  story.keys.set(dora, await pinApprover(story.db, story.account.id, dora, { passkey: counting }))
  const [first, second] = await story.requests()
  assert.ok(first && second)
  await story.approve(first, dora)
  await assert.rejects(story.approve(second, dora, await story.answer(second, dora, { counter: 1 })), {
    reason: 'passkey_refused',
  })
  await story.approve(second, dora)
})

test('approvals of passkeys that are not pinned any more, or that the signer turned down, are not said to be enough; nor is what an older policy wanted', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  const withdrawal = await story.ask('0.001')
  const request = await story.only()
  const dora = await story.join('finance')
  await pinApprover(story.db, story.account.id, dora)
  const view = async () => {
    const { needed, given, awaiting } = (await story.view(withdrawal)) ?? {}
    return [needed, given, awaiting?.length]
  }
  const counted = () => countAwaiting(story.db, story.account.id, dora)
  assert.deepEqual([await view(), await counted()], [[1, 0, 2], 1])
  assert.equal(await countAwaiting(story.db, story.account.id, story.ada), 0, 'he asked himself')
  await story.approve(request, story.bob)
  assert.deepEqual([await view(), await counted()], [[1, 1, 0], 0])
  await publishPolicy(story.db, story.account.id, {
    ...COIN_POLICY,
    coins: { BTC: { fromAtoms: 10_000n, approvals: 2 } },
  })
  assert.deepEqual([await view(), await counted()], [[2, 1, 1], 1])
  await publishPolicy(story.db, story.account.id)
  await story.db.query('update pinned_approvers set removed_at = now() where user_id = $1', [story.bob])
  assert.deepEqual([await view(), await counted()], [[1, 0, 1], 1])
  await story.db.query('update pinned_approvers set removed_at = null')
  await story.db.query(`update approvals set verdict = 'other_challenge'`)
  assert.deepEqual([await view(), await counted()], [[1, 0, 2], 1])
})

test('what keys asked for counts towards the bound of people only where keys are bound', async () => {
  for (const bindsKeys of [false, true]) {
    const story = await tell()
    await publishPolicy(story.db, story.account.id, { ...COIN_POLICY, bindsKeys })
    await story.ask('0.00008', askedByKey(newId('key'), story.bob))
    await story.ask('0.00008')
    assert.equal((await story.requests()).length, bindsKeys ? 1 : 0)
  }
})

test('declined is over: nothing is signed, the hold comes back, and no approval passes any more', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  const before = await story.balance('available')
  const withdrawal = await story.ask('0.001')
  const request = await story.only()
  await story.db.transaction((tx) => declineRequest(tx, story.account, request.id, story.bob))
  // From this moment on, whatever the signer has read before.
  assert.equal((await story.now(withdrawal)).cancelWanted, true)
  await assert.rejects(story.approve(request, story.bob), { reason: 'request_over' })
  await story.turn()
  await story.turn()
  const { status, refusedReason } = await story.now(withdrawal)
  assert.deepEqual([status, refusedReason], ['failed', 'declined'])
  const alerts = await story.db.query(`select from alerts where kind = 'withdrawal_refused'`)
  assert.equal(alerts.rowCount, 0, 'what people decide is no alert')
  assert.equal(await story.balance('available'), before)
  assert.equal((await story.view(withdrawal))?.status, 'declined')
  await story.proveBooks()
})

test('what is signed cannot be declined any more', async () => {
  const story = await tell()
  const withdrawal = await story.ask('0.001')
  await story.turn()
  assert.equal((await story.now(withdrawal)).status, 'broadcast')
  await story.db.query(
    `insert into approval_requests (account_id, id, act, withdrawal_id, asked_by, needed, valid_until)
     values ($1, $2, 'withdrawal', $3, 'unknown', 1, now() + interval '1 hour')`,
    [story.account.id, newId('apr'), withdrawal.id],
  )
  const { id } = await story.only()
  await assert.rejects(
    story.db.transaction((tx) => declineRequest(tx, story.account, id, story.bob)),
    { reason: 'already_signed' },
  )
  // The worker closes what the signer left open.
  assert.equal(await tendRequests(story.gateway), 1)
  assert.equal((await story.only()).status, 'approved')
})

test('what the signer holds up, and nobody was asked about, is asked about; what ended is closed', async () => {
  const story = await tell()
  const withdrawal = await story.ask('0.001')
  await story.db.query(`update withdrawals set waiting_for = 'approval'`)
  assert.equal(await tendRequests(story.gateway), 1)
  assert.equal(await tendRequests(story.gateway), 0, 'once')
  const request = await story.only()
  assert.deepEqual(
    [request.asked, request.askedBy, request.needed],
    [{ act: 'withdrawal', withdrawalId: withdrawal.id }, showId('usr', story.ada), 1],
  )
  // Time alone ends nothing of money: the signer may have taken it in its last minute.
  await story.db.query(`update approval_requests set valid_until = now() - interval '1 hour'`)
  assert.equal(await tendRequests(story.gateway), 0)
  await story.db.query(
    `update withdrawals set status = 'failed', refused_reason = 'not_approved', failed_at = now()`,
  )
  assert.equal(await tendRequests(story.gateway), 1)
  assert.equal((await story.only()).status, 'expired')
})

test('who is asked later is asked by the rule of the coin that leaves, not of another', async () => {
  const story = await tell()
  await story.ask('0.001')
  await story.db.query(`update withdrawals set waiting_for = 'approval'`)
  await publishPolicy(story.db, story.account.id, {
    ...COIN_POLICY,
    coins: { BTC: { fromAtoms: 1n, approvals: 1 }, ETH: { fromAtoms: 1n, approvals: 2 } },
  })
  assert.equal(await tendRequests(story.gateway), 1)
  assert.equal((await story.only()).needed, 1)
})

test('a policy is asked for by one and needs others: too few people are told so, and one change waits at a time', async () => {
  const story = await tell()
  const propose = (approvals: 1 | 2) =>
    story.db.transaction((tx) =>
      proposePolicy(
        tx,
        story.account,
        { userId: story.ada },
        {
          ...COIN_POLICY,
          coins: { BTC: { fromAtoms: 1n, approvals } },
        },
      ),
    )
  await assert.rejects(propose(2), { reason: 'too_few_approvers' })
  await propose(1)
  await assert.rejects(propose(1), { reason: 'policy_pending' })
  const request = await story.only()
  assert.equal(request.needed, 1)
  assert.deepEqual((await statementOf(story.db, story.gateway.secrets, request)).act, 'policy')
  await story.approve(request, story.bob)
  await story.db.query(`update approval_requests set valid_until = now() - interval '10 minutes'`)
  assert.equal(await tendRequests(story.gateway), 1)
  assert.equal((await story.only()).status, 'expired')
  await publishPolicy(story.db, story.account.id, {
    ...COIN_POLICY,
    coins: { BTC: { fromAtoms: 1n, approvals: 1 } },
  })
  await assert.rejects(propose(1), { reason: 'nothing_changes' })
})

test('an address comes onto the list by a request, and payouts elsewhere are refused early where the policy wants it', async () => {
  const story = await tell()
  const address = { network: 'bitcoin', address: DESTINATIONS['sim-bitcoin'], name: 'Cold wallet' } as const
  const propose = (
    act: 'allow' | 'disallow',
    given: { network: 'bitcoin'; address: string; name: string } = address,
  ) =>
    story.db.transaction((tx) =>
      proposeAddress(story.gateway, tx, story.account, { userId: story.ada }, { act, ...given }),
    )
  await assert.rejects(propose('allow'), { reason: 'no_policy' })
  await publishPolicy(story.db, story.account.id, {
    ...COIN_POLICY,
    allowlist: { isRequired: true, delayHours: 0 },
  })
  await assert.rejects(story.ask('0.001'), { reason: 'not_on_allowlist' })
  await assert.rejects(
    propose('allow', { ...address, address: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4' }),
    {
      reason: 'invalid_address',
    },
  )
  await assert.rejects(propose('allow', { ...address, name: '' }), { reason: 'invalid_name' })
  await assert.rejects(propose('disallow'), { reason: 'not_listed' })
  await propose('allow')
  // Bech32 says the same in capitals.
  await publishAddress(story.db, story.account.id, { ...address, address: address.address.toUpperCase() })
  await assert.rejects(propose('allow'), { reason: 'listed_already' })
  await propose('disallow')
  await story.ask('0.001')
  assert.deepEqual((await story.requests()).map(({ asked }) => asked.act).sort(), [
    'allow',
    'disallow',
    'withdrawal',
  ])
})

test('a batch is held whole or not at all, and one request stands for all of its lines', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id)
  const line = { destination: DESTINATIONS['sim-bitcoin'], asset: 'BTC', note: '' } as const
  const batch = (amounts: readonly string[]) =>
    story.db.transaction((tx) =>
      requestBatch(story.gateway, tx, story.account, {
        name: 'Salaries',
        lines: amounts.map((amount, at) => ({ ...line, amount, line: at + 1 })),
        askedBy: showId('usr', story.ada),
      }),
    )
  const before = await story.balance('available')
  await assert.rejects(batch(['0.00005', '500']), { reason: 'insufficient_balance', message: /^line 2: / })
  assert.equal(await story.balance('available'), before)
  const id = await batch(['0.00005', '0.00006'])
  const request = await story.only()
  assert.deepEqual(request.asked, { act: 'batch', batchId: id })
  const statement = await statementOf(story.db, story.gateway.secrets, request)
  assert.ok(statement.act === 'batch' && statement.lines.length === 2)
  await story.approve(request, story.bob)
  assert.equal(await story.balance('available'), before - 11_000n)
})

test('a batch of many lines takes as many statements as one of two', async () => {
  const story = await tell()
  await publishPolicy(story.db, story.account.id, {
    ...COIN_POLICY,
    coins: { BTC: { fromAtoms: 1n, approvals: 1 } },
  })
  const ask = async (count: number) => {
    const lines = Array.from({ length: count }, (_, at) => ({
      destination: DESTINATIONS['sim-bitcoin'],
      asset: 'BTC' as const,
      amount: '0.00004',
      note: `Line ${at + 1}`,
      line: at + 1,
    }))
    let statements = 0
    const counting = (tx: Tx): Tx => ({
      ...tx,
      query: (text, values, hot) => {
        statements += 1
        return tx.query(text, values, hot)
      },
    })
    const db: Database = {
      ...story.db,
      transaction: (work, options) => story.db.transaction((tx) => work(counting(tx)), options),
    }
    const gateway = { ...story.gateway, db }
    const { problems } = await checkPayouts(gateway, story.account, { lines, problems: [] })
    assert.deepEqual(problems, [])
    const name = `${count} payouts`
    const order = { name, lines, askedBy: showId('usr', story.ada) }
    const id = await db.transaction((tx) => requestBatch(gateway, tx, story.account, order))
    assert.deepEqual(
      (await listBatch(story.db, story.account.id, id)).map(({ note }) => note),
      lines.map(({ note }) => note),
    )
    return statements
  }
  const ofTwo = await ask(2)
  assert.equal(await ask(200), ofTwo)
  await story.proveBooks()
})

test('those who are awaited get a mail, once, and who asked gets none; owners hear of pins and of what came into force', async () => {
  const story = await tell()
  await story.db.query(`update pinned_approvers set told_at = now()`)
  await publishPolicy(story.db, story.account.id)
  await story.ask('0.001')
  await tellApprovers(story.gateway)
  await tellApprovers(story.gateway)
  const mails = async () =>
    (
      await story.db.query<{ cause: string; recipient: string }>(
        `select split_part(cause, ':', 1) as cause, recipient from mails order by created_at, recipient`,
      )
    ).rows.map(({ cause, recipient }) => `${cause} ${recipient.split('-')[0]}`)
  assert.deepEqual(await mails(), ['approval finance'])
  const dora = await story.join('finance')
  await pinApprover(story.db, story.account.id, dora, { countsIn: 168 })
  await tellApprovers(story.gateway)
  await story.db.query('update pinned_approvers set removed_at = clock_timestamp() where user_id = $1', [
    dora,
  ])
  await tellApprovers(story.gateway)
  await tellApprovers(story.gateway)
  assert.deepEqual((await mails()).slice(1), ['pin owner', 'pin owner'])
  await story.db.transaction((tx) =>
    proposePolicy(tx, story.account, { userId: story.ada }, { ...COIN_POLICY, bindsKeys: false }),
  )
  await tellApprovers(story.gateway)
  await story.db.query(
    `update approval_requests set status = 'approved', decided_at = now() where act = 'policy'`,
  )
  await tellApprovers(story.gateway)
  await tellApprovers(story.gateway)
  assert.deepEqual((await mails()).slice(3), ['approval finance', 'approved owner'])
})
