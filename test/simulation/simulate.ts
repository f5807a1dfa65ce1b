/**
 * The simulation: stories of payments, withdrawals, reorganisations, crashes, lost answers, midnights and databases that are
 * set back to a copy, each chosen by a seed, all invariants checked after every step.
 *
 *   npm run simulate                              a million steps on all cores
 *   npm run simulate -- --steps=50000 --seed=7    fewer, from another seed on
 *   npm run simulate -- --seed=7 --tell           one story, step by step: how a finding is looked at
 *   npm run simulate -- --seed=7 --only=3,19 --tell   of it these steps alone: the fewest that a finding was seen to need
 *   npm run simulate -- --mutation=hold-forgotten a rule broken on purpose, which has to be noticed
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import type { Report } from './run-stories.ts'

export interface SimulateOptions {
  readonly seed: number
  readonly steps: number
  readonly workers: number
  readonly mutation?: string | undefined
  /** Of a finding's story these steps alone. */
  readonly only?: readonly number[]
  /** Whether a finding is told again with fewer steps, until none can be left out. */
  readonly shrink?: boolean
}

/** Divides the seeds among processes. @returns What they saw together; the first finding if there is one. */
export async function simulate({
  seed,
  steps,
  workers,
  mutation,
  only,
  shrink = false,
}: SimulateOptions): Promise<Report> {
  const reports = await Promise.all(
    Array.from({ length: workers }, (_, worker) =>
      runStories([
        `--seed=${seed + worker}`,
        `--stride=${workers}`,
        `--steps=${Math.ceil(steps / workers)}`,
        ...(mutation ? [`--mutation=${mutation}`] : []),
        ...(only ? [`--only=${only.join()}`] : []),
        ...(shrink ? ['--shrink'] : []),
      ]),
    ),
  )
  const seen: Record<string, number> = {}
  for (const report of reports)
    for (const [what, count] of Object.entries(report.seen)) seen[what] = (seen[what] ?? 0) + count
  return {
    steps: reports.reduce((sum, report) => sum + report.steps, 0),
    stories: reports.reduce((sum, report) => sum + report.stories, 0),
    finding: reports.find((report) => report.finding)?.finding ?? null,
    seen,
  }
}

const running = new Set<ChildProcess>()

function runStories(options: readonly string[]): Promise<Report> {
  const here = (file: string) => new URL(file, import.meta.url).pathname
  const child = spawn(
    process.execPath,
    ['--import', here('./hooks.ts'), here('./run-stories.ts'), ...options],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  running.add(child)
  const output: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => {
      running.delete(child)
      const lines = Buffer.concat(output).toString().trim().split('\n')
      if (options.includes('--tell')) process.stdout.write(`${lines.slice(0, -1).join('\n')}\n`)
      if (code === 0) resolve(JSON.parse(lines.at(-1) ?? ''))
      else reject(new Error(`the stories ended with ${code}`))
    })
  })
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      steps: { type: 'string', default: '1000000' },
      workers: { type: 'string', default: String(availableParallelism()) },
      mutation: { type: 'string' },
      only: { type: 'string' },
      tell: { type: 'boolean', default: false },
    },
  })
  // Whoever ends the simulation ends its stories.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => {
      for (const child of running) child.kill(signal)
    })
  const began = performance.now()
  const report = values.tell
    ? await runStories([
        `--seed=${values.seed}`,
        '--steps=1',
        '--tell',
        ...(values.only ? [`--only=${values.only}`] : []),
        ...(values.mutation ? [`--mutation=${values.mutation}`] : []),
      ])
    : await simulate({
        seed: Number(values.seed),
        steps: Number(values.steps),
        workers: Number(values.workers),
        mutation: values.mutation,
        shrink: !values.mutation,
      })
  const seconds = (performance.now() - began) / 1_000
  const say = (line: string) => process.stdout.write(`${line}\n`)
  for (const [what, count] of Object.entries(report.seen).sort()) say(`${String(count).padStart(8)}  ${what}`)
  say(`${report.steps} steps in ${report.stories} stories, ${seconds.toFixed(0)} s`)
  if (!report.finding) return
  const { seed, step, what, taken } = report.finding
  say(`FOUND after step ${step} of seed ${seed}:\n  ${what.join('\n  ')}`)
  say(
    `again: npm run simulate -- --seed=${seed}${taken.length > 0 ? ` --only=${taken.join()}` : ''} --tell${values.mutation ? ` --mutation=${values.mutation}` : ''}`,
  )
  process.exitCode = 1
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main()
