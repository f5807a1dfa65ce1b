/** The pictures in docs/screenshots: what the guides show, made by the tests of the pages. */
import assert from 'node:assert/strict'
import { glob, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import test from 'node:test'

const FOLDER = 'docs/screenshots'

test('every picture is shown by a guide, in words too, and every one that is shown is there', async () => {
  const shown = new Set<string>()
  for await (const guide of glob('{README.md,docs/**/*.md}')) {
    const text = await readFile(guide, 'utf8')
    for (const [, alt, path = ''] of [
      ...text.matchAll(/!\[([^\]]*)\]\(([^)]+\.png)\)/g),
      ...text.matchAll(/<img alt="([^"]*)" src="([^"]+\.png)"/g),
    ]) {
      assert.ok(alt, `${guide}: ${path} without words for who does not see it`)
      assert.equal(dirname(join(dirname(guide), path)), FOLDER, guide)
      shown.add(basename(path))
    }
  }
  assert.deepEqual([...shown].sort(), (await readdir(FOLDER)).sort())
})
