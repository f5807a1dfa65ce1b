import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { endStuckFiles, RUNNING_FILES_VARIABLE } from './stuck-files.ts'

const PRELOAD = fileURLToPath(new URL('./running-file.ts', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'beck-stuck-'))
after(() => rm(folder, { recursive: true, force: true }))

for (const [what, program, exitCode] of [
  ['ends by itself', `test('passes', () => {})`, 0],
  [
    'takes long, and gets on with its tests',
    `for (let i = 0; i < 40; i++) test('passes', () => new Promise((done) => setTimeout(done, 200)))`,
    0,
  ],
  [
    'takes long, and gets on with one inside of another',
    `describe('all', () => { for (let i = 0; i < 40; i++) test('passes', () => new Promise((done) => setTimeout(done, 200))) })`,
    0,
  ],
  ['waits before its first test', `setInterval(() => {}, 100); await new Promise(() => {})`, 1],
  ['keeps a timer after its last test', `test('passes', () => {}); setInterval(() => {}, 100)`, 1],
] as const) {
  test(`a file that ${what} ends the run with ${exitCode}`, async () => {
    const file = join(folder, `${what.replaceAll(' ', '-')}.mjs`)
    await writeFile(file, `import { describe, test } from 'node:test'\n${program}\n`)
    const running = await mkdtemp(join(folder, 'running-'))
    const told: string[] = []
    const stop = endStuckFiles(running, 5_000, (line) => told.push(line))
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const runner = spawn(process.execPath, ['--import', PRELOAD, '--test', file], {
      env: { ...env, [RUNNING_FILES_VARIABLE]: running },
      stdio: 'ignore',
    })
    const [code] = await once(runner, 'exit')
    stop()
    assert.equal(code, exitCode)
    assert.equal(told.length, exitCode)
    if (exitCode === 1)
      assert.match(told[0] ?? '', new RegExp(`^${file}: no test of it has ended for \\d+ s`))
    assert.deepEqual(
      (await readdir(running)).filter((name) => !name.endsWith('.exiting')),
      [],
    )
  })
}
