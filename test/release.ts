/** What has to agree before a version is a tag that operators install, as docs/internals/releases.md says it. */
import { readFile } from 'node:fs/promises'
import { LAST_BEFORE_A_RELEASE } from './migration-rules.ts'

/** Every place that says which version this is, and where in it: the first group. */
const VERSION_PLACES: readonly (readonly [file: string, shape: RegExp])[] = [
  ['package.json', /^ {2}"version": "([^"]+)"/m],
  ['package-lock.json', /^ {2}"version": "([^"]+)"/m],
  ['package-lock.json', /^ {4}"": \{\s+"name": "beck",\s+"version": "([^"]+)"/m],
  ['sdk/package.json', /^ {2}"version": "([^"]+)"/m],
  ['cli/package.json', /^ {2}"version": "([^"]+)"/m],
  ['clients/python/beck.py', /^__version__ = "([^"]+)"/m],
  ['clients/php/src/Beck.php', /beck-php\/([^']+)'/],
  // Their guides name the file that npm makes.
  ['sdk/README.md', /beck-sdk-(.+?)\.tgz/],
  ['cli/README.md', /beck-cli-(.+?)\.tgz/],
]

export interface VersionPlace {
  readonly file: string
  /** Null where the file does not say it in the way that is looked for. */
  readonly version: string | null
}

export const readVersions = (): Promise<VersionPlace[]> =>
  Promise.all(
    VERSION_PLACES.map(async ([file, shape]) => ({
      file,
      version: shape.exec(await readFile(file, 'utf8'))?.[1] ?? null,
    })),
  )

export interface Release {
  /** Such as `v1.2.3`. */
  readonly tag: string
  readonly places: readonly VersionPlace[]
  /** CHANGELOG.md. */
  readonly changelog: string
  /** Of releases that are out, without this one. */
  readonly tags: readonly string[]
  /** Migrations that the newest of these has in another form than this one, or that this one lacks. */
  readonly edited: readonly string[]
  /** The file's name. */
  readonly lastMigration: string
}

/** Three numbers and nothing behind them: the guides take the newest tag of this form. */
const TAG = /^v((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))$/

/** The tags of releases among others, the newest first. */
export const releasesOf = (tags: readonly string[]): string[] =>
  tags.filter((tag) => TAG.test(tag)).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))

/** @returns Why it must not go out, a sentence each; none when it may. */
export function findObstacles(release: Release): string[] {
  const { tag, places, changelog, tags, edited, lastMigration } = release
  const version = TAG.exec(tag)?.[1]
  if (version === undefined) return [`"${tag}" is no release: expected v and three numbers, such as v1.2.3`]
  const found = places
    .filter((place) => place.version !== version)
    .map((place) => `${place.file} says ${place.version ?? 'no version'}, and the tag ${version}`)
  const [newest] = releasesOf(tags)
  if (newest !== undefined && releasesOf([newest, tag])[0] !== tag)
    found.push(`${newest} is out: what operators take is the newest, so ${tag} would reach nobody`)
  if (tags.includes(tag)) found.push(`${tag} is out: a release is never made a second time`)
  for (const name of edited)
    found.push(`${name} was released with ${newest} and is another one now: a new migration changes tables`)
  if (newest === undefined && lastMigration !== LAST_BEFORE_A_RELEASE)
    found.push(`LAST_BEFORE_A_RELEASE is ${LAST_BEFORE_A_RELEASE}, and the last migration ${lastMigration}`)
  return [...found, ...obstaclesOfChangelog(changelog, version)]
}

function obstaclesOfChangelog(changelog: string, version: string): string[] {
  const [, ...sections] = changelog.split(/^## /m)
  const [unreleased, newest = ''] = sections[0]?.startsWith('[Unreleased]') ? sections : ['', ...sections]
  const found: string[] = []
  if (unreleased?.slice('[Unreleased]'.length).trim())
    found.push('CHANGELOG.md: "Unreleased" still says something; it belongs to this version')
  const [, named, date, text = ''] = /^\[([^\]]+)\] - (\d{4}-\d{2}-\d{2})\n([\s\S]*)$/.exec(newest) ?? []
  if (named !== version || date === undefined || Number.isNaN(Date.parse(date)))
    found.push(`CHANGELOG.md: its newest version is not "## [${version}] - ", with the day as 2026-02-03`)
  else if (!/^- /m.test(text)) found.push(`CHANGELOG.md says nothing about ${version}`)
  return found
}
