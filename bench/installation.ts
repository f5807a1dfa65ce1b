/**
 * What an installation for running Beck weighs (`npm ci --omit=dev` of the last commit), how soon its first start is ready,
 * with a database, a key and tables to be made, and how soon the ones after it,
 * of which the median counts.
 *
 *   node bench/installation.ts
 *
 * Each start counts from the command until `/readyz` says so. Needs the package registry. Bars: 300 MB; ready after 3 s the first
 * time, after 1.5 s later.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../src/db/embedded/embedded.ts'
import { benchFolder } from './folder.ts'
import { median } from './median.ts'

const MEGABYTES_MAX = 300
const FIRST_MS_MAX = 3_000
const LATER_MS_MAX = 1_500
const LATER_STARTS = 3
const LOOK_MS = 10

const here = fileURLToPath(new URL('..', import.meta.url))
const folder = await benchFolder()
try {
  execFileSync('sh', ['-c', 'git archive HEAD | tar x -C "$0"', folder], { cwd: here })
  execFileSync('npm', ['ci', '--omit=dev', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' })
  const megabytes = Number.parseInt(
    execFileSync('du', ['-sm', 'node_modules'], { cwd: folder, encoding: 'utf8' }),
    10,
  )
  const firstMs = await start()
  const laterMs: number[] = []
  for (let count = 0; count < LATER_STARTS; count++) laterMs.push(await start())
  const later = median(laterMs)
  const good = megabytes <= MEGABYTES_MAX && firstMs <= FIRST_MS_MAX && later <= LATER_MS_MAX
  process.stdout.write(
    `installation: ${megabytes} MB (bar: at most ${MEGABYTES_MAX}); ready after ${firstMs.toFixed(0)} ms the first time ` +
      `(at most ${FIRST_MS_MAX}), then after ${laterMs.map((ms) => ms.toFixed(0)).join(', ')}, median ${later.toFixed(0)} (at most ${LATER_MS_MAX}): ${good ? 'met' : 'MISSED'}\n`,
  )
  process.exitCode = good ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Milliseconds until it is ready; ended in order afterwards. */
async function start(): Promise<number> {
  const port = await freePort()
  const began = performance.now()
  const beck = spawn('npm', ['start'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: String(port),
      BECK_METRICS_PORT: String(await freePort()),
      BECK_DATA_DIR: join(folder, 'data'),
    },
    stdio: 'ignore',
    // npm hands no signal on to what it runs under a shell.
    detached: true,
  })
  const ended = once(beck, 'exit')
  try {
    for (;;) {
      assert.equal(beck.exitCode, null, 'Beck ended by itself')
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
      if (answer?.ok) return performance.now() - began
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  } finally {
    if (beck.pid) process.kill(-beck.pid, 'SIGTERM')
    await ended
  }
}
