/** What the signer's folder keeps of approvals survives crashes, and says when it does not. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Asset } from '../../core/assets.ts'
import { type AccountId, newRowId, showId, type WithdrawalId } from '../../core/ids.ts'
import { DAY_MS, HOUR_MS } from '../../core/time.ts'
import { ApprovalLog, type ApprovalRow } from './approval-log.ts'
import { addApprover, countsFromMs, readApprovers, removeApprover } from './approvers.ts'
import { type Left, LeftFreely } from './left-freely.ts'
import { PlannedFreely } from './planned-freely.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'beck-approvals-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const FACT = { at: 1_000, account: 'acct_a', request: 'apr_1' }
const approval: ApprovalRow = {
  ...FACT,
  fact: 'approval',
  user: 'usr_a',
  fingerprint: 'ff',
  credentialId: 'cred',
  counter: 7,
  statement: 'text\n',
  authenticatorData: 'AA',
  clientData: 'BB',
  signature: 'CC',
  pays: ['digest usr_b'],
}
const policy: ApprovalRow = {
  ...FACT,
  fact: 'policy',
  number: 1,
  policy: {
    coins: { BTC: { from_atoms: '5', approvals: 2 } },
    binds_keys: true,
    allowlist: { is_required: true, delay_hours: 1 },
  },
}

test('facts are there after a restart, a torn last row is not, and one in the middle is not signed on with', async () => {
  const path = join(folder, 'log', 'approvals')
  const first = await ApprovalLog.open(path)
  await first.append(approval)
  await first.append(policy)
  const address = { network: 'ethereum', address: '0xAb', name: 'Cold' } as const
  await first.append({ ...FACT, request: 'apr_2', fact: 'allow', ...address })
  await first.append({ ...FACT, at: 2_000, request: 'apr_3', fact: 'allow', ...address })
  await first.close()
  await appendFile(path, '{"fact":"disallow","account"')
  const second = await ApprovalLog.open(path)
  assert.equal(second.policyOf('acct_a')?.policy.coins.BTC?.fromAtoms, 5n)
  assert.equal(second.policyOf('acct_a')?.firstMs, 1_000)
  assert.equal(second.counterOf('cred'), 7)
  assert.equal(second.addressOf('acct_a', 'ethereum', '0xAB')?.addedMs, 1_000)
  assert.deepEqual([second.isDone('apr_1'), second.isDone('apr_4')], [true, false])
  const [kept] = second.approvalsOf('acct_a', 'digest usr_b')
  assert.ok(kept)
  assert.equal((await second.read(kept)).signature, 'CC')
  assert.deepEqual(second.approvalsOf('acct_b', 'digest usr_b'), [])
  assert.deepEqual(second.approvalsOf('acct_a', 'digest usr_c'), [])
  await second.append({ ...FACT, request: 'apr_5', fact: 'disallow', ...address })
  assert.equal(second.addressOf('acct_a', 'ethereum', '0xAb'), null)
  await second.close()
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace('"from_atoms":"5"', '"from_atoms":"6"'))
  await assert.rejects(ApprovalLog.open(path), /line 2 of the signer's log of approvals/)
  await writeFile(path, text.split('\n').slice(1).join('\n'))
  await assert.rejects(ApprovalLog.open(path), /ends earlier than it did, or is another one/)
})

test('an address is allowed and taken off in any of its spellings; in base58 capitals count', async () => {
  const log = await ApprovalLog.open(join(folder, 'spellings', 'approvals'))
  const list = (fact: 'allow' | 'disallow', address: string) =>
    log.append({ ...FACT, request: `apr_${address}`, fact, network: 'bitcoin', address, name: 'Cold' })
  const bech32 = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'
  await list('allow', bech32.toUpperCase())
  assert.equal(log.addressOf('acct_a', 'bitcoin', bech32)?.name, 'Cold')
  await list('allow', bech32)
  await list('disallow', bech32.toUpperCase())
  assert.deepEqual(log.addressesOf('acct_a'), [])
  await list('allow', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn')
  assert.equal(log.addressOf('acct_a', 'bitcoin', 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRFN'), null)
  await log.close()
})

test('a log that was lost or cut off at the end of a row is not taken for an empty one, or a shorter', async () => {
  const path = join(folder, 'cut', 'approvals')
  const first = await ApprovalLog.open(path)
  await first.append(approval)
  await first.append(policy)
  await first.close()
  const text = await readFile(path, 'utf8')
  const [row] = text.split('\n')
  for (const shorter of ['', `${row}\n`]) {
    await writeFile(path, shorter)
    await assert.rejects(ApprovalLog.open(path), /ends earlier than it did/)
  }
  await rm(path)
  await assert.rejects(ApprovalLog.open(path), /ends earlier than it did/)
  await writeFile(path, text)
  const second = await ApprovalLog.open(path)
  assert.equal(second.policyOf('acct_a')?.number, 1)
  await second.close()
})

test('what was approved of a withdrawal that failed is approved no longer, after a restart too', async () => {
  const path = join(folder, 'over', 'approvals')
  const first = await ApprovalLog.open(path)
  await first.append(approval)
  assert.equal(first.approvalsOf('acct_a', 'digest usr_b').length, 1)
  await first.append({ fact: 'over', at: 2_000, account: 'acct_a', terms: 'digest usr_b' })
  await first.close()
  const second = await ApprovalLog.open(path)
  assert.deepEqual(second.approvalsOf('acct_a', 'digest usr_b'), [])
  await second.close()
})

test('the file of what left freely does not grow with what a day has forgotten', async () => {
  const path = join(folder, 'folded', 'left-freely')
  const file = await LeftFreely.open(path, false, 0, 10)
  for (let hour = 0; hour < 24 * 20; hour++) await file.count([left(`w${hour}`, 1n)], hour * HOUR_MS)
  await file.close()
  const rows = (await readFile(path, 'utf8')).split('\n').length
  assert.ok(rows < 100, `${rows} rows of 480`)
})

const left = (withdrawal: string, atoms: bigint): Left => ({
  account: 'acct_a',
  asset: 'BTC',
  withdrawal,
  atoms,
})

test('what left freely is known after a restart, counted once, and forgotten after a day', async () => {
  const path = join(folder, 'left', 'left-freely')
  const first = await LeftFreely.open(path, false, 0)
  await first.count([left('w1', 5n), left('w2', 7n)], 0)
  await first.count([left('w2', 7n)], HOUR_MS)
  await first.close()
  await appendFile(path, '{"at":1,"acc')
  const second = await LeftFreely.open(path, true, HOUR_MS)
  const sum = (now: number) => second.sum('acct_a', 'BTC', now)
  assert.equal(sum(HOUR_MS), 12n)
  assert.equal(second.countedOf('acct_a', 'BTC', 'w2', HOUR_MS), 7n)
  assert.equal(second.sum('acct_b', 'BTC', HOUR_MS), 0n)
  // The one that was counted again counts from then on.
  assert.equal(sum(DAY_MS), 7n)
  assert.equal(second.countedOf('acct_a', 'BTC', 'w1', DAY_MS), 0n)
  assert.equal(sum(DAY_MS + HOUR_MS), 0n)
  await second.close()
})

test('what a transaction has leave freely counts with what left before, each withdrawal once', async () => {
  const accountId = newRowId() as AccountId
  const account = showId('acct', accountId)
  const request = (id: string, amountAtoms: bigint, asset: Asset = 'BTC') => ({
    accountId,
    id: id as WithdrawalId,
    asset,
    amountAtoms,
  })
  const leftNow = await LeftFreely.open(join(folder, 'planned', 'left-freely'), false, 0)
  const counted = { account, asset: 'BTC', atoms: 5n } as const
  await leftNow.count([{ ...counted, withdrawal: `${accountId}/w1` }], 0)
  await leftNow.count([{ ...counted, withdrawal: `${accountId}/w2` }], 0)
  const planned = new PlannedFreely(leftNow)
  assert.equal(planned.besides(request('w3', 100n), 1), 10n)
  assert.equal(planned.besides(request('w1', 5n), 1), 5n, 'its signer died after it counted it')
  planned.add(request('w1', 5n), 1)
  planned.add(request('w1', 5n), 1)
  planned.add(request('w3', 100n), 1)
  planned.add(request('w4', 1_000n, 'LTC'), 1)
  assert.equal(planned.besides(request('w5', 1n), 1), 110n)
  assert.equal(planned.besides(request('w1', 5n), 1), 105n)
  assert.equal(planned.besides(request('w5', 1n, 'LTC'), 1), 1_000n)
  await leftNow.close()
  const lost = new PlannedFreely(await LeftFreely.open(join(folder, 'planned-lost', 'left-freely'), true, 0))
  lost.add(request('w1', 5n), 1)
  assert.equal(lost.besides(request('w2', 5n), 1), null)
})

test('where the file is lost although there are policies, nobody knows for a day what left', async () => {
  const path = join(folder, 'lost', 'left-freely')
  const first = await LeftFreely.open(path, true, 0)
  assert.equal(first.sum('acct_a', 'BTC', DAY_MS - 1), null)
  await first.close()
  const second = await LeftFreely.open(path, true, HOUR_MS)
  assert.equal(second.sum('acct_a', 'BTC', DAY_MS - 1), null)
  assert.equal(second.sum('acct_a', 'BTC', DAY_MS), 0n)
  await second.close()
})

test('an approver counts at once before there is a policy, a week later under one, and is pinned once', async () => {
  const home = join(folder, 'pins')
  const who = {
    account: 'acct_a',
    user: 'usr_a',
    name: 'Ann',
    credentialId: 'c',
    publicKey: 'k',
    rpId: 'x',
    origin: 'https://x',
  }
  assert.deepEqual(await readApprovers(home), [])
  assert.deepEqual([await addApprover(home, who), await addApprover(home, who)], [true, false])
  assert.equal(await addApprover(home, { ...who, account: 'acct_b' }), true)
  const [pin] = await readApprovers(home)
  assert.ok(pin)
  const addedMs = Date.parse(pin.added_at)
  assert.equal(countsFromMs(pin, null), addedMs)
  assert.equal(countsFromMs(pin, addedMs + 1), addedMs)
  assert.equal(countsFromMs(pin, addedMs - 1), addedMs + 7 * DAY_MS)
  assert.equal(countsFromMs({ added_at: 'soon' }, null), Number.POSITIVE_INFINITY)
  await removeApprover(home, pin)
  assert.deepEqual(
    (await readApprovers(home)).map(({ account }) => account),
    ['acct_b'],
  )
})

test('of commands that change the approvers at once each one counts, and none is undone by another', async () => {
  const home = join(folder, 'busy')
  const people = Array.from({ length: 8 }, (_, at) => ({
    account: 'acct_a',
    user: `usr_${at}`,
    name: 'Ann',
    credentialId: `c${at}`,
    publicKey: 'k',
    rpId: 'x',
    origin: 'https://x',
  }))
  const [gone, ...others] = people
  assert.ok(gone)
  await addApprover(home, gone)
  const [pin] = await readApprovers(home)
  assert.ok(pin)
  await Promise.all([removeApprover(home, pin), ...others.map((each) => addApprover(home, each))])
  assert.deepEqual(
    (await readApprovers(home)).map(({ user }) => user).sort(),
    others.map(({ user }) => user),
  )
})

test('a command that was killed while it changed the approvers holds up no other', async () => {
  const home = join(folder, 'killed')
  const held =
    'import { changeAlone } from "./src/signer/folder.ts"; await changeAlone(process.argv[1], "approvers.json", () => { process.kill(process.pid, "SIGKILL"); return new Promise(() => {}) })'
  const { signal } = spawnSync(process.execPath, ['--input-type=module', '-e', held, home])
  assert.equal(signal, 'SIGKILL')
  const who = {
    account: 'a',
    user: 'u',
    name: 'n',
    credentialId: 'c',
    publicKey: 'k',
    rpId: 'x',
    origin: 'o',
  }
  assert.equal(await addApprover(home, who), true)
})
