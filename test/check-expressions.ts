/**
 * `npm run check:expressions`: no regular expression takes more than its text's length of time. What asks Beck anything
 * chooses the text, and while an expression of the second or third degree looks at 16 kB, nobody else is answered.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseSync } from '@swc/core'
import { analyse } from 'scslre'

const files = execFileSync('git', ['ls-files', 'src', 'web', 'sdk', 'cli', 'bin'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(ts|mjs)$/.test(file) && !/\.test\.ts$|\/built\//.test(file))

const filesOf = new Map<string, Set<string>>()
for (const file of files)
  for (const expression of expressionsOf(readFileSync(file, 'utf8')))
    filesOf.set(expression, (filesOf.get(expression) ?? new Set()).add(file))

let hasSlow = false
for (const [expression, itsFiles] of filesOf) {
  const end = expression.lastIndexOf('/')
  const { reports } = analyse(new RegExp(expression.slice(1, end), expression.slice(end + 1)))
  for (const { character } of reports) {
    hasSlow = true
    process.stderr.write(
      `${[...itsFiles].join()}: ${expression} takes more than linear time on many of ${JSON.stringify(character.pick)}: let it begin at one place only, or say what may not stand before it, as in /(?<!0)0+$/\n`,
    )
  }
}
process.exitCode = hasSlow ? 1 : 0

/** As they are written: `/0+$/g`. */
function expressionsOf(source: string): string[] {
  const found: string[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, pattern, flags } = node as { type?: string; pattern?: string; flags?: string }
    if (type === 'RegExpLiteral') found.push(`/${pattern}/${flags}`)
    for (const child of Object.values(node)) visit(child)
  }
  visit(parseSync(source.replace(/^#!/, '//'), { syntax: 'typescript', target: 'esnext' }))
  return found
}
