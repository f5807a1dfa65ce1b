/** `bin/beck.mjs` under a Node that cannot read Beck's sources: it hands over to Beck's own, or says what is missing. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../bin/', import.meta.url))
const OLD = 'data:text/javascript,Object.defineProperty(process.versions,"node",{value:"20.20.2"})'

const run = (bin: string, node: readonly string[], args: readonly string[]) =>
  spawnSync(process.execPath, [...node, join(bin, 'beck.mjs'), ...args], { encoding: 'utf8', env: {} })

test('with a Node that is new enough the program runs in it; an old one hands over, exit code included', () => {
  for (const node of [[], [`--import=${OLD}`]]) {
    const version = run(BIN, node, ['--version'])
    assert.deepEqual([version.status, /^\d+\.\d+\.\d+\n$/.test(version.stdout)], [0, true], version.stderr)
    assert.equal(run(BIN, node, ['nonsense']).status, 1)
  }
})

test('where nothing is installed it says in one sentence what to do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'beck-bin-'))
  try {
    await cp(BIN, join(folder, 'bin'), { recursive: true })
    const { status, stderr } = run(join(folder, 'bin'), [`--import=${OLD}`], ['start'])
    assert.equal(status, 1)
    assert.match(stderr, /^Beck needs Node 24 or newer and this is v\S+\. Run `npm ci`[^\n]*\n$/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
