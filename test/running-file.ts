/**
 * Loaded into the process of every test file, which names itself in a folder while it runs and marks when its tests are
 * over: test/stuck-files.ts looks there for processes that do not end.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXITING, RUNNING_FILES_VARIABLE } from './stuck-files.ts'

const folder = process.env[RUNNING_FILES_VARIABLE]
if (folder && process.env.NODE_TEST_CONTEXT) {
  const entry = join(folder, String(process.pid))
  writeFileSync(entry, process.argv[1] ?? '')
  process.on('exit', () => {
    rmSync(entry, { force: true })
    writeFileSync(entry + EXITING, process.argv[1] ?? '')
  })
}
