/** The programs that tests kill, built to start as quickly as they can. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

/**
 * The programs that are killed, each in one file whose code is compiled once: processes start often here, and reading hundreds of
 * modules took a start three times as long.
 */
const PROGRAMS = {
  server: 'test/pay-until-killed.ts',
  approving: 'test/approve-until-killed.ts',
  signer: 'src/signer/main.ts',
} as const
/** Pieces of the platform's own; they are found from where the files lie. */
const NATIVE = ['@node-rs/argon2', 'pg-native']

/** Files beside a module are found from where its source lies. */
const whereItLies: Plugin = {
  name: 'where-it-lies',
  setup: (built) =>
    built.onLoad({ filter: /\/(src|test)\/.*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(
        'import.meta.url',
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: 'ts',
    })),
}

/** @returns The folder they are in. */
export async function buildPrograms(): Promise<string> {
  await mkdir('node_modules/.cache', { recursive: true })
  const folder = await mkdtemp('node_modules/.cache/beck-kills-')
  await build({
    entryPoints: PROGRAMS,
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: NATIVE,
    plugins: [whereItLies],
    // Packages of the older kind ask for Node's own by `require`.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  })
  return folder
}

export interface KillableProcess {
  readonly child: ChildProcess
  /** Resolves with the signal or the code it ended with. */
  readonly died: Promise<string>
  isAlive(): boolean
  output(): string
  end(): Promise<void>
}

/** Starts one of them, to be killed at a step unless that is empty. */
export function startProgram(
  programs: string,
  program: keyof typeof PROGRAMS,
  args: readonly string[],
  step: string,
  env: NodeJS.ProcessEnv,
): KillableProcess {
  const child = spawn(process.execPath, [join(programs, `${program}.mjs`), ...args], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: programs,
      ...env,
      ...(step === '' ? {} : { BECK_CRASH_AT: step }),
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(program === 'signer' ? [] : (['ipc'] as const))],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-8_192)
    })
  const isAlive = () => child.exitCode === null && child.signalCode === null
  const died = once(child, 'exit').then(([code, signal]) => String(signal ?? code))
  return {
    child,
    died,
    isAlive,
    output: () => output,
    async end() {
      child.kill('SIGKILL')
      await died
    },
  }
}
