/**
 * `npm run check:length`: what a reader has to hold in his head at once stays short. A function has at most 70 lines, or
 * up to 120 where its docstring says why ("In one piece: …"); a file is read in one sitting.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseSync } from '@swc/core'

const FUNCTION_LINES_MAX = 70
const REASONED_LINES_MAX = 120
const FILE_LINES_MAX = 350

/** How a docstring begins to say why its function is long. */
const REASON = 'In one piece: '

interface Span {
  readonly start: number
  readonly end: number
}

interface LongFunction {
  readonly name: string
  readonly line: number
  readonly lines: number
  readonly isReasoned: boolean
}

const isShort = (file: string): boolean => /\.test\.ts$|\/built\/|^sdk\/src\/types\.ts$/.test(file)

const files = execFileSync('git', ['ls-files', 'src', 'web', 'sdk', 'cli', 'bin', 'dev'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /\.(ts|mjs)$/.test(file) && !isShort(file))

const complaints: string[] = []
for (const file of files) {
  const source = readFileSync(file, 'utf8')
  const fileLines = source.split('\n').length - 1
  if (fileLines > FILE_LINES_MAX)
    complaints.push(`${file} has ${fileLines} lines, at most ${FILE_LINES_MAX} are read in one sitting`)
  for (const { name, line, lines, isReasoned } of functionsOf(source)) {
    const linesMax = isReasoned ? REASONED_LINES_MAX : FUNCTION_LINES_MAX
    if (lines > linesMax)
      complaints.push(`${file}:${line} ${name} has ${lines} lines, at most ${linesMax}: pull its nouns apart`)
  }
}
for (const complaint of complaints) process.stderr.write(`${complaint}\n`)
process.exitCode = complaints.length === 0 ? 0 : 1

/** Every function of a source, however it is written; those within others too. */
function functionsOf(source: string): LongFunction[] {
  // The parser counts bytes, on from where the last file ended: a first statement tells where that is.
  const bytes = Buffer.from(`;${source.replace(/^#!/, '//')}`)
  const module = parseSync(bytes.toString(), { syntax: 'typescript', target: 'es2024' })
  const base = module.body[0]?.span.start ?? 0
  const found: LongFunction[] = []
  const lineAt = (offset: number): number =>
    bytes
      .subarray(0, offset - base)
      .toString()
      .split('\n').length
  const visit = (node: unknown, name: string, declared: Span | null): void => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) {
      for (const child of node) visit(child, name, null)
      return
    }
    const { type, span, ...children } = node as { type?: string; span?: Span; [child: string]: unknown }
    const own = nameOf(children) ?? name
    if (span && type && /Function|^(Class|Private)Method$|^MethodProperty$|^Constructor$/.test(type)) {
      const from = lineAt((declared ?? span).start)
      const lines = lineAt(span.end) - from + 1
      const before = bytes.subarray(0, (declared ?? span).start - base).toString()
      const docstring = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:export )?(?:default )?$/.exec(before)?.[1]
      found.push({ name: own, line: from, lines, isReasoned: docstring?.includes(REASON) ?? false })
    }
    // What is declared as a constant has its docstring before the word.
    const passesOn =
      type === 'VariableDeclaration' || type === 'VariableDeclarator' || type === 'ExportDeclaration'
    for (const child of Object.values(children)) {
      if (Array.isArray(child) && child.length === 1 && passesOn)
        visit(child[0], own, declared ?? span ?? null)
      else visit(child, own, passesOn ? (declared ?? span ?? null) : null)
    }
  }
  visit(module.body.slice(1), '(module)', null)
  return found
}

function nameOf(node: { [child: string]: unknown }): string | undefined {
  for (const part of [node.identifier, node.key, node.id]) {
    const value = (part as { value?: unknown } | null | undefined)?.value
    if (typeof value === 'string') return value
  }
  return undefined
}
