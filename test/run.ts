/**
 * `npm test`: all tests, or the files and options given after `--`.
 *
 *   npm test                                   everything
 *   npm test -- src/core/money.test.ts         one file
 *   npm test -- --test-name-pattern=replaced   by name
 */
import { spawn } from 'node:child_process'
import { glob, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { COMPILE_CACHE } from '../src/process/compile-cache.ts'
import { ensurePrerequisites } from './prerequisites.ts'
import { endStuckFiles, RUNNING_FILES_VARIABLE } from './stuck-files.ts'

/** Of one test; the longest takes a quarter of it. */
const TEST_LIMIT_MS = 300_000
/** What a file may take beyond one test that hangs: the run tells of the test before its file is ended. */
const FILE_EXTRA_MS = 180_000
/** Of the whole run: far beyond what it takes, and short enough to be told what hangs. */
const RUN_LIMIT_MS = 30 * 60_000

const given = process.argv.slice(2)
const options = given.filter((argument) => argument.startsWith('-'))
const chosen = given.filter((argument) => !argument.startsWith('-'))
const files =
  chosen.length > 0 ? chosen : (await Array.fromAsync(glob('{src,sdk,cli,web,test}/**/*.test.ts'))).sort()
const { values } = parseArgs({
  args: options,
  options: { 'test-timeout': { type: 'string' } },
  strict: false,
})
const testLimitMs = Number(values['test-timeout'] ?? TEST_LIMIT_MS)

// A part of the tests may need none of them, and says itself what it misses.
if (chosen.length === 0) await ensurePrerequisites()

const runningFiles = await mkdtemp(join(tmpdir(), 'beck-test-files-'))
const child = spawn(
  process.execPath,
  [
    // As src/process/orderly-exit.ts does: background compilers can deadlock with a process that exits.
    '--no-maglev',
    '--no-concurrent-sparkplug',
    '--import=./test/running-file.ts',
    '--test',
    '--test-global-setup=test/global-setup.ts',
    `--test-timeout=${testLimitMs}`,
    '--test-concurrency=3',
    ...options,
    ...files,
  ],
  {
    stdio: 'inherit',
    // A hundred test files and the programs they start read the same modules: compiled once, half of their start is saved.
    env: {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...process.env,
      [RUNNING_FILES_VARIABLE]: runningFiles,
    },
  },
)

const tell = (line: string) => process.stderr.write(`npm test: ${line}\n`)
const stopLooking = endStuckFiles(runningFiles, testLimitMs + FILE_EXTRA_MS, tell)
const runLimit = setTimeout(() => {
  tell(`the tests have not ended within ${RUN_LIMIT_MS / 60_000} minutes`)
  child.kill('SIGTERM')
}, RUN_LIMIT_MS)
// A run of chosen files may take as long as their limits allow.
if (chosen.length > 0) clearTimeout(runLimit)

child.on('exit', async (code) => {
  stopLooking()
  clearTimeout(runLimit)
  await rm(runningFiles, { recursive: true, force: true })
  process.exitCode = code ?? 1
})
