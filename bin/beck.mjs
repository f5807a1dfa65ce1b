#!/usr/bin/env node
/**
 * `beck`, whatever Node it is called with: it hands over to the Node 24 that Beck brings, or to this one where that is new
 * enough. Plain JavaScript, so that an old Node can read it and say what is missing.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'

const NODE_MIN = 24
const program = fileURLToPath(new URL('../src/cli/beck.ts', import.meta.url))
const own = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url))

if (Number(process.versions.node.split('.')[0]) >= NODE_MIN) {
  process.argv[1] = program
  await import(program)
} else if (existsSync(own)) {
  const beck = spawn(own, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => beck.kill(signal))
  beck.on('exit', (status, signal) => process.exit(status ?? 128 + constants.signals[signal]))
} else {
  process.stderr.write(
    `Beck needs Node ${NODE_MIN} or newer and this is ${process.version}. Run \`npm ci\` in Beck's folder, which brings it, and try again.\n`,
  )
  process.exitCode = 1
}
