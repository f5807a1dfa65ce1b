/** Guides take the newest release, and main until there is one: their own line, typed in clones of a repository. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'

const folder = await mkdtemp(join(tmpdir(), 'beck-newest-'))
after(() => rm(folder, { recursive: true, force: true }))

const guides = await Promise.all(
  (await Array.fromAsync(glob('docs/*.md'))).map((page) => readFile(page, 'utf8')),
)
const [line = '', ...others] = guides.flatMap((guide) =>
  [...guide.matchAll(/^ *(git checkout .*)$/gm)].map(([, found = '']) => found),
)

const GIT = `git() { command git -c user.name=Test -c user.email=test@example.com -c init.defaultBranch=main -c tag.gpgSign=false "$@"; }
commit() { git -C host commit --quiet --allow-empty --message "$1"; }
`
/** In a shell of the reader's, who has no settings of git. */
async function type(script: string): Promise<string> {
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', `${GIT}${script}`], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' },
  })
  return stdout.trim()
}
const taken = () => type(`cd clone; ${line}; git log -1 --format=%s`)

test('before the first release it is main, from the first one on the newest, whatever main and other tags are', async () => {
  await type('git init --quiet host; commit first; git -C host tag vague; git clone --quiet host clone')
  assert.equal(await taken(), 'first')
  await type('commit second; cd clone; git fetch --quiet --tags origin')
  assert.equal(await taken(), 'second')
  await type('git -C host tag v0.9.0; commit ten; git -C host tag --annotate --message ten v0.10.0')
  await type('commit unfinished; git -C host tag latest; cd clone; git fetch --quiet --tags origin')
  assert.equal(await taken(), 'ten')
  await type('rm -r clone; git clone --quiet host clone')
  assert.equal(await taken(), 'ten')
})

test('every guide takes it by the same line, and none names a release that may not be there', async () => {
  assert.ok(others.length > 0)
  for (const other of others) assert.equal(other, line)
  for (const page of await Array.fromAsync(glob(['README.md', 'docs/*.md', 'sdk/*.md', 'cli/*.md'])))
    assert.doesNotMatch(await readFile(page, 'utf8'), /\bv\d+\.\d+\.\d+/, page)
})
