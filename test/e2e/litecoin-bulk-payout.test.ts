/** A file of a thousand payouts on a real Litecoin node: one batch to look at, one approval, one transaction. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { bech32, bech32m } from '@scure/base'
import type { ApprovalPolicy } from '../../src/approvals/approval-policy.ts'
import { listRequests } from '../../src/approvals/approval-requests.sql.ts'
import { challengeOf } from '../../src/approvals/statement.ts'
import { showId, type UserId } from '../../src/core/ids.ts'
import { formatDecimal } from '../../src/core/money.ts'
import { createWebhookEndpoint } from '../../src/events/webhook-endpoints.sql.ts'
import { giveApproval } from '../../src/flows/approvals/give-approval.ts'
import { proposePolicy } from '../../src/flows/approvals/propose-change.ts'
import { statementOf } from '../../src/flows/approvals/statement-of-request.ts'
import { merchantOfAccount } from '../../src/flows/people/merchants.ts'
import { checkPayouts, requestBatch } from '../../src/flows/withdrawals/request-batch.ts'
import { addApprover } from '../../src/signer/approvals/approvers.ts'
import { wishBump } from '../../src/treasury/signed-transactions.sql.ts'
import { insertPasskey } from '../../src/users/factors.sql.ts'
import { putMember } from '../../src/users/merchants.sql.ts'
import { insertUser } from '../../src/users/users.sql.ts'
import { fillAddressPool } from '../../src/wallets/address-pool.sql.ts'
import { listBatch } from '../../src/withdrawals/payout-batches.sql.ts'
import { readPayoutFile } from '../../src/withdrawals/payout-file.ts'
import { makePasskey, type TestPasskey } from '../authenticator.ts'
import { payoutRoad } from './payout-road.ts'

const LINES = 1_000
const POLICY: ApprovalPolicy = {
  coins: { LTC: { fromAtoms: 1n, approvals: 1 } },
  bindsKeys: true,
  allowlist: { isRequired: false, delayHours: 0 },
}

const road = await payoutRoad('litecoin')
const { node, gateway, account, signer } = road
const { db } = gateway
const passkeys = new Map<UserId, TestPasskey>()

/** Somebody with a passkey that the operator pinned at the signer. */
async function joined(name: string): Promise<UserId> {
  const passkey = makePasskey({ keepsCount: true })
  const { credentialId, publicKey, rpId, origin } = passkey
  const email = `${name}@example.com`
  const user = await db.transaction(async (tx) => {
    const made = await insertUser(tx, { email, name, passwordHash: null, isOperator: false })
    assert.ok(made)
    await putMember(tx, (await merchantOfAccount(tx, account)).id, made.id, 'owner')
    await insertPasskey(tx, { userId: made.id, credentialId, publicKey, counter: 0n, transports: [], name })
    return made
  })
  await addApprover(signer.config.folder, {
    account: showId('acct', account.id),
    user: showId('usr', user.id),
    name,
    credentialId: credentialId.toString('base64url'),
    publicKey: publicKey.toString('base64url'),
    rpId,
    origin,
  })
  passkeys.set(user.id, passkey)
  return user.id
}

/** The request that is open is approved, as his browser does it. */
async function approve(userId: UserId): Promise<void> {
  const [request, ...others] = (await listRequests(db, account.id, 50)).filter(
    ({ status }) => status === 'open',
  )
  assert.ok(request && others.length === 0)
  const statement = await statementOf(db, gateway.secrets, request)
  const response = passkeys.get(userId)?.answer(challengeOf(statement)) ?? ''
  await db.transaction((tx) => giveApproval(gateway, tx, account, { id: request.id, userId, response }))
}

/** Every kind of address that takes a program, each another one. */
function destinationOf(line: number): string {
  const program = (length: number) => {
    const bytes = new Uint8Array(length).fill(7)
    new DataView(bytes.buffer).setUint32(0, line)
    return bytes
  }
  if (line % 3 === 0) return bech32.encode('rltc', [0, ...bech32.toWords(program(20))])
  if (line % 3 === 1) return bech32.encode('rltc', [0, ...bech32.toWords(program(32))])
  return bech32m.encode('rltc', [1, ...bech32m.toWords(program(32))])
}

describe('a bulk payout of a thousand lines', () => {
  afterEach(() => road.prove())

  it('is one approval and one transaction, which a child can pay for, and each line completes and is announced once', async (t) => {
    await fillAddressPool(db, gateway.secrets, { fresh: 80, change: 8 })
    await road.earn(...Array.from({ length: 60 }, () => 50n))
    const [ann, bob] = [await joined('ann'), await joined('bob')]
    await road.sign()
    await db.transaction((tx) => proposePolicy(tx, account, { userId: ann }, POLICY))
    await approve(bob)
    await road.sign()
    await db.transaction((tx) =>
      createWebhookEndpoint(tx, gateway.secrets, {
        accountId: account.id,
        url: 'https://shop.example/hook',
        events: ['payout.completed'],
      }),
    )

    const file = readPayoutFile(
      Array.from(
        { length: LINES },
        (_, at) => `${destinationOf(at)},${formatDecimal(2_000_000n + BigInt(at), 8)},LTC,Line ${at}`,
      ).join('\n'),
    )
    const { lines, problems } = await checkPayouts(gateway, account, file)
    assert.deepEqual(problems, [])
    const id = await db.transaction((tx) =>
      requestBatch(gateway, tx, account, { name: 'Salaries', lines, askedBy: showId('usr', ann) }),
    )
    await road.turn()
    assert.deepEqual(await road.waiting(), [], 'nothing leaves before somebody else has approved it')
    await approve(bob)
    const approvedAt = performance.now()
    await road.sign()
    const signedAt = performance.now()
    await road.send()
    const sentAt = performance.now()
    t.diagnostic(
      `from the approval to the signature ${Math.round(signedAt - approvedAt)} ms, to the node ${Math.round(sentAt - signedAt)} ms more`,
    )

    const asked = await listBatch(db, account.id, id)
    const [txid, ...others] = await road.waiting()
    assert.ok(txid && others.length === 0, 'one transaction pays them all')
    assert.deepEqual(
      new Set(asked.map(({ status, txHash }) => `${status} ${txHash}`)),
      new Set([`broadcast ${txid}`]),
    )
    const { vout, vin, weight } = await node.call<{
      vin: unknown[]
      vout: { value: number; scriptPubKey: { address?: string; addresses?: string[] } }[]
      weight: number
    }>('getrawtransaction', txid, true)
    t.diagnostic(`${vin.length} inputs, ${vout.length} outputs, ${weight} weight units`)
    assert.ok(weight < 400_000)
    const paid = new Map(
      vout.map(({ value, scriptPubKey: { address, addresses } }) => [
        address ?? addresses?.[0],
        BigInt(Math.round(value * 1e8)),
      ]),
    )
    for (const { destination, netAtoms } of asked) assert.equal(paid.get(destination), netAtoms)

    const [line] = asked
    assert.ok(line && (await wishBump(db, 'litecoin', txid)))
    await road.turn()
    assert.deepEqual(
      (await road.replacementSet(line)).map(({ kind }) => kind),
      ['payout', 'child'],
    )
    assert.equal((await road.waiting()).length, 2, 'the node takes the child beside so large a parent')

    const minedAt = performance.now()
    await road.mine(6)
    t.diagnostic(`six blocks and the booking of all lines took ${Math.round(performance.now() - minedAt)} ms`)
    const done = await listBatch(db, account.id, id)
    assert.equal(done.length, LINES)
    assert.deepEqual(
      new Set(done.map(({ status, txHash }) => `${status} ${txHash}`)),
      new Set([`completed ${txid}`]),
    )
    const { rows } = await db.query<{ events: bigint; lines: bigint; deliveries: bigint }>(
      `select count(distinct e.id) as events, count(distinct e.cause) as lines, count(d.id) as deliveries
       from events e left join deliveries d on d.account_id = e.account_id and d.event_id = e.id
       where e.account_id = $1 and e.type = 'payout.completed'`,
      [account.id],
    )
    assert.deepEqual(rows, [{ events: BigInt(LINES), lines: BigInt(LINES), deliveries: BigInt(LINES) }])
    assert.equal(await road.balance('LTC', 'held'), 0n)
    const { rows: left } = await db.query<{ count: bigint }>(
      `select count(*) as count from signed_transactions where kind = 'payout'`,
    )
    assert.deepEqual(left, [{ count: 1n }])
  })
})
