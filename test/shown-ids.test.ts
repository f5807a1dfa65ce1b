/**
 * Who reads a sentence, an alert or a line of the log finds the ids that the dashboard and the API know (`pay_…`), never those of
 * the database, and amounts in coins, never in atoms. The type checker tells which texts are ids of the database.
 */
import assert from 'node:assert/strict'
import { relative } from 'node:path'
import test from 'node:test'
import type { CallExpression, Node, TemplateExpression, TemplateSpan } from 'typescript/unstable/ast'
import {
  isCallExpression,
  isPropertyAccessExpression,
  isTemplateExpression,
} from 'typescript/unstable/ast/is'
import { API, type Checker, type Type } from 'typescript/unstable/sync'

const ROOT = new URL('..', import.meta.url).pathname
/** `AccountId`, `Branded<"account">`, `PaymentId | null`. */
const ID_OF_DATABASE = /^(?:null \| )?(?:Branded<"\w+">|\w+Id)(?: \| (?:null|undefined))*$/
/** A key such as `payment:${id}:settle` is none. */
const SENTENCE = /\w /
/** Behind a literal of SQL. */
const QUOTE = "'"
const LOGS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error'])
const ALERTS: ReadonlySet<string> = new Set(['raiseAlert', 'raiseAlertOnce', 'raiseUnsettled'])
/** An alert has a column for its account, and shows it as the API does. */
const COLUMN = 'accountId'
/** What chains say of their own coins; and what passkeys sign, which names whole numbers alone. */
const IN_ATOMS = /^src\/(chains\/|approvals\/statement\.ts$)/
/** There are more: the way that they are found still finds them. */
const TOLD_MIN = 100

test('no sentence, no alert and no line of the log holds an id of the database, or atoms', () => {
  const api = new API({ cwd: ROOT })
  try {
    const [project] = api.updateSnapshot({ openProjects: ['tsconfig.json'] }).getProjects()
    assert.ok(project)
    const { program, checker } = project
    const nameOf = namesBy(checker)
    let toldCount = 0
    const found: string[] = []
    for (const name of program.getSourceFileNames()) {
      const path = relative(ROOT, name)
      const file = path.startsWith('src/') && !path.endsWith('.test.ts') && program.getSourceFile(name)
      if (!file) continue
      const { spans, told } = readFile(file)
      toldCount += told.length
      const typesOfSpans = checker.getTypeAtLocation(spans.map(({ expression }) => expression))
      for (const [at, span] of spans.entries()) {
        const type = nameOf(typesOfSpans[at])
        if (ID_OF_DATABASE.test(type) || (type === 'bigint' && isOfAtoms(span) && !IN_ATOMS.test(path)))
          found.push(`${path}: ${'${'}${span.expression.getText()}}`)
      }
      for (const type of checker.getTypeAtLocation(told)) {
        if (!type) continue
        if (ID_OF_DATABASE.test(nameOf(type))) found.push(`${path}: ${nameOf(type)}`)
        else
          for (const property of checker.getPropertiesOfType(type))
            if (property.name !== COLUMN && ID_OF_DATABASE.test(nameOf(checker.getTypeOfSymbol(property))))
              found.push(`${path}: ${property.name}`)
      }
    }
    assert.ok(toldCount >= TOLD_MIN, `${toldCount} alerts and lines are found`)
    assert.deepEqual(found, [], 'show ids by showId, and amounts by formatCoins')
  } finally {
    api.close()
  }
})

/** What a call puts into the log, or into an alert. */
function toldBy({ expression: called, arguments: given }: CallExpression): readonly Node[] {
  if (ALERTS.has(called.getText())) return given.slice(1)
  const isLog = isPropertyAccessExpression(called) && LOGS.has(called.name.text)
  return isLog && /\blog$/i.test(called.expression.getText()) ? given.slice(0, 1) : []
}

function readFile(file: Node): { readonly spans: TemplateSpan[]; readonly told: Node[] } {
  const spans: TemplateSpan[] = []
  const told: Node[] = []
  const visit = (node: Node, isTold: boolean): void => {
    const here = isCallExpression(node) ? toldBy(node) : []
    told.push(...here)
    if (isTemplateExpression(node) && (isTold || isSentence(node)))
      spans.push(...node.templateSpans.filter(({ literal }) => !literal.text.startsWith(QUOTE)))
    node.forEachChild((child) => visit(child, isTold || here.includes(child)))
  }
  visit(file, false)
  return { spans, told }
}

const isSentence = ({ head, templateSpans }: TemplateExpression): boolean =>
  SENTENCE.test([head, ...templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join(''))

const isOfAtoms = ({ expression, literal }: TemplateSpan): boolean =>
  /atoms$/i.test(expression.getText()) || literal.text.startsWith(' atoms')

function namesBy(checker: Checker): (type: Type | undefined) => string {
  const known = new Map<number, string>()
  return (type) => {
    if (!type) return ''
    const name = known.get(type.id) ?? checker.typeToString(type)
    known.set(type.id, name)
    return name
  }
}
