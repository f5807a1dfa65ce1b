/**
 * `npm test`: all tests, or the files and options given after `--`.
 *
 *   npm test                                   everything
 *   npm test -- src/core/money.test.ts         one file
 *   npm test -- --test-name-pattern=replaced   by name
 */
import { spawn } from 'node:child_process'
import { glob } from 'node:fs/promises'
import { COMPILE_CACHE } from '../src/compile-cache.ts'
import { ensurePrerequisites } from './prerequisites.ts'

const given = process.argv.slice(2)
const options = given.filter((argument) => argument.startsWith('-'))
const chosen = given.filter((argument) => !argument.startsWith('-'))
const files =
  chosen.length > 0 ? chosen : (await Array.fromAsync(glob('{src,sdk,web,test}/**/*.test.ts'))).sort()

// A part of the tests may need none of them, and says itself what it misses.
if (chosen.length === 0) await ensurePrerequisites()

const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-global-setup=test/global-setup.ts',
    '--test-timeout=600000',
    '--test-concurrency=2',
    ...options,
    ...files,
  ],
  {
    stdio: 'inherit',
    // A hundred test files and the programs they start read the same modules: compiled once, half of their start is saved.
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env },
  },
)
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
