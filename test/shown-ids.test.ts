/**
 * Who reads a sentence, an alert or a line of the log finds the ids that the dashboard and the API know (`pay_…`), never those of
 * the database, and amounts in coins, never in atoms. The type checker tells which texts are ids of the database.
 */
import assert from 'node:assert/strict'
import { relative } from 'node:path'
import test from 'node:test'
import type { CallExpression, Node, TemplateExpression, TemplateSpan } from 'typescript/unstable/ast'
import {
  isBinaryExpression,
  isCallExpression,
  isPropertyAccessExpression,
  isStringLiteral,
  isTemplateExpression,
} from 'typescript/unstable/ast/is'
import { API, type Checker, type Type } from 'typescript/unstable/sync'

const ROOT = new URL('..', import.meta.url).pathname
/** `AccountId`, `Branded<"account">`. */
const ID_OF_DATABASE = /^(?:Branded<"\w+">|\w+Id)$/
/** A key such as `payment:${id}:settle` is none. */
const SENTENCE = /\w /
/** Behind a literal of SQL. */
const QUOTE = "'"
const LOGS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error'])
const ALERTS: ReadonlySet<string> = new Set(['raiseAlert', 'raiseAlertOnce', 'raiseUnsettled'])
/** An alert has a column for its account, and shows it as the API does. */
const COLUMN = 'accountId'
/** The fields of a line, and those of an object in one. */
const LEVELS = 2
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
    const idIn = finderOf(checker, nameOf)
    let toldCount = 0
    const found: string[] = []
    for (const name of program.getSourceFileNames()) {
      const path = relative(ROOT, name)
      const file = path.startsWith('src/') && !path.endsWith('.test.ts') && program.getSourceFile(name)
      if (!file) continue
      const { spans, pieces, told } = readFile(file)
      toldCount += told.length
      const typesOfSpans = checker.getTypeAtLocation(spans.map(({ expression }) => expression))
      for (const [at, span] of spans.entries()) {
        const type = typesOfSpans[at]
        if (idIn(type) || (type && nameOf(type) === 'bigint' && isOfAtoms(span) && !IN_ATOMS.test(path)))
          found.push(`${path}: ${'${'}${span.expression.getText()}}`)
      }
      const typesOfPieces = checker.getTypeAtLocation(pieces)
      for (const [at, piece] of pieces.entries())
        if (idIn(typesOfPieces[at])) found.push(`${path}: ${piece.getText()}`)
      for (const type of checker.getTypeAtLocation(told)) {
        const where = idIn(type, LEVELS)
        if (where) found.push(`${path}: ${where}`)
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

interface Told {
  readonly spans: TemplateSpan[]
  /** What else becomes a part of a text: by `+`, `join` and `String`. */
  readonly pieces: Node[]
  readonly told: Node[]
}

function readFile(file: Node): Told {
  const spans: TemplateSpan[] = []
  const pieces: Node[] = []
  const told: Node[] = []
  const visit = (node: Node, isText: boolean): void => {
    const here = isCallExpression(node) ? toldBy(node) : []
    told.push(...here)
    const isTextHere = isText || isSum(node)
    if (isTextHere) pieces.push(...piecesOf(node))
    const isShown = isTemplateExpression(node) && (isText || isSentence(node))
    const shown = isShown ? node.templateSpans.filter(({ literal }) => !literal.text.startsWith(QUOTE)) : []
    spans.push(...shown)
    node.forEachChild((child) =>
      visit(child, isTextHere || here.includes(child) || shown.some((span) => span === child)),
    )
  }
  visit(file, false)
  return { spans, pieces, told }
}

/** Of a text that is told: what it is made of, where that makes a mere string of it. */
function piecesOf(node: Node): readonly Node[] {
  if (isBinaryExpression(node) && node.operatorToken.getText() === '+') return [node.left, node.right]
  if (!isCallExpression(node)) return []
  const { expression: called, arguments: given } = node
  if (called.getText() === 'String') return given
  if (!isPropertyAccessExpression(called)) return []
  const isWriting =
    ['join', 'toString'].includes(called.name.text) ||
    (called.name.text === 'map' && given[0]?.getText() === 'String')
  return isWriting ? [called.expression] : []
}

/** `'a sentence ' + …`. */
const isSum = (node: Node): boolean =>
  isBinaryExpression(node) &&
  node.operatorToken.getText() === '+' &&
  [node.left, node.right].some((each) => (isStringLiteral(each) && SENTENCE.test(each.text)) || isSum(each))

const isSentence = ({ head, templateSpans }: TemplateExpression): boolean =>
  SENTENCE.test([head, ...templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join(''))

const isOfAtoms = ({ expression, literal }: TemplateSpan): boolean =>
  /atoms$/i.test(expression.getText()) || literal.text.startsWith(' atoms')

/** Where a type holds an id: in an array, in one of a union, and so many levels of properties below it. */
function finderOf(checker: Checker, nameOf: (type: Type) => string) {
  // A type that holds itself is looked at once.
  const known = new Map<string, string | null>()
  function idIn(type: Type | undefined, levels = 0): string | null {
    if (!type) return null
    const key = `${type.id} ${levels}`
    if (!known.has(key)) {
      known.set(key, null)
      known.set(key, look(type, levels))
    }
    return known.get(key) ?? null
  }
  function look(type: Type, levels: number): string | null {
    if (ID_OF_DATABASE.test(nameOf(type))) return nameOf(type)
    if (type.isUnionType()) return firstOf(type.getTypes(), (each) => idIn(each, levels))
    if (checker.isArrayLikeType(type))
      return type.isTypeReference()
        ? firstOf(checker.getTypeArguments(type), (each) => idIn(each, levels))
        : null
    if (levels === 0 || !type.isObjectType()) return null
    return firstOf(checker.getPropertiesOfType(type), (property) => {
      const isColumn = levels === LEVELS && property.name === COLUMN
      return !isColumn && idIn(checker.getTypeOfSymbol(property), levels - 1) ? property.name : null
    })
  }
  return idIn
}

function firstOf<Each>(all: readonly Each[], find: (each: Each) => string | null): string | null {
  for (const each of all) {
    const found = find(each)
    if (found !== null) return found
  }
  return null
}

function namesBy(checker: Checker): (type: Type) => string {
  const known = new Map<number, string>()
  return (type) => {
    const name = known.get(type.id) ?? checker.typeToString(type)
    known.set(type.id, name)
    return name
  }
}
