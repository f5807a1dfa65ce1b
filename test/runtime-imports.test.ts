/** An installation for running Beck (`npm ci --omit=dev`) has what Beck imports when it runs, though a developer's has more. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import test from 'node:test'

/** Of `import … from`, `export … from`, `import()` and `require()`; what imports types alone is gone by then. */
const IMPORTS =
  /(?:^|\n)(?:import|export)(?! type\b)[\w\s{},*$]*? from '([^']+)'|(?:^|\n)import '([^']+)'|(?:import|require)\('([^']+)'\)/g

const importsOf = (source: string): string[] =>
  source
    .matchAll(IMPORTS)
    .map(([, from, alone, called]) => from ?? alone ?? called ?? '')
    .toArray()

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

const isPackage = (specifier: string): boolean => !specifier.startsWith('.') && !isBuiltin(specifier)

test('imports are found in whatever way they are written', () => {
  const source = `import { a } from 'a'
import type { b } from 'b'
import {
  type c,
  d,
} from '@scope/c/deep'
import './e.ts'
export { f } from 'f'
const g = await import('g')
const h = require('h')
`
  assert.deepEqual(importsOf(source), ['a', '@scope/c/deep', './e.ts', 'f', 'g', 'h'])
})

test('what runs imports only packages that an installation for running has', async () => {
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8'))
  const files = await Array.fromAsync(glob(['src/**/*.ts', 'cli/src/**/*.ts', 'bin/*.mjs']))
  const found = new Map<string, string>()
  for (const file of files.filter((each) => !each.endsWith('.test.ts')))
    for (const specifier of importsOf(await readFile(file, 'utf8')).filter(isPackage))
      found.set(packageOf(specifier), file)
  assert.ok(found.has('fastify') && found.has('ox') && found.has('@scure/bip39'), [...found.keys()].join())
  // Fastify's own, asked for as Fastify would: the same version, wherever npm has put it.
  for (const brought of ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler']) {
    assert.equal(found.get(brought), 'src/http/compile-late.ts')
    found.delete(brought)
  }
  for (const [name, file] of found) assert.ok(name in dependencies, `${file} imports ${name}`)
})
