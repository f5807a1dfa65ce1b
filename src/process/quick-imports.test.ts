import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const HERE = new URL('./quick-imports.ts', import.meta.url).href
const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = await mkdtemp(join(root, 'node_modules/.cache/quick-imports-'))
after(() => rm(folder, { recursive: true }))

/** Whatever the program prints, with the imports as given. */
async function run(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--input-type=module',
      '--eval',
      `const { importQuickly } = await import('${HERE}'); importQuickly(); ${program}`,
    ],
    { cwd: root },
  )
  return stdout.trim()
}

test('a file is the same file, whoever imports it and from wherever', async () => {
  const program = `
    const [money, again, database] = await Promise.all([
      import('./src/core/money.ts'), import('./src/rates/../core/money.ts'), import('./src/db/database.ts')])
    console.log(money === again, typeof database.openDatabase)`
  assert.equal(await run(program), 'true function')
})

test('a file that is not there is missed by its name', async () => {
  const program = `await import('./src/core/moneys.ts').catch(({ code, message }) => console.log(code, message))`
  assert.match(await run(program), /^ENOENT .*src\/core\/moneys\.ts/)
})

test('what names no file whole is looked for as ever: a package, a folder, what stands in a folder', async () => {
  await mkdir(join(folder, 'inner'))
  await writeFile(join(folder, 'main.cjs'), "module.exports = require('./inner')")
  await writeFile(join(folder, 'inner/index.js'), "exports.found = 'by its folder'")
  assert.equal(
    await run(`console.log((await import('${join(folder, 'main.cjs')}')).default.found)`),
    'by its folder',
  )
})
