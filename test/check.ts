/**
 * `npm run check`: every check that needs no test, as many at a time as there are processors. What a check says is shown only when it fails, and all
 * of them run, so that one look tells everything.
 */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The longest first, so that none is left running alone. */
const CHECKS = [
  'check:openapi',
  'check:imports',
  'check:unused',
  'check:schema',
  'check:web',
  'check:types',
  'check:lint',
  'check:length',
  'check:expressions',
]

interface Outcome {
  readonly name: string
  readonly passed: boolean
  readonly seconds: string
}

const waiting = [...CHECKS]
const outcomes = (
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, runWhileAny))
).flat()
for (const { name, passed, seconds } of outcomes)
  process.stdout.write(`${passed ? 'ok    ' : 'FAILED'}  ${name}  ${seconds} s\n`)
process.exitCode = outcomes.every(({ passed }) => passed) ? 0 : 1

async function runWhileAny(): Promise<Outcome[]> {
  const done: Outcome[] = []
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) done.push(await run(name))
  return done
}

async function run(name: string): Promise<Outcome> {
  const startedMs = performance.now()
  const check = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [check.stdout, check.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const passed = await new Promise<boolean>((resolve, reject) => {
    check.on('error', reject).on('close', (code) => resolve(code === 0))
  })
  if (!passed) process.stderr.write(`${said.trimEnd()}\n\n`)
  return { name, passed, seconds: ((performance.now() - startedMs) / 1_000).toFixed(1) }
}
