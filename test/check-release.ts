/**
 * `npm run check:release -- v1.2.3`: whether this commit may have that tag. Run before the tag is made, and by
 * .github/workflows/release.yml for one that was pushed.
 */
import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { findObstacles, readVersions, releasesOf } from './release.ts'

const MIGRATIONS = 'src/db/migrations'
const git = (...args: string[]): string[] =>
  execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean)

const [tag = ''] = process.argv.slice(2)
// One that was pushed is no reason against itself: made twice is what git refuses.
const isHere = git('tag', '--list', '--points-at', 'HEAD').includes(tag)
const tags = releasesOf(git('tag', '--list')).filter((each) => !(isHere && each === tag))
const [newest] = tags
const edited = newest ? git('diff', '--name-only', '--diff-filter=a', newest, '--', MIGRATIONS) : []

const obstacles = findObstacles({
  tag,
  places: await readVersions(),
  changelog: await readFile('CHANGELOG.md', 'utf8'),
  tags,
  edited,
  lastMigration: (await readdir(MIGRATIONS)).sort().at(-1) ?? '',
})
for (const obstacle of obstacles) process.stderr.write(`${obstacle}\n`)
if (obstacles.length === 0) process.stdout.write(`${tag} may go out\n`)
process.exitCode = obstacles.length === 0 ? 0 : 1
