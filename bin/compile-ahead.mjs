/**
 * After `npm ci`: reads what a start reads, once, so that the compiled modules are kept and the first start is as quick as the
 * ones after it. Plain JavaScript, for npm's own Node may be an old one. Where something is missing, nothing is kept, and the
 * first start compiles for itself.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))

/** All that runs under `beck start`: of the API, of watchers and workers, of the signer. */
const READ = [
  'src/cli/start.ts',
  'src/main.ts',
  'src/http/server.ts',
  'src/config/ports.ts',
  'src/signer/run.ts',
]

const isWhole = existsSync(own) && READ.every((path) => existsSync(`${root}${path}`))
if (isWhole) {
  const imports = READ.map((path) => `import(${JSON.stringify(`./${path}`)})`)
  spawnSync(
    own,
    [
      '--input-type=module',
      '--eval',
      `await Promise.all([${imports.join()}])
       const { readCompilers } = await import('./src/http/compile-late.ts')
       readCompilers()
       process.exit()`,
    ],
    {
      cwd: root,
      env: { ...process.env, NODE_COMPILE_CACHE: `${root}node_modules/.cache/beck` },
      stdio: 'ignore',
      timeout: 60_000,
    },
  )
}
