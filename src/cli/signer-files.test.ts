import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { lockDirectory } from '../db/embedded/directory-lock.ts'
import { putBackSignerFiles, saveSignerFiles } from './signer-files.ts'

const root = await mkdtemp(join(tmpdir(), 'beck-signer-files-'))
after(() => rm(root, { recursive: true, force: true }))
let cases = 0

interface Files {
  readonly journal?: string
  readonly 'allowlist.json'?: string
  readonly approvals?: string
  readonly 'approvers.json'?: string
}

async function folderWith(files: Files, ...under: string[]): Promise<string> {
  cases += 1
  const folder = join(root, String(cases), ...under)
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

/** @returns What the signer's directory holds after the backup's files were put back into it, twice. */
async function putBack(saved: Files, present: Files): Promise<Record<string, string>> {
  const folder = await folderWith(saved)
  const home = await folderWith(present, 'signer')
  for (let time = 0; time < 2; time++) await putBackSignerFiles(folder, join(home, '..'))
  const names = (await readdir(home)).filter((name) => /^(journal|allowlist|approv)/.test(name))
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(home, name), 'utf8')])),
  )
}

test('of two journals of one signer the one that knows more is there, and a copied one is marked as such', async () => {
  const table: [saved: string | null, present: string | null, after: Record<string, string>][] = [
    [null, null, {}],
    [null, 'a\n', { journal: 'a\n' }],
    ['a\n', null, { journal: 'a\n', 'journal.copied': '' }],
    ['a\n', 'a\n', { journal: 'a\n' }],
    ['a\n', 'a\nb\n', { journal: 'a\nb\n' }],
    ['a\nb\n', 'a\n', { journal: 'a\nb\n', 'journal.copied': '' }],
    // Half a line: a copy made while it was written, or a crash.
    ['a\nb', 'a\nc\n', { journal: 'a\nc\n' }],
    ['a\nb\n', 'a\nb', { journal: 'a\nb\n', 'journal.copied': '' }],
    ['', null, {}],
  ]
  for (const [saved, present, expected] of table)
    assert.deepEqual(
      await putBack(saved === null ? {} : { journal: saved }, present === null ? {} : { journal: present }),
      expected,
      JSON.stringify([saved, present]),
    )
})

test("another signer's journal is neither replaced nor taken for this one's", async () => {
  await assert.rejects(putBack({ journal: 'a\nb\n' }, { journal: 'x\n' }), { reason: 'other_journal' })
  await assert.rejects(putBack({ journal: 'a\n' }, { journal: 'x\ny\n' }), { reason: 'other_journal' })
})

test('an allowlist that is there stays, whatever was added to it since', async () => {
  const one = JSON.stringify([{ address: 'a' }], null, 2)
  const two = JSON.stringify([{ address: 'a' }, { address: 'b' }], null, 2)
  assert.deepEqual(await putBack({ 'allowlist.json': one }, { 'allowlist.json': two }), {
    'allowlist.json': two,
  })
  assert.deepEqual(await putBack({ 'allowlist.json': one }, {}), { 'allowlist.json': one })
})

test('nothing is put under a signer that runs', async () => {
  const folder = await folderWith({ journal: 'a\n' })
  const home = await folderWith({}, 'signer')
  const lock = lockDirectory(home, 'server')
  await assert.rejects(putBackSignerFiles(folder, join(home, '..')), { reason: 'data_directory_in_use' })
  lock.release()
  await putBackSignerFiles(folder, join(home, '..'))
  assert.equal(await readFile(join(home, 'journal'), 'utf8'), 'a\n')
})

test('what is saved can be read by its owner only, if it could before', async () => {
  const home = await folderWith({}, 'signer')
  await writeFile(join(home, 'journal'), 'a\n', { mode: 0o600 })
  const folder = await folderWith({})
  assert.deepEqual(await saveSignerFiles(join(home, '..'), folder), ['journal'])
  assert.equal((await stat(join(folder, 'journal'))).mode & 0o777, 0o600)
})

test('of two logs of approvals the one that knows more is there; approvers who are there stay as they are', async () => {
  assert.deepEqual(await putBack({ approvals: 'a\nb\n', 'approvers.json': '[1]' }, { approvals: 'a\n' }), {
    approvals: 'a\nb\n',
    'approvers.json': '[1]',
  })
  assert.deepEqual(
    await putBack(
      { approvals: 'a\n', 'approvers.json': '[1]' },
      { approvals: 'a\nb\n', 'approvers.json': '[]' },
    ),
    { approvals: 'a\nb\n', 'approvers.json': '[]' },
  )
  await assert.rejects(putBack({ journal: 'a\n', approvals: 'a\n' }, { approvals: 'x\n' }), {
    reason: 'other_journal',
  })
})
