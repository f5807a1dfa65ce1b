import assert from 'node:assert/strict'
import { appendFile, copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openJournal, type SignedEntry } from './journal.ts'

let folder = ''
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'beck-journal-'))
})
after(() => rm(folder, { recursive: true, force: true }))

const entry = (
  txid: string,
  withdrawals: string[],
  atoms = '5',
  chain: 'bitcoin' | 'sim-bitcoin' = 'bitcoin',
): SignedEntry => ({
  chain,
  txid,
  line: txid,
  kind: 'payout',
  purpose: 'outputs',
  raw: '00',
  asset: 'BTC',
  valueAtoms: atoms,
  feeAtoms: '1',
  feeRate: '1000',
  withdrawals,
  spends: [],
  change: null,
  leaves: [{ asset: 'BTC', atoms }],
})

test('what was signed is known after a restart: what pays whom, what is open, what left', async () => {
  const path = join(folder, 'restart', 'journal')
  const first = await openJournal(path)
  await first.signed(entry('a', ['w1', 'w2']))
  await first.signed(entry('b', ['w3'], '7'))
  await first.signed(entry('c', ['w4'], '11'))
  await first.signed(entry('d', [], '100', 'sim-bitcoin'))
  await first.signed({ ...entry('a2', ['w1', 'w2'], '0'), line: 'a', kind: 'replacement' })
  await first.signed({ ...entry('a3', ['w1', 'w2'], '0'), line: 'a', kind: 'replacement' })
  await first.placed(entry('a', []))
  await first.placed({ ...entry('a2', []), line: 'a' })
  await first.void({ ...entry('a3', []), line: 'a' })
  await first.void(entry('b', []))
  await first.close()

  const second = await openJournal(path)
  assert.equal((await second.payingFor('w2')).map(({ txid }) => txid).join(), 'a,a2')
  assert.ok(second.isPlaced('bitcoin', 'a') && second.isPlaced('bitcoin', 'a2'))
  assert.ok(
    !second.isPlaced('bitcoin', 'a3') && !second.isPlaced('bitcoin', 'b') && !second.isPlaced('bitcoin', 'c'),
  )
  assert.deepEqual(await second.payingFor('w3'), [])
  assert.equal((await second.payingFor('w4'))[0]?.txid, 'c')
  assert.deepEqual(
    second.unsettled().map(({ txid }) => txid),
    ['c', 'd'],
  )
  assert.equal(second.leftSince('BTC', true, 0), 23n, 'a void one counts: the database saw its bytes')
  assert.equal(second.leftSince('BTC', false, 0), 100n)
  assert.equal(second.leftSince('BTC', true, Date.now() + 1), 0n)
  await second.signed(entry('e', ['w3']))
  assert.equal((await second.payingFor('w3'))[0]?.txid, 'e')
  await second.close()
})

test('which line uses a nonce is known after a restart', async () => {
  const path = join(folder, 'deep', 'er', 'journal')
  const sent = { ...entry('a', ['w1'], '5'), chain: 'ethereum', sender: '0x1', nonce: '7' } as const
  const bump = { ...sent, txid: 'a2', line: 'a', kind: 'replacement' } as const
  const given = { ...sent, txid: 'b', line: 'b', nonce: '8' }
  const first = await openJournal(path)
  for (const each of [sent, bump, given]) await first.signed(each)
  await first.placed(sent)
  await first.void(given)
  await first.close()
  const second = await openJournal(path)
  const at = async (nonce: bigint) => (await second.lineAt('ethereum', '0x1', nonce)).map(({ txid }) => txid)
  assert.deepEqual([await at(6n), await at(7n), await at(8n)], [[], ['a', 'a2'], []])
  await second.close()
})

test('a copied journal takes all that was signed for sent: its signer went on', async () => {
  const path = join(folder, 'copied')
  const first = await openJournal(path)
  await first.signed(entry('a', ['w1']))
  await copyFile(path, `${path}-copy`)
  await writeFile(`${path}-copy.copied`, '')
  await first.close()
  for (let opening = 0; opening < 2; opening++) {
    const copy = await openJournal(`${path}-copy`)
    assert.deepEqual(copy.unsettled(), [])
    assert.ok(copy.isPlaced('bitcoin', 'a'))
    assert.equal((await copy.payingFor('w1'))[0]?.txid, 'a')
    await copy.close()
  }
  assert.ok(!(await readdir(folder)).includes('copied-copy.copied'))
})

test('the bumps of a line are those that may have been sent', async () => {
  const journal = await openJournal(join(folder, 'bumped'))
  const bump = (txid: string) => ({ ...entry(txid, ['w1']), line: 'a', kind: 'replacement' as const })
  await journal.signed(entry('a', ['w1']))
  await journal.placed(entry('a', []))
  await journal.signed(entry('b', ['w2']))
  await journal.placed(entry('b', []))
  await journal.signed(bump('a2'))
  assert.deepEqual(journal.bumpedLines(), [])
  await journal.void(bump('a2'))
  await journal.signed(bump('a3'))
  await journal.placed(bump('a3'))
  assert.deepEqual(journal.bumpedLines(), [
    [
      ['bitcoin', 'a'],
      ['bitcoin', 'a3'],
    ],
  ])
  await journal.close()
})

test('a journal that could not be written says so, and writes nothing more', async () => {
  const path = join(folder, 'broken')
  const journal = await openJournal(path)
  await journal.signed(entry('a', ['w1']))
  assert.equal(journal.isBroken(), false)
  // As on a full disk: the file takes nothing more.
  await journal.close()
  await assert.rejects(journal.signed(entry('b', ['w2'])))
  assert.equal(journal.isBroken(), true)
  await assert.rejects(journal.placed(entry('a', [])))
  const again = await openJournal(path)
  assert.deepEqual(await again.payingFor('w2'), [])
  await again.close()
})

test('a torn last line is cut off; nothing had depended on it', async () => {
  const path = join(folder, 'torn')
  const first = await openJournal(path)
  await first.signed(entry('a', ['w1']))
  await first.close()
  const whole = await readFile(path, 'utf8')
  await appendFile(path, whole.slice(0, 40))
  const second = await openJournal(path)
  assert.equal((await second.payingFor('w1'))[0]?.txid, 'a')
  assert.equal(await readFile(path, 'utf8'), whole)
  await second.signed(entry('b', ['w2']))
  await second.close()
  const third = await openJournal(path)
  assert.equal((await third.payingFor('w2'))[0]?.txid, 'b')
  await third.close()
})

test('a journal that was edited, or lost a line in the middle, is refused', async () => {
  const path = join(folder, 'edited')
  const first = await openJournal(path)
  for (const txid of ['a', 'b', 'c']) await first.signed(entry(txid, [txid]))
  await first.close()
  const whole = await readFile(path, 'utf8')
  const lines = whole.split('\n')
  await writeFile(path, whole.replace('"txid":"b"', '"txid":"x"'))
  await assert.rejects(openJournal(path), { name: 'InvariantBroken', message: /line 2/ })
  await writeFile(path, [lines[0], lines[2], ''].join('\n'))
  await assert.rejects(openJournal(path), { name: 'InvariantBroken', message: /line 2/ })
})
