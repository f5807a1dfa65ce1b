/** The workflows keep an inventory of what Beck is made of, ask for known weaknesses, and refuse a tag that is none. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import { promisify } from 'node:util'

const workflow = await readFile('.github/workflows/ci.yml', 'utf8')

test('the workflow asks for known weaknesses, and keeps an inventory', () => {
  assert.match(workflow, /^ +- run: npm audit --omit=dev --audit-level=high$/m)
  assert.match(workflow, /^ +- run: npm run --silent sbom > beck\.cdx\.json$/m)
  assert.match(workflow, /upload-artifact@[\s\S]*path: beck\.cdx\.json/)
})

test('a tag that was pushed is looked at again: it is on main, and every place says its version', async () => {
  const release = await readFile('.github/workflows/release.yml', 'utf8')
  assert.match(release, /^ +tags: \['v\*'\]$/m)
  assert.match(release, /^ +- run: git merge-base --is-ancestor "\$GITHUB_SHA" origin\/main$/m)
  assert.match(release, /^ +- run: npm run --silent check:release -- "\$GITHUB_REF_NAME"$/m)
})

test('the inventory is CycloneDX and names the packages that Beck runs with', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom'], {
    maxBuffer: 64 * 1024 * 1024,
  })
  const { bomFormat, components } = JSON.parse(stdout) as {
    bomFormat: string
    components: { name: string; group?: string }[]
  }
  assert.equal(bomFormat, 'CycloneDX')
  const named = new Set(components.map(({ group, name }) => (group ? `${group}/${name}` : name)))
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as { dependencies: object }
  // `npm sbom --omit=dev` leaves out what a development package needs too.
  assert.deepEqual(
    Object.keys(dependencies).filter((name) => !named.has(name)),
    [],
  )
})
