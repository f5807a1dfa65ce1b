import assert from 'node:assert/strict'
import test from 'node:test'
import { LAST_BEFORE_A_RELEASE } from './migration-rules.ts'
import { findObstacles, type Release, readVersions, releasesOf } from './release.ts'

const CHANGELOG = '# Changelog\n\n## [Unreleased]\n\n## [0.10.0] - 2026-02-03\n\n### Added\n\n- A thing.\n'
const GOOD: Release = {
  tag: 'v0.10.0',
  places: [{ file: 'package.json', version: '0.10.0' }],
  changelog: `${CHANGELOG}\n## [0.9.0] - 2026-01-01\n\n- Another.\n`,
  tags: ['v0.9.0', 'v0.2.0', 'trial'],
  edited: [],
  lastMigration: '9999-last.sql',
}
const refuses = (change: Partial<Release>, ...why: RegExp[]) => {
  const obstacles = findObstacles({ ...GOOD, ...change })
  assert.equal(obstacles.length, why.length, obstacles.join('\n'))
  for (const [place, expected] of why.entries()) assert.match(obstacles[place] ?? '', expected)
}

test('a tag that agrees with every place may go out, the first one too', () => {
  refuses({})
  refuses({ tags: [], changelog: CHANGELOG, lastMigration: LAST_BEFORE_A_RELEASE })
  refuses({ changelog: CHANGELOG.replace('## [Unreleased]\n\n', '') })
})

test('a tag is v and three numbers', () => {
  for (const tag of ['', '0.10.0', 'v0.10', 'v0.10.0-rc.1', 'v0.10.0 ', 'v00.10.0', 'V0.10.0'])
    refuses({ tag }, /three numbers/)
})

test('a tag that a file disagrees with is refused, by the name of the file', () => {
  const places = [
    { file: 'package.json', version: '0.10.0' },
    { file: 'sdk/package.json', version: '0.9.0' },
    { file: 'cli/README.md', version: null },
  ]
  refuses({ places }, /^sdk\/package\.json says 0\.9\.0/, /^cli\/README\.md says no version/)
})

test('a tag whose changelog is not written is refused', () => {
  const said = (text: string) => ({ changelog: text })
  refuses(said(CHANGELOG.replace('[Unreleased]\n', '[Unreleased]\n\n- Left over.\n')), /"Unreleased"/)
  refuses(said(CHANGELOG.replace('[0.10.0]', '[0.9.0]')), /newest version is not "## \[0\.10\.0\]/)
  refuses(said(CHANGELOG.replace(' - 2026-02-03', '')), /newest version/)
  refuses(said(CHANGELOG.replace('2026-02-03', '2026-13-03')), /newest version/)
  refuses(said(CHANGELOG.replace('- A thing.', '')), /says nothing about 0\.10\.0/)
  refuses(said('# Changelog\n'), /newest version/)
})

test('a tag is newer than every other, and made once', () => {
  refuses({ tags: ['v0.11.0', 'v0.9.0'] }, /^v0\.11\.0 is out/)
  refuses({ tags: ['v0.10.0'] }, /a second time/)
  assert.deepEqual(releasesOf(['v0.9.0', 'v0.10.0-rc.1', 'v0.10.0', 'latest']), ['v0.10.0', 'v0.9.0'])
})

test('a migration that was released is not edited', () => {
  const name = 'src/db/migrations/0025-thing.sql'
  refuses({ edited: [name] }, /0025-thing\.sql was released with v0\.9\.0/)
})

test('the rules for migrations begin with the first release', () => {
  refuses({ tags: ['trial'], lastMigration: '0025-thing.sql' }, /the last migration 0025-thing\.sql/)
})

test('server, clients, command line and their guides are of one version', async () => {
  const places = await readVersions()
  assert.ok(places.length >= 9)
  const [first] = places
  assert.match(first?.version ?? '', /^\d+\.\d+\.\d+$/)
  for (const { file, version } of places) assert.equal(version, first?.version, file)
})
