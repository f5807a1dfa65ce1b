/** A thousand withdrawals at once: one transaction, whatever befalls one of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bech32 } from '@scure/base'
import { COIN, forgetAndTurn, OURS, openScene, type Scene } from '../../test/live-scene.ts'
import { signAll } from '../../test/payouts.ts'
import { outputsOfRaw, type SignedOutput, vbytesOfRaw } from '../chains/bitcoin/sign.ts'
import { STANDARD_VBYTES_MAX } from '../core/vbytes.ts'
import type { Database } from '../db/database.ts'
import { requestBatch } from '../flows/withdrawals/request-batch.ts'
import { nameOf, paidBy, type SignedEntry } from '../treasury/signed-entry.ts'
import { fillAddressPool } from '../wallets/address-pool.sql.ts'
import { readLimits } from '../withdrawals/limits.ts'
import { type BatchLine, listBatch } from '../withdrawals/payout-batches.sql.ts'

const MANY = 1_000

/** A bulk payout of so many lines: 0.02 of the coin and a few atoms each. */
async function askForMany({ gateway, account }: Scene, count = MANY): Promise<BatchLine[]> {
  const lines = Array.from({ length: count }, (_, at) => ({
    line: at + 1,
    asset: 'BTC' as const,
    amount: `0.02${String(at).padStart(6, '0')}`,
    destination: bech32.encode('bcrt', [0, ...bech32.toWords(new Uint8Array(20).fill(at % 251))]),
    note: '',
  }))
  const id = await gateway.db.transaction((tx) =>
    requestBatch(gateway, tx, account, { name: 'Many', lines, askedBy: 'unknown' }),
  )
  return listBatch(gateway.db, account.id, id)
}

const named = async (scene: Scene) => (await scene.signed()).map((entry) => paidBy(entry))

test('a thousand withdrawals leave by one transaction; one that was changed, one that no node relays and one that is cancelled are not in it', async () => {
  const scene = await openScene()
  const { gateway, signer, sql } = scene
  const lines = await askForMany(scene)
  const [changed, cancelled, ...honest] = lines
  assert.ok(changed && cancelled)
  await sql('update withdrawals set destination = $2 where id = $1', [changed.id, OURS])
  await scene.invent('bitcoin', 'BTC', 545n, OURS)
  // At the last moment at which it can be: all of them were looked at, and planned for.
  let looked = 0
  const journal = {
    ...signer.journal,
    payingFor(name: string) {
      looked += 1
      return signer.journal.payingFor(name)
    },
  }
  const db: Database = {
    ...signer.db,
    async transaction(work, options) {
      if (looked === MANY + 1)
        await sql('update withdrawals set cancel_wanted = true where id = $1', [cancelled.id])
      return signer.db.transaction(work, options)
    },
  }
  await signAll({ ...signer, journal, db })
  assert.ok(looked > MANY)
  const [paid, ...others] = await named(scene)
  assert.deepEqual(others, [])
  assert.deepEqual(paid, honest.map(nameOf))
  const { rows } = await gateway.db.query<{ id: string; refused_reason: string }>(
    'select id, refused_reason from withdrawals where refused_reason is not null order by created_at, id',
  )
  assert.deepEqual(
    rows.filter(({ id }) => lines.some((line) => line.id === id)),
    [
      { id: changed.id, refused_reason: 'not_authentic' },
      { id: cancelled.id, refused_reason: 'cancelled' },
    ],
  )
  assert.deepEqual(rows.length, 3)
  assert.ok(rows.some(({ refused_reason }) => refused_reason === 'not_consistent'))
  const { rowCount } = await sql(
    'select from withdrawals where signing_since is not null and refused_reason is not null',
  )
  assert.equal(rowCount, 0)
})

test('of a thousand that a limit lets half through, the oldest that fit leave at once, to the atom of the limit', async () => {
  const scene = await openScene({ limits: readLimits('BTC=day:10') })
  const lines = await askForMany(scene)
  const startedAt = performance.now()
  await signAll(scene.signer)
  const tookMs = performance.now() - startedAt
  const entries = await scene.signed()
  assert.equal(entries.length, 1)
  const paid = entries.flatMap((entry) => paidBy(entry))
  assert.deepEqual(paid, lines.slice(0, paid.length).map(nameOf))
  assert.ok(paid.length > 400 && paid.length < 600, `${paid.length}`)
  assert.ok(scene.signer.journal.leftSince('BTC', true, 0) <= 10n * COIN)
  const next = lines[paid.length]
  assert.ok(next && scene.signer.journal.leftSince('BTC', true, 0) + next.netAtoms > 10n * COIN)
  assert.equal((await scene.now(next)).waitingFor, 'limit')
  assert.ok(tookMs < 20_000, `${Math.round(tookMs)} ms`)
})

test('as many as one transaction holds leave by it, the others by the next; a bump pays the same, and is relayed too', async () => {
  const scene = await openScene()
  const { signer, sql, gateway } = scene
  const lines: BatchLine[] = []
  for (let file = 0; file < 4; file++) lines.push(...(await askForMany(scene)))
  await signAll(signer)
  const [first, second, ...others] = await scene.signed()
  assert.ok(first && second)
  assert.deepEqual(others, [])
  assert.deepEqual([...paidBy(first), ...paidBy(second)], lines.map(nameOf))
  assert.ok(paidBy(first).length > 2_500)
  await fillAddressPool(gateway.db, gateway.secrets, { fresh: 8, change: 20 })
  await sql('update signed_transactions set sent_at = now(), bump_wanted = true')
  await signAll(signer)
  const bumps = (await scene.signed()).slice(2)
  assert.equal(bumps.length, 2)
  for (const { kind, raw, replacementSet } of bumps) {
    assert.equal(kind, 'replacement')
    assert.ok(vbytesOfRaw(raw) <= STANDARD_VBYTES_MAX)
    const opening: SignedEntry = replacementSet === first.txid ? first : second
    assert.equal(opening.txid, replacementSet)
    const paidOf = (bytes: string): SignedOutput[] => outputsOfRaw(bytes).slice(0, paidBy(opening).length)
    assert.deepEqual(paidOf(raw), paidOf(opening.raw))
  }
})

test('a database that forgot a payout of a thousand is given it back once, not a thousand times', async () => {
  const scene = await openScene()
  const { signer, sql } = scene
  await askForMany(scene)
  await signAll(signer)
  assert.equal(await forgetAndTurn(scene), 1)
  assert.equal((await scene.signed()).length, 1)
  assert.equal((await sql('select from signed_payouts')).rowCount, MANY)
})
