import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { ifThere, syncPath } from './files.ts'

const folder = await mkdtemp(join(tmpdir(), 'beck-files-'))
after(() => rm(folder, { recursive: true, force: true }))

test('what is not there is null, and every other failure is told', async () => {
  await writeFile(join(folder, 'there'), 'text')
  assert.equal(await ifThere(readFile(join(folder, 'there'), 'utf8')), 'text')
  assert.equal(await ifThere(readFile(join(folder, 'nowhere'))), null)
  await assert.rejects(ifThere(readFile(folder)), { code: 'EISDIR' })
})

test('files and folders are synced; what is not there cannot be', async () => {
  await syncPath(join(folder, 'there'))
  await syncPath(folder)
  await assert.rejects(syncPath(join(folder, 'nowhere')), { code: 'ENOENT' })
})
