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
  replacementSet: txid,
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

const byAccount = (
  { txid, replacementSet, raw, asset, valueAtoms, feeAtoms, feeRate, leaves }: SignedEntry,
  nonce: string,
): SignedEntry => ({
  chain: 'ethereum',
  purpose: 'transfer',
  kind: 'payout',
  sender: '0x1',
  nonce,
  transfer: { to: '0x2', atoms: '5', gasLimit: '21000', priorityFeeWei: '1', branch: 1, position: '0' },
  withdrawals: [txid.replace('t', 'w')],
  ...{ txid, replacementSet, raw, asset, valueAtoms, feeAtoms, feeRate, leaves },
})

test('what was signed is known after a restart: what pays whom, what is open, what left', async () => {
  const path = join(folder, 'restart', 'journal')
  const first = await openJournal(path)
  await first.signed(entry('a', ['w1', 'w2']))
  await first.signed(entry('b', ['w3'], '7'))
  await first.signed(entry('c', ['w4'], '11'))
  await first.signed(entry('d', [], '100', 'sim-bitcoin'))
  await first.signed({ ...entry('a2', ['w1', 'w2'], '0'), replacementSet: 'a', kind: 'replacement' })
  await first.signed({ ...entry('a3', ['w1', 'w2'], '0'), replacementSet: 'a', kind: 'replacement' })
  await first.placed(entry('a', []))
  await first.placed({ ...entry('a2', []), replacementSet: 'a' })
  await first.void({ ...entry('a3', []), replacementSet: 'a' })
  await first.void(entry('b', []))
  await first.close()

  const second = await openJournal(path)
  assert.equal((await second.payingFor('w2')).map(({ txid }) => txid).join(), 'a,a2')
  const placed = (txid: string) => second.isPlaced('bitcoin', txid)
  assert.deepEqual(await Promise.all(['a', 'a2', 'a3', 'b', 'c'].map(placed)), [
    true,
    true,
    false,
    false,
    false,
  ])
  assert.deepEqual(await second.payingFor('w3'), [])
  assert.equal((await second.payingFor('w4'))[0]?.txid, 'c')
  assert.deepEqual(
    second.pending().map(({ txid }) => txid),
    ['c', 'd'],
  )
  assert.equal(second.leftSince('BTC', true, 0), 23n, 'a void one counts: the database saw its bytes')
  assert.equal(second.leftSince('BTC', false, 0), 100n)
  assert.equal(second.leftSince('BTC', true, Date.now() + 1), 0n)
  await second.signed(entry('e', ['w3']))
  assert.equal((await second.payingFor('w3'))[0]?.txid, 'e')
  await second.close()
})

test('which replacement set uses a nonce is known after a restart', async () => {
  const path = join(folder, 'deep', 'er', 'journal')
  const sent = byAccount(entry('a', ['w1']), '7')
  const bump = { ...sent, txid: 'a2', replacementSet: 'a', kind: 'replacement' as const }
  const given = byAccount(entry('b', ['w1']), '8')
  const first = await openJournal(path)
  for (const each of [sent, bump, given]) await first.signed(each)
  await first.placed(sent)
  await first.void(given)
  await first.close()
  const second = await openJournal(path)
  const at = async (nonce: bigint) => (await second.setAt('ethereum', '0x1', nonce)).map(({ txid }) => txid)
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
    assert.deepEqual(copy.pending(), [])
    assert.ok(await copy.isPlaced('bitcoin', 'a'))
    assert.equal((await copy.payingFor('w1'))[0]?.txid, 'a')
    await copy.close()
  }
  assert.ok(!(await readdir(folder)).includes('copied-copy.copied'))
})

test('the bumps of a replacement set are those that may have been sent', async () => {
  const journal = await openJournal(join(folder, 'bumped'))
  const bump = (txid: string) => ({
    ...entry(txid, ['w1']),
    replacementSet: 'a',
    kind: 'replacement' as const,
  })
  await journal.signed(entry('a', ['w1']))
  await journal.placed(entry('a', []))
  await journal.signed(entry('b', ['w2']))
  await journal.placed(entry('b', []))
  await journal.signed(bump('a2'))
  const bumped = async () =>
    (await Array.fromAsync(journal.bumpedSets())).map((set) => set.map(({ txid }) => txid))
  assert.deepEqual(await bumped(), [])
  await journal.void(bump('a2'))
  await journal.signed(bump('a3'))
  await journal.placed(bump('a3'))
  assert.deepEqual(await bumped(), [['a', 'a3']])
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

const STORIES = 40

/** As a story of a year: payouts with bumps and void ones, on two kinds of chain. */
async function writeStories(path: string, rowsPerIndex: number): Promise<void> {
  for (let number = 0; number < STORIES; number++) {
    // Opened anew again and again, so that what one opening wrote is read by the next.
    const journal = await openJournal(path, rowsPerIndex)
    const payout = entry(`t${number}`, [`w${number}`], String(number + 1))
    const first: SignedEntry = number % 2 ? byAccount(payout, String(number)) : payout
    const bump = { ...first, txid: `t${number}b`, replacementSet: first.txid, kind: 'replacement' as const }
    await journal.signed(first)
    if (number % 5 === 4) await journal.void(first)
    else await journal.placed(first)
    if (number % 5 === 1) {
      await journal.signed(bump)
      await (number % 2 ? journal.placed(bump) : journal.void(bump))
    }
    await journal.close()
  }
}

/** What a journal says of them all. */
async function askAll(path: string, rowsPerIndex: number): Promise<unknown> {
  const journal = await openJournal(path, rowsPerIndex)
  const ids = (entries: readonly SignedEntry[]) => entries.map(({ txid }) => txid)
  const said = {
    paying: await Promise.all(
      Array.from({ length: STORIES }, async (_, number) => ids(await journal.payingFor(`w${number}`))),
    ),
    nonces: await Promise.all(
      Array.from({ length: STORIES }, async (_, number) =>
        ids(await journal.setAt('ethereum', '0x1', BigInt(number))),
      ),
    ),
    sets: await Array.fromAsync(journal.placedSets('ethereum')),
    bumped: (await Array.fromAsync(journal.bumpedSets())).map(ids),
    left: journal.leftSince('BTC', true, Date.now() - 60_000),
    pending: ids(journal.pending()),
  }
  await journal.close()
  return said
}

test('a table beside the journal changes nothing of what it says, nor does losing it', async () => {
  const bare = join(folder, 'without-table')
  await writeStories(bare, 1_000_000)
  const whole = await askAll(bare, 1_000_000)
  assert.ok(!(await readdir(folder)).includes('without-table.index'))
  const path = join(folder, 'with-table')
  await writeStories(path, 3)
  assert.deepEqual(await askAll(path, 3), whole)
  const table = await readFile(`${path}.index`)
  table[9] = (table[9] ?? 0) ^ 1
  await writeFile(`${path}.index`, table)
  assert.deepEqual(await askAll(path, 3), whole, 'a damaged table is made again')
  assert.notDeepEqual(await readFile(`${path}.index`), table)
  await rm(`${path}.index`)
  assert.deepEqual(await askAll(path, 3), whole, 'and so is a missing one')
})

test('a journal that lost its last rows, or all of them, is refused: they may have paid somebody', async () => {
  const path = join(folder, 'cut')
  const journal = await openJournal(path, 2)
  for (const txid of ['a', 'b', 'c']) {
    await journal.signed(entry(txid, [txid]))
    await journal.placed(entry(txid, []))
  }
  await journal.close()
  const whole = await readFile(path, 'utf8')
  const refused = { name: 'InvariantBroken', message: /held 6 lines before/ }
  await writeFile(path, `${whole.split('\n').slice(0, 4).join('\n')}\n`)
  await assert.rejects(openJournal(path), refused)
  await rm(path)
  await assert.rejects(openJournal(path), refused)
  await writeFile(path, whole)
  const again = await openJournal(path)
  assert.equal((await again.payingFor('c')).length, 1)
  await again.close()
})

test('a row that was edited after it entered the table is refused when it is asked for', async () => {
  const path = join(folder, 'edited-later')
  const journal = await openJournal(path, 2)
  for (const txid of ['a', 'b']) {
    await journal.signed(entry(txid, [txid]))
    await journal.placed(entry(txid, []))
  }
  await journal.close()
  const whole = await readFile(path, 'utf8')
  await writeFile(path, whole.replace('"withdrawals":["a"]', '"withdrawals":["x"]'))
  const edited = await openJournal(path)
  await assert.rejects(edited.payingFor('a'), { name: 'InvariantBroken', message: /damaged at byte 0/ })
  assert.equal((await edited.payingFor('b')).length, 1)
  await edited.close()
})

test('payouts of many withdrawals enter the table sooner: what is kept in memory is bounded by who is found, not by rows', async () => {
  const path = join(folder, 'with-many', 'journal')
  const journal = await openJournal(path, 5)
  const isIndexed = async () => (await readdir(join(folder, 'with-many'))).includes('journal.index')
  await journal.signed(entry('few', ['w0']))
  await journal.placed(entry('few', ['w0']))
  assert.equal(await isIndexed(), false)
  const many = Array.from({ length: 60 }, (_, at) => `many-${at}`)
  await journal.signed(entry('many', many))
  assert.equal(await isIndexed(), false, 'its fate is open')
  await journal.placed(entry('many', many))
  assert.equal(await isIndexed(), true)
  assert.deepEqual(
    (await journal.payingFor('many-59')).map(({ txid }) => txid),
    ['many'],
  )
  await journal.close()
})
