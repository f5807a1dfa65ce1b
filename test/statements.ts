/**
 * What the SQL in `src/` asks of which table, by program: every text that the declarations hold which a program reaches
 * from its own file. It reads the source, so that a statement no test runs counts too.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync } from '@swc/core'

type Node = { readonly type?: string; readonly [key: string]: unknown }
interface Import {
  readonly file: string
  /** `*` for everything. */
  readonly name: string
}
interface Declaration {
  readonly texts: string[]
  readonly names: Set<string>
  /** Loaded by `import()`. */
  readonly loads: Import[]
}
interface Module {
  readonly imports: Map<string, Import>
  readonly declarations: Map<string, Declaration>
}

/** What runs when a module is loaded. */
const ITSELF = '(itself)'
/** Where a value stands for a part of a text. */
const HOLE = '⟨⟩'
const modules = new Map<string, Module>()

function readModule(file: string): Module {
  const known = modules.get(file)
  if (known) return known
  const { body } = parseSync(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'esnext' })
  const module: Module = { imports: new Map(), declarations: new Map() }
  modules.set(file, module)
  for (const item of body as unknown as Node[]) readItem(file, module, item)
  return module
}

function readItem(file: string, module: Module, item: Node): void {
  const from = (item.source as Node | null | undefined)?.value as string | undefined
  if (from !== undefined) {
    readImport(file, module, item, from)
    return
  }
  const declared = (item.declaration as Node | undefined) ?? item
  if (/^Ts(Interface|TypeAlias)/.test(String(declared.type))) return
  if (declared.type === 'VariableDeclaration')
    for (const each of declared.declarations as Node[])
      for (const name of namesOf(each.id)) add(file, module, name, each.init)
  else if (declared.identifier) add(file, module, String((declared.identifier as Node).value), declared)
  else add(file, module, ITSELF, declared)
}

function readImport(file: string, module: Module, item: Node, from: string): void {
  if (!from.startsWith('.') || item.typeOnly === true) return
  const target = join(dirname(file), from)
  for (const each of (item.specifiers ?? []) as Node[]) {
    const local = String(((each.local ?? each.orig ?? each.exported) as Node).value)
    const name =
      each.type === 'ImportNamespaceSpecifier'
        ? '*'
        : String(((each.imported ?? each.local ?? each.orig) as Node).value)
    if (each.isTypeOnly !== true) module.imports.set(local, { file: target, name })
  }
}

function namesOf(pattern: unknown): string[] {
  const names: string[] = []
  walk(pattern, (node) => {
    if (node.type === 'Identifier') names.push(String(node.value))
  })
  return names
}

function add(file: string, module: Module, name: string, node: unknown): void {
  const declaration = module.declarations.get(name) ?? { texts: [], names: new Set(), loads: [] }
  module.declarations.set(name, declaration)
  walk(node, (each) => {
    if (each.type === 'Identifier') declaration.names.add(String(each.value))
    if (each.type === 'StringLiteral') declaration.texts.push(String(each.value))
    if (each.type === 'TemplateLiteral')
      declaration.texts.push((each.quasis as Node[]).map(({ cooked }) => cooked).join(HOLE))
    const callee = each.callee as Node | undefined
    const loaded = ((each.arguments as Node[] | undefined)?.[0]?.expression as Node | undefined)?.value
    if (callee?.type === 'Import' && typeof loaded === 'string' && loaded.startsWith('.'))
      declaration.loads.push({ file: join(dirname(file), loaded), name: '*' })
  })
}

/** Every node but types, and names that only say which property is meant. */
function walk(node: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(node)) for (const each of node) walk(each, visit)
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return
  const { type, ...rest } = node as Node
  if (type !== undefined) visit(node as Node)
  for (const [key, value] of Object.entries(rest)) {
    if (/^(typeAnnotation|typeParams|typeParameters|typeArguments|returnType|span)$/.test(key)) continue
    const isName = (value as Node | null)?.type === 'Identifier'
    if (isName && ((type === 'MemberExpression' && key === 'property') || key === 'key')) continue
    walk(value, visit)
  }
}

export interface Text {
  /** `src/users/users.sql.ts:addUser` */
  readonly of: string
  readonly text: string
}

/** Every text that programs reach which begin in these files. */
export function textsOf(roots: readonly string[]): Text[] {
  const seen = new Set<string>()
  const texts: Text[] = []
  const open: Import[] = roots.map((file) => ({ file, name: '*' }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { file, name } = next
    if (!file.endsWith('.ts') || !existsSync(file) || seen.has(`${file}:${name}`)) continue
    seen.add(`${file}:${name}`)
    const module = readModule(file)
    const imported = module.imports.get(name)
    if (imported) open.push(imported)
    if (name === '*') for (const each of module.declarations.keys()) open.push({ file, name: each })
    else open.push({ file, name: ITSELF })
    const declaration = module.declarations.get(name)
    if (!declaration) continue
    texts.push(...declaration.texts.map((text) => ({ of: `${file}:${name}`, text })))
    open.push(...declaration.loads)
    for (const used of declaration.names) {
      const origin = module.imports.get(used)
      if (origin) open.push(origin)
      else if (module.declarations.has(used)) open.push({ file, name: used })
    }
  }
  return texts
}

export interface Need {
  readonly table: string
  readonly right: 'select' | 'insert' | 'update' | 'delete'
  /** Of updates: null where rows are locked, `*` where the text does not say. */
  readonly column: string | null
  readonly of: string
}

/** What declarations need whose texts do not say it. */
export type Computed = ReadonlyMap<string, readonly Omit<Need, 'of'>[]>

/** What these texts need, of the tables that are there. @throws When one changes a table that it does not name. */
export function needsOf(texts: readonly Text[], tables: ReadonlySet<string>, computed: Computed): Need[] {
  const needs: Need[] = []
  for (const of of new Set(texts.map((each) => each.of)))
    needs.push(...(computed.get(of) ?? []).map((need) => ({ ...need, of })))
  for (const { of, text: raw } of texts) {
    const text = raw.replace(/--[^\n]*/g, '').replace(/\s+/g, ' ')
    const need = (table: string, right: Need['right'], column: string | null = null) => {
      if (!tables.has(table)) return
      needs.push({ table, right, column, of })
      // Rows are looked for before they are changed.
      if (right === 'update' || right === 'delete') needs.push({ table, right: 'select', column: null, of })
    }
    const hidden = /\b(insert into|update|delete from) ⟨⟩/.exec(text)
    if (hidden && !computed.has(of)) throw new Error(`${of}: "${hidden[0]}" does not name its table`)
    // A list's description, and a name that is put into a text.
    need(/^(\w+)( \w+)?$/.exec(text)?.[1] ?? '', 'select')
    for (const [, table = ''] of text.matchAll(/\b(?:from|join|using|table|only) \(?(\w+)/g))
      need(table, 'select')
    for (const [, table = ''] of text.matchAll(/\bfrom [^()]*?, (\w+) \w+/g)) need(table, 'select')
    for (const [, table = ''] of text.matchAll(/\bdelete from (\w+)/g)) need(table, 'delete')
    for (const match of text.matchAll(/\binsert into (\w+)/g)) {
      const [, table = ''] = match
      need(table, 'insert')
      const rest = text.slice(match.index + match[0].length)
      const conflict = /^.*?\bon conflict\b.*?\bdo update set /.exec(rest.split(/\binsert into \w/)[0] ?? '')
      for (const column of conflict ? columnsSet(rest.slice(conflict[0].length)) : [])
        need(table, 'update', column)
    }
    for (const match of text.matchAll(/\bmerge into (\w+)/g)) {
      const [, table = ''] = match
      const rest = text.slice(match.index + match[0].length)
      need(table, 'select')
      if (/\bwhen not matched then insert\b/.test(rest)) need(table, 'insert')
      const matched = /^.*?\bwhen matched then update set /.exec(rest)
      for (const column of matched ? columnsSet(rest.slice(matched[0].length)) : [])
        need(table, 'update', column)
    }
    for (const match of text.matchAll(/\bupdate (\w+)(?: (?:as )?(?!set\b)\w+)? set /g))
      for (const column of columnsSet(text.slice(match.index + match[0].length)))
        if (column !== '*' || !computed.has(of)) need(match[1] ?? '', 'update', column)
    for (const table of locked(text)) need(table, 'update')
    for (const [, table = ''] of text.matchAll(/\block table (\w+) in share row/g)) need(table, 'update', '*')
  }
  return needs
}

/** The columns of `a = 1, (b, c) = (…)`, up to what ends the list. */
function columnsSet(text: string): string[] {
  let depth = 0
  let item = ''
  const items: string[] = []
  for (const part of text.match(/⟨⟩|'[^']*'|\w+|[^\w\s']/g) ?? []) {
    if (depth === 0 && /^(from|where|returning|on)$/.test(part)) break
    if (part === ')' && depth === 0) break
    if (part === ',' && depth === 0) {
      items.push(item)
      item = ''
      continue
    }
    depth += Number(part === '(') - Number(part === ')')
    item += part
  }
  return [...items, item].flatMap((each) => {
    const [, many, one] = /^(?:\(([\w,]+)\)|(\w+))=/.exec(each) ?? []
    return many?.split(',') ?? [one ?? '*']
  })
}

/** Tables whose rows `for update` and the like lock: those that `of` names, or all that its own select reads. */
function locked(text: string): string[] {
  return [...text.matchAll(/\bfor (?:no key update|key share|update|share)\b(?: of (\w+))?/g)].flatMap(
    (match) => {
      const read = [
        ...ownSelect(text.slice(0, match.index)).matchAll(/\b(?:from|join) (\w+)(?: (?:as )?(\w+))?/g),
      ]
      const as = match[1]
      if (as === undefined) return read.map(([, table = '']) => table)
      return [read.find(([, table, alias]) => alias === as || table === as)?.[1] ?? as]
    },
  )
}

/** The end of a text, up to where its parenthesis begins, without what stands in parentheses itself. */
function ownSelect(before: string): string {
  let depth = 0
  let own = ''
  for (const letter of [...before].reverse()) {
    if (letter === ')') depth++
    else if (letter === '(' && depth-- === 0) break
    else if (depth === 0) own = letter + own
  }
  return own
}
