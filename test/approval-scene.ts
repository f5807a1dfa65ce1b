/** People with passkeys, their signer with a database user of its own, and the rows that the server writes between them. */
import assert from 'node:assert/strict'
import { type ApprovalPolicy, policyJson } from '../src/approvals/approval-policy.ts'
import { challengeOf, type Statement } from '../src/approvals/statement.ts'
import type { Asset } from '../src/core/assets.ts'
import {
  type AccountId,
  type ApprovalRequestId,
  newId,
  newRowId,
  showId,
  type UserId,
} from '../src/core/ids.ts'
import { HOUR_MS } from '../src/core/time.ts'
import { SIGNER_ROLE } from '../src/db/grants.ts'
import { holdPayout } from '../src/flows/withdrawals/request-withdrawal.ts'
import { termsOf } from '../src/signer/approvals/approvals.ts'
import { addApprover, readApprovers, removeApprover } from '../src/signer/approvals/approvers.ts'
import { publishIfDue } from '../src/signer/approvals/publish.ts'
import { insertPasskey } from '../src/users/factors.sql.ts'
import { requestMacParts, type Withdrawal } from '../src/withdrawals/withdrawal.ts'
import { makePasskey, type TestPasskey, type Wrong } from './authenticator.ts'
import { databaseAs } from './database.ts'
import { DESTINATIONS, tellPayouts } from './payout-story.ts'
import { payOnce, signAll, testSigner } from './payouts.ts'

export const COIN = 100_000_000n
const CHAIN = 'sim-litecoin'

export interface Approving {
  readonly userId: UserId
  /** `usr_…` */
  readonly user: string
  readonly passkey: TestPasskey
}

/** One approval from a bound of one coin on, who asks is bound, and payouts go anywhere. */
export const ONE_COIN: ApprovalPolicy = {
  coins: { LTC: { fromAtoms: COIN, approvals: 1 } },
  bindsKeys: true,
  allowlist: { isRequired: false, delayHours: 0 },
}

export interface Asking {
  readonly act: Statement['act']
  readonly withdrawal?: Withdrawal
  readonly terms?: unknown
  readonly askedBy: string
  readonly validUntil: Date
  readonly id: ApprovalRequestId
}

/**
 * A shop with funds and three people whose passkeys are pinned; nothing needs an approval yet.
 *
 * @param given.folder - Of the signer, where another program is it.
 */
export async function openApprovalScene(given: { readonly folder?: string } = {}) {
  const story = await tellPayouts(CHAIN)
  const { gateway, account } = story
  await story.earn('LTC', 650_000n)
  const ownDb = await databaseAs(gateway.db.url, SIGNER_ROLE)
  const made = await testSigner(gateway, [CHAIN], given)
  const signer = { ...made, db: ownDb }
  const accountName = showId('acct', account.id)
  const sql = (text: string, values: unknown[] = []) => gateway.db.query(text, values)
  const person = (): Approving => {
    const userId = newId('usr')
    return { userId, user: showId('usr', userId), passkey: makePasskey({ keepsCount: true }) }
  }
  const pin = (who: Approving, of: AccountId = account.id) =>
    addApprover(signer.config.folder, {
      account: showId('acct', of),
      user: who.user,
      name: 'Somebody',
      credentialId: who.passkey.credentialId.toString('base64url'),
      publicKey: who.passkey.publicKey.toString('base64url'),
      rpId: who.passkey.rpId,
      origin: who.passkey.origin,
    })
  const [ann, bob, cid] = [person(), person(), person()]
  for (const who of [ann, bob, cid]) await pin(who)
  const sign = async () => {
    if (!given.folder) await signAll(signer)
  }
  await sign()

  const scene = {
    ...story,
    signer,
    signerUrl: ownDb.url,
    sql,
    sign,
    person,
    pin,
    ann,
    bob,
    cid,
    accountName,
    /** A turn of everybody. */
    async turn() {
      await sign()
      await payOnce(gateway, story.port)
      await story.look()
    },
    async mineAndTurn(count: number) {
      await story.mine(count)
      await story.look()
      await scene.turn()
    },
    inHours: (hours: number) => new Date(Date.now() + hours * HOUR_MS),
    /** A withdrawal as the dashboard or the API asks for it. */
    async want(amount: string, askedBy: string = cid.user, destination: string = DESTINATIONS[CHAIN]) {
      const order = { asset: 'LTC' as Asset, amount, destination, askedBy }
      // What is asked of others, and told early, the scene writes itself: it may be an intruder's.
      return gateway.db.transaction((tx) => holdPayout(gateway, tx, account, order))
    },
    /** What the server writes of a request for approvals. */
    async ask(
      of: Partial<Asking> & Pick<Asking, 'act'>,
      { needed = 1, status = 'open' }: { needed?: number; status?: string } = {},
    ): Promise<Asking> {
      const asking: Asking = {
        id: newId('apr'),
        askedBy: of.withdrawal?.askedBy ?? cid.user,
        validUntil: scene.inHours(72),
        ...of,
      }
      await sql(
        `insert into approval_requests (account_id, id, act, withdrawal_id, terms, asked_by, needed, valid_until, status)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [
          account.id,
          asking.id,
          asking.act,
          asking.withdrawal?.id ?? null,
          asking.terms === undefined ? null : JSON.stringify(asking.terms),
          asking.askedBy,
          needed,
          asking.validUntil,
          status,
        ],
      )
      return asking
    },
    statementOf(asking: Asking, follows = 0): Statement {
      const common = {
        account: accountName,
        request: showId('apr', asking.id),
        askedBy: asking.askedBy,
        validUntil: asking.validUntil,
      }
      if (asking.withdrawal)
        return {
          ...common,
          act: 'withdrawal',
          network: `${CHAIN} simulated`,
          terms: termsOf(asking.withdrawal),
        }
      if (asking.act === 'policy')
        return { ...common, act: 'policy', follows, policy: asking.terms as ApprovalPolicy }
      return {
        ...common,
        act: asking.act as 'allow',
        ...(asking.terms as { network: 'litecoin'; address: string; name: string }),
      }
    },
    /** Somebody touches his passkey for a statement, and the server writes down what it answered. */
    async approve(
      asking: Asking,
      who: Approving,
      statement: Statement = scene.statementOf(asking),
      { wrong, as = who.userId }: { wrong?: Wrong; as?: UserId } = {},
    ) {
      const answer = who.passkey.assert(challengeOf(statement), wrong)
      await scene.writeApproval(asking, as, who.passkey.credentialId, answer)
      return answer
    },
    async writeApproval(
      { id }: Pick<Asking, 'id'>,
      as: UserId,
      credentialId: Uint8Array,
      answer: ReturnType<TestPasskey['assert']>,
    ) {
      await sql(
        `insert into approvals (account_id, request_id, user_id, credential_id, authenticator_data, client_data, signature)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [account.id, id, as, credentialId, answer.authenticatorData, answer.clientData, answer.signature],
      )
    },
    /** Puts a policy in force, approved by as many as it takes. */
    async enforce(policy: ApprovalPolicy, by: readonly Approving[] = [ann], follows = 0) {
      const asking = await scene.ask({ act: 'policy', terms: { follows, policy: policyJson(policy) } })
      const statement: Statement = {
        ...scene.statementOf(asking, follows),
        act: 'policy',
        policy,
      } as Statement
      for (const who of by) await scene.approve(asking, who, statement)
      await sign()
      return asking
    },
    /** The three are people of the dashboard too, each with his passkey. */
    async join() {
      const merchant = newRowId()
      await sql(`insert into merchants (id, name, test_account_id) values ($1, 'Shop', $2)`, [
        merchant,
        account.id,
      ])
      for (const { userId, passkey } of [ann, bob, cid]) {
        const email = `${userId}@example.com`
        await sql('insert into users (id, email, name) values ($1, $2, $3)', [userId, email, 'Somebody'])
        await sql(`insert into members (merchant_id, user_id, role) values ($1, $2, 'owner')`, [
          merchant,
          userId,
        ])
        const { credentialId, publicKey } = passkey
        await gateway.db.transaction((tx) =>
          insertPasskey(tx, { userId, credentialId, publicKey, counter: 0n, transports: [], name: 'Key' }),
        )
      }
    },
    async unpin(who: Approving) {
      const credentialId = who.passkey.credentialId.toString('base64url')
      const pin = (await readApprovers(signer.config.folder)).find(
        (each) => each.credentialId === credentialId,
      )
      assert.ok(pin)
      await removeApprover(signer.config.folder, pin)
    },
    /** A turn of another signer on the same database, with a folder of its own. */
    async signElsewhere() {
      await signAll({ ...(await testSigner(gateway, [CHAIN])), db: ownDb })
    },
    /** A minute goes by. @param era - Another one where the database was restored meanwhile. */
    async forgetPublishing(era?: number) {
      await publishIfDue({ ...signer, era }, Date.now() + 61_000)
    },
    /** Net atoms that signed transactions pay to an address. */
    async paidTo(destination: string): Promise<bigint> {
      const { rows } = await gateway.db.query<{ atoms: bigint }>(
        `select coalesce(sum(net_atoms), 0) as atoms from withdrawals w where destination = $1
           and exists (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)`,
        [destination],
      )
      return rows[0]?.atoms ?? 0n
    },
    /** Net atoms that were signed away so far. */
    async left(): Promise<bigint> {
      const { rows } = await gateway.db.query<{ atoms: bigint }>(
        `select coalesce(sum(value_atoms), 0) as atoms from signed_transactions where kind = 'payout'`,
      )
      return rows[0]?.atoms ?? 0n
    },
    async verdicts(): Promise<(string | null)[]> {
      const { rows } = await gateway.db.query<{ verdict: string | null }>(
        'select verdict from approvals order by created_at, request_id, user_id',
      )
      return rows.map(({ verdict }) => verdict)
    },
    async alerts(): Promise<string[]> {
      const { rows } = await gateway.db.query<{ kind: string; subject: string }>(
        'select kind, subject from alerts order by created_at, id',
      )
      return rows.map(({ kind, subject }) => `${kind} ${subject}`)
    },
    async statusOf({ id }: Pick<Asking, 'id'>): Promise<[string, string | null]> {
      const { rows } = await gateway.db.query<{ status: string; refused_reason: string | null }>(
        'select status, refused_reason from approval_requests where id = $1',
        [id],
      )
      return [rows[0]?.status ?? 'gone', rows[0]?.refused_reason ?? null]
    },
    /** What somebody does who has the secret key, and the ledger: a row whose MAC is right. */
    async rewrite(withdrawal: Withdrawal, changed: Partial<Withdrawal>): Promise<Withdrawal> {
      const now = { ...withdrawal, ...changed }
      await sql(
        `update withdrawals set amount_atoms = $2, fee_atoms = $3, network_fee_atoms = $4, net_atoms = $5, destination = $6, asked_by = $7,
           mac = $8 where id = $1`,
        [
          now.id,
          now.amountAtoms,
          now.feeAtoms,
          now.networkFeeAtoms,
          now.netAtoms,
          now.destination,
          now.askedBy,
          gateway.secrets.mac('withdrawal', requestMacParts(now)),
        ],
      )
      await sql(
        `update transfers t set amount_atoms = $2 from journal_entries j where j.account_id = t.account_id and j.id = t.entry_id
         and j.subject_id = $1 and t.credit = 'held'`,
        [now.id, now.amountAtoms],
      )
      return now
    },
  }
  assert.deepEqual(await scene.alerts(), [])
  return scene
}
