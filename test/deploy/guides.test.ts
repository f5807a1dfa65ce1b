/** The guides and deploy/ know each other: what a guide installs is there, and nothing lies there that no guide installs. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import test from 'node:test'

const GUIDES = [
  'single-machine',
  'three-machines',
  'high-availability',
  'upgrade',
  'upkeep',
  'incidents',
  'operators',
]
const text = (await Promise.all(GUIDES.map((name) => readFile(`docs/${name}.md`, 'utf8')))).join('\n')
const files = (await Array.fromAsync(glob('deploy/**/*', { withFileTypes: true })))
  .filter((entry) => entry.isFile())
  .map((entry) => relative('.', join(entry.parentPath, entry.name)))

/** Each place that a guide names, and each file of deploy/ that names another. */
async function named(): Promise<Set<string>> {
  const places = [...text.matchAll(/deploy\/[\w@./*-]*[\w*]/g)].map(([place]) => place)
  const found = new Set<string>()
  for (const place of places) {
    const there = await Array.fromAsync(glob(place))
    assert.ok(there.length > 0, `a guide names ${place}`)
    for (const path of there) found.add(path)
  }
  return found
}

test('every file that a guide names is there', async () => {
  assert.ok((await named()).size >= 15)
})

test('every file of deploy/ is named by a guide, or by a file that is', async () => {
  const known = await named()
  // What `docker compose` in that folder reads, and what these read.
  const compose = await readFile('deploy/compose.yaml', 'utf8')
  for (const file of files) {
    const name = file.split('/').at(-1) ?? ''
    const isNamed = known.has(file) || compose.includes(name) || text.includes(name)
    // Beside their own: promtool's tests, and what Docker looks for beside its Dockerfile.
    const isBeside = /\.rules\.test\.yml$|\.dockerignore$/.test(file) || file === 'deploy/compose.yaml'
    assert.ok(isNamed || isBeside, `${file} is named nowhere`)
  }
})
