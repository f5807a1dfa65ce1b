/**
 * Compiles Solidity with the pinned npm compiler. Compiling takes seconds and its result never changes for the same
 * input, so results are kept beside the packages, named by the hash of compiler and input.
 *
 *   node test/solidity.ts     writes src/chains/ethereum/contracts/artifacts.json anew
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Artifact {
  readonly bytecode: `0x${string}`
  readonly runtimeBytecode: `0x${string}`
}

export type Artifacts = Readonly<Record<string, Artifact>>

const require = createRequire(import.meta.url)
const COMPILER_VERSION: string = require('solc/package.json').version
/** No metadata hash: the bytecode depends on the source and the compiler alone. An old EVM runs on every chain. */
const SETTINGS = {
  evmVersion: 'paris',
  optimizer: { enabled: true, runs: 10_000 },
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
}

const SHIPPED_CONTRACTS = new URL('../src/chains/ethereum/contracts/', import.meta.url)
const COMPILED = fileURLToPath(new URL('../node_modules/.cache/beck-solc', import.meta.url))
const SHIPPED_ARTIFACTS = new URL('artifacts.json', SHIPPED_CONTRACTS)

/** Every contract of the `.sol` files of a folder, by name. @throws when one does not compile without a warning. */
export async function compileFolder(folder: URL): Promise<Artifacts> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sol')).sort()
  const sources: Record<string, { content: string }> = {}
  for (const file of files) sources[file] = { content: await readFile(new URL(file, folder), 'utf8') }
  const input = JSON.stringify({ language: 'Solidity', sources, settings: SETTINGS })

  const cached = join(
    COMPILED,
    `${createHash('sha256').update(COMPILER_VERSION).update(input).digest('hex')}.json`,
  )
  const known = await readFile(cached, 'utf8').catch(() => null)
  if (known) return JSON.parse(known)

  const artifacts = compile(input)
  await mkdir(COMPILED, { recursive: true })
  const draft = `${cached}.${randomUUID()}`
  await writeFile(draft, JSON.stringify(artifacts))
  await rename(draft, cached)
  return artifacts
}

/** `selfdestruct` and `transfer` are deprecated, and still ways in which ether arrives. */
const DEPRECATIONS = ['5159', '9207']

interface CompilerOutput {
  errors?: { formattedMessage: string; errorCode: string }[]
  contracts: Record<
    string,
    Record<string, { evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }>
  >
}

function compile(input: string): Artifacts {
  const output: CompilerOutput = JSON.parse(require('solc').compile(input))
  const problems = (output.errors ?? []).filter((error) => !DEPRECATIONS.includes(error.errorCode))
  if (problems.length > 0) throw new Error(problems.map((error) => error.formattedMessage).join('\n'))
  return Object.fromEntries(
    Object.values(output.contracts).flatMap((contracts) =>
      Object.entries(contracts).map(([name, { evm }]): [string, Artifact] => [
        name,
        {
          bytecode: `0x${evm.bytecode.object}`,
          runtimeBytecode: `0x${evm.deployedBytecode.object}`,
        },
      ]),
    ),
  )
}

/** What `artifacts.json` holds when it is right. */
export async function shippedArtifacts(): Promise<{ compiler: string; contracts: Artifacts }> {
  return { compiler: `solc ${COMPILER_VERSION}`, contracts: await compileFolder(SHIPPED_CONTRACTS) }
}

if (import.meta.main) {
  await writeFile(SHIPPED_ARTIFACTS, `${JSON.stringify(await shippedArtifacts(), null, 2)}\n`)
}
