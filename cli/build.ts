/** Bundles `beck-cli` into one file that needs nothing but Node: `npm pack` calls this before it packs. */
import { chmod, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const license = await readFile(new URL('../node_modules/commander/LICENSE', import.meta.url), 'utf8')
const outfile = fileURLToPath(new URL('dist/beck-cli.js', import.meta.url))
await build({
  entryPoints: [fileURLToPath(new URL('src/beck-cli.ts', import.meta.url))],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  // Numbers of events keep their digits on the way through, which Node can since this version.
  target: 'node22',
  banner: {
    // Commander, which is in it, is written for require.
    js: `#!/usr/bin/env node\n/*! commander\n${license}*/\nimport { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`,
  },
  legalComments: 'inline',
  logLevel: 'error',
})
await chmod(outfile, 0o755)
