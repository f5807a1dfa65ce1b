/**
 * `npm test`: all tests, or the files and options given after `--`.
 *
 *   npm test                                   everything
 *   npm test -- src/core/money.test.ts         one file
 *   npm test -- --test-name-pattern=replaced   by name
 */
import { spawn } from 'node:child_process'
import { chmod, glob, mkdir, mkdtemp, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { COMPILE_CACHE } from '../src/process/compile-cache.ts'
import { ensurePrerequisites } from './prerequisites.ts'
import { endStuckFiles, RUNNING_FILES_VARIABLE } from './stuck-files.ts'

/** Of one test; the longest takes a quarter of it. */
const TEST_LIMIT_MS = 300_000
/** What a file may be silent beyond one test that hangs: the run tells of the test before its file is ended. */
const FILE_EXTRA_MS = 180_000
/**
 * Of the whole run: more than it takes on a machine a quarter as fast as two cores should be, for what hangs is a file, and
 * that has a limit of its own.
 */
const RUN_LIMIT_MS = 90 * 60_000
/** Linux keeps this folder in memory. */
const MEMORY_FOLDER = '/dev/shm'
/** More than a run ever writes, and left alone where it would be missed. */
const MEMORY_BYTES = 8 * 1024 ** 3

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

const scratch = await makeScratch()
const runningFiles = join(scratch, 'running-files')
await mkdir(runningFiles)
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
      TMPDIR: scratch,
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

// Whoever ends the run ends the tests, and what they keep in memory goes.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
child.on('exit', async (code) => {
  stopLooking()
  clearTimeout(runLimit)
  await rm(scratch, { recursive: true, force: true })
  process.exitCode = code ?? 1
})

/**
 * Where everything temporary of this run goes: in memory where there is enough. A database for each test makes and drops
 * a thousand small files, and a disk takes longer over that than PostgreSQL over the test.
 */
async function makeScratch(): Promise<string> {
  const folder = await mkdtemp(join((await hasMemory()) ? MEMORY_FOLDER : tmpdir(), 'beck-tests-'))
  // PostgreSQL runs as a user of its own and passes through.
  await chmod(folder, 0o711)
  return folder
}

async function hasMemory(): Promise<boolean> {
  const room = await statfs(MEMORY_FOLDER).catch(() => null)
  if (!room) return false
  return Math.min(room.bavail * room.bsize, process.availableMemory()) >= MEMORY_BYTES
}
