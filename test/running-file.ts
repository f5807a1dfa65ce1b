/**
 * Loaded into the process of every test file, which names itself in a folder while it runs, anew after each of its tests, and
 * marks when they are over: test/stuck-files.ts looks there for processes that go no further.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach } from 'node:test'
import { importQuickly } from '../src/process/quick-imports.ts'
import { EXITING, RUNNING_FILES_VARIABLE } from './stuck-files.ts'

importQuickly()

const folder = process.env[RUNNING_FILES_VARIABLE]
if (folder && process.env.NODE_TEST_CONTEXT) {
  const entry = join(folder, String(process.pid))
  const nameItself = () => writeFileSync(entry, process.argv[1] ?? '')
  nameItself()
  afterEach(() => {
    try {
      nameItself()
    } catch {
      // A full disk is what its tests tell of.
    }
  })
  process.on('exit', () => {
    rmSync(entry, { force: true })
    writeFileSync(entry + EXITING, process.argv[1] ?? '')
  })
}
