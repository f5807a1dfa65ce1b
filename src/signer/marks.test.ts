/** Withdrawals are marked before they are signed for. Whatever then comes in between, a mark stays only on what is in the journal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetAndTurn, openScene, type Scene, TOKENS } from '../../test/live-scene.ts'
import { signAll, testSigner } from '../../test/payouts.ts'
import type { Database } from '../db/database.ts'
import { cancelWithdrawal } from '../flows/withdrawals/cancel-withdrawal.ts'
import { freeze, thaw } from '../ledger/freezes.sql.ts'
import { nameOf, paidBy } from '../treasury/signed-entry.ts'
import { type Signer, signerTurn } from './signer.ts'

const marked = async ({ sql }: Scene) =>
  (await sql(`select from withdrawals where status = 'requested' and signing_since is not null`)).rowCount

const askForThree = async (scene: Scene) => [
  await scene.request('0.01'),
  await scene.request('0.02'),
  await scene.request('0.03'),
]

/** Does something once, after all was looked at and before any of it is marked. */
function beforeMarks({ journal, db, ...others }: Signer, count: number, act: () => Promise<unknown>): Signer {
  let looked = 0
  const watched = {
    ...journal,
    payingFor(name: string) {
      looked += 1
      return journal.payingFor(name)
    },
  }
  const meeting: Database = {
    ...db,
    async transaction(work, options) {
      if (looked >= count) {
        looked = Number.NEGATIVE_INFINITY
        await act()
      }
      return db.transaction(work, options)
    },
  }
  return { ...others, journal: watched, db: meeting }
}

test('what left freely cannot be counted, for a full disk: nothing is signed, and all of it may be cancelled', async (t) => {
  const scene = await openScene()
  const [first, ...others] = await askForThree(scene)
  assert.ok(first)
  const full = t.mock.method(scene.signer.approvals, 'countLeft', async () => {
    throw new Error('ENOSPC: no space left on device')
  })
  await signAll(scene.signer)
  assert.equal(full.mock.callCount(), 1)
  assert.deepEqual([await marked(scene), await scene.signed()], [0, []])
  await scene.gateway.db.transaction((tx) => cancelWithdrawal(tx, scene.account, first.id))
  full.mock.restore()
  await signAll(scene.signer)
  assert.deepEqual((await scene.signed()).map(paidBy), [others.map(nameOf)])
})

test('a UTXO that is not where its row says stops the signature, and leaves no marks', async () => {
  const scene = await openScene()
  await askForThree(scene)
  const errors: unknown[] = []
  const log = { ...scene.signer.log, error: (fields: object) => void errors.push(fields) }
  await scene.sql(
    'update addresses set position = position + 1000 where lookup in (select lookup from utxos)',
  )
  await signAll({ ...scene.signer, log })
  assert.match(String(errors.map((fields) => JSON.stringify(fields, errorText))), /not at the address/)
  assert.deepEqual([await marked(scene), await scene.signed()], [0, []])
})

const errorText = (_: string, value: unknown) => (value instanceof Error ? value.message : value)

test('a transaction that was signed before is not signed again, and leaves no marks', async () => {
  const scene = await openScene()
  const { signer } = scene
  await scene.request('0.05')
  await signAll(signer)
  const [before] = await scene.signed()
  assert.ok(before)
  await askForThree(scene)
  await signAll({ ...signer, journal: { ...signer.journal, entryOf: async () => before } })
  assert.deepEqual([await marked(scene), (await scene.signed()).length], [1, 1])
  const { rowCount } = await scene.sql(
    `select from withdrawals w where signing_since is not null and not exists
       (select from signed_payouts s where s.account_id = w.account_id and s.withdrawal_id = w.id)`,
  )
  assert.equal(rowCount, 0)
})

test('one that is not to be paid any more when all is signed leaves no marks on the others, and they are paid next', async (t) => {
  const scene = await openScene()
  const [first, ...others] = await askForThree(scene)
  assert.ok(first)
  const counting = t.mock.method(scene.signer.approvals, 'countLeft', async () => {
    await scene.sql('update withdrawals set cancel_wanted = true where id = $1', [first.id])
  })
  await signerTurn(scene.signer)
  assert.deepEqual([await marked(scene), await scene.signed()], [0, []])
  counting.mock.restore()
  await signAll(scene.signer)
  assert.deepEqual((await scene.signed()).map(paidBy), [others.map(nameOf)])
})

test('what a journal may hold stays marked: its write failed, and only opening it again tells', async () => {
  const scene = await openScene()
  await askForThree(scene)
  const journal = { ...scene.signer.journal, signed: () => Promise.reject(new Error('EIO: i/o error')) }
  await signAll({ ...scene.signer, journal })
  assert.equal(await marked(scene), 3)
})

test('a freeze is kept to, whether it comes before the marks or before the journal', async (t) => {
  const scene = await openScene()
  const { db } = scene.gateway
  const three = await askForThree(scene)
  const freezeNow = () => freeze(db, 'bitcoin', 'BTC', 'the books and the chain disagree')
  await signerTurn(beforeMarks(scene.signer, 3, freezeNow))
  assert.deepEqual([await marked(scene), await scene.signed()], [0, []])
  await thaw(db, 'bitcoin', 'BTC')
  const counting = t.mock.method(scene.signer.approvals, 'countLeft', async () => void (await freezeNow()))
  await signerTurn(scene.signer)
  assert.equal(counting.mock.callCount(), 1)
  assert.deepEqual([await marked(scene), await scene.signed()], [0, []])
  counting.mock.restore()
  await thaw(db, 'bitcoin', 'BTC')
  await signAll(scene.signer)
  assert.deepEqual((await scene.signed()).map(paidBy), [three.map(nameOf)])
})

test('what another signer signed for meanwhile is left out, and nothing is signed that would be void', async () => {
  const scene = await openScene()
  const other = await testSigner(scene.gateway, ['bitcoin', 'ethereum'], { config: { tokens: TOKENS } })
  const three = await askForThree(scene)
  await signerTurn(beforeMarks(scene.signer, 3, () => signAll(other)))
  for (const each of three) assert.equal((await other.journal.payingFor(nameOf(each))).length, 1)
  assert.deepEqual(await scene.signed(), [])
  assert.equal(scene.signer.journal.leftSince('BTC', true, 0), 0n)
})

test('cancelled withdrawals of one payout that the database forgot are put back by it once', async () => {
  const scene = await openScene()
  const { signer, sql } = scene
  await askForThree(scene)
  await signAll(signer)
  await sql('update withdrawals set cancel_wanted = true')
  assert.equal(await forgetAndTurn(scene), 1)
  assert.equal((await sql('select from signed_payouts')).rowCount, 3)
  assert.equal((await sql('select from withdrawals where refused_reason is not null')).rowCount, 0)
})
