/**
 * Every division of `bigint` goes through `src/core/money.ts`, so that it names its rounding: `/` drops the remainder, and who
 * loses it is not to be seen. The type checker tells which divisions these are.
 */
import assert from 'node:assert/strict'
import { relative } from 'node:path'
import test from 'node:test'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import { isBinaryExpression } from 'typescript/unstable/ast/is'
import { API, type Checker, TypeFlags } from 'typescript/unstable/sync'

/** Of each file that divides all the same, why there is no rounding to name. */
const EXACT: Readonly<Record<string, string>> = {
  'src/core/money.ts': 'the named roundings themselves',
  'src/core/ratio.ts': 'by a common divisor: nothing is left',
  'src/wallets/public-children.ts': 'a step of Euclid in a field: no amount',
}

const DIVIDES: ReadonlySet<SyntaxKind> = new Set([SyntaxKind.SlashToken, SyntaxKind.SlashEqualsToken])
const ROOT = new URL('..', import.meta.url).pathname

test('no bigint is divided without a name for its rounding', () => {
  const api = new API({ cwd: ROOT })
  try {
    const [project] = api.updateSnapshot({ openProjects: ['tsconfig.json'] }).getProjects()
    assert.ok(project)
    const { program, checker } = project
    const dividing = program.getSourceFileNames().flatMap((name) => {
      const path = relative(ROOT, name)
      if (!/^(src|cli|sdk)\//.test(path) || path.endsWith('.test.ts')) return []
      const file = program.getSourceFile(name)
      return file && dividesBigint(file, checker) ? [path] : []
    })
    assert.deepEqual(dividing.sort(), Object.keys(EXACT).sort())
  } finally {
    api.close()
  }
})

function dividesBigint(file: SourceFile, checker: Checker): boolean {
  const divisions: Node[] = []
  const visit = (node: Node): void => {
    if (isBinaryExpression(node) && DIVIDES.has(node.operatorToken.kind)) divisions.push(node)
    node.forEachChild(visit)
  }
  visit(file)
  return checker.getTypeAtLocation(divisions).some((type) => type && type.flags & TypeFlags.BigIntLike)
}
