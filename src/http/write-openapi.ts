/**
 * Keeps docs/openapi.json, the committed copy of the document that `/openapi.json` serves.
 *
 *   npm run openapi                  writes it; refuses when a change would break clients
 *   npm run openapi -- --breaking    writes it all the same
 *   node src/http/write-openapi.ts --check   fails when it differs (part of `npm run check`)
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { routes } from './api/routes.ts'
import { breakingChanges } from './breaking-changes.ts'
import { openApiDocument } from './openapi.ts'

const file = new URL('../../docs/openapi.json', import.meta.url)
const document = openApiDocument(routes)
const written = `${JSON.stringify(document, null, 2)}\n`
const committed = readCommitted()
const broken = breakingChanges(JSON.parse(committed || '{}'), document)

if (broken.length > 0 && !process.argv.includes('--breaking')) {
  process.stderr.write(
    `These changes break clients of docs/openapi.json:\n${broken.map((line) => `  ${line}\n`).join('')}`,
  )
  process.exitCode = 1
} else if (!process.argv.includes('--check')) {
  writeFileSync(file, written)
} else if (committed !== written) {
  process.stderr.write('docs/openapi.json is not what the routes say: run `npm run openapi` and commit it\n')
  process.exitCode = 1
}

function readCommitted(): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
