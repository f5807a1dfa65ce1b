/** What a client of the old document could trip over in the new one. */
import { withResources } from './openapi-resources.ts'

type Json = { readonly [name: string]: unknown }

const object = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/**
 * Compares two OpenAPI documents.
 *
 * @returns One line per breaking change: an operation, parameter, answer or field that is gone; something newly
 *   required of a request; a narrowed type, choice or bound of a request; a widened type or choice of an answer.
 */
export function breakingChanges(before: unknown, after: unknown): string[] {
  const found: string[] = []
  const newPaths = object(withResources(object(after)).paths)
  for (const [path, methods] of Object.entries(object(withResources(object(before)).paths))) {
    for (const [method, old] of Object.entries(object(methods))) {
      const name = `${method.toUpperCase()} ${path}`
      const now = object(newPaths[path])[method]
      if (now === undefined) found.push(`${name} is gone`)
      else found.push(...inOperation(name, object(old), object(now)))
    }
  }
  return found
}

function inOperation(name: string, old: Json, now: Json): string[] {
  const found: string[] = []
  if (old.operationId !== now.operationId) found.push(`${name} has another operationId`)
  if (old['x-scope'] !== now['x-scope']) found.push(`${name} needs another scope`)
  const named = (operation: Json) =>
    new Map(
      list(operation.parameters).map((given) => [`${object(given).in} ${object(given).name}`, object(given)]),
    )
  const [oldParameters, newParameters] = [named(old), named(now)]
  for (const [key, parameter] of oldParameters) {
    const next = newParameters.get(key)
    if (!next) found.push(`${name}: the parameter ${key} is gone`)
    else found.push(...inRequest(`${name}: ${key}`, object(parameter.schema), object(next.schema)))
  }
  for (const [key, parameter] of newParameters) {
    if (parameter.required === true && oldParameters.get(key)?.required !== true) {
      found.push(`${name}: the parameter ${key} became required`)
    }
  }
  found.push(...inRequest(`${name}: body`, bodyOf(old.requestBody), bodyOf(now.requestBody)))
  for (const [status, answer] of Object.entries(object(old.responses))) {
    if (!status.startsWith('2')) continue
    const next = object(now.responses)[status]
    if (next === undefined) found.push(`${name}: the answer ${status} is gone`)
    else found.push(...inAnswer(`${name}: ${status}`, bodyOf(answer), bodyOf(next)))
  }
  return found
}

const bodyOf = (holder: unknown): Json =>
  object(object(object(object(holder).content)['application/json']).schema)

const types = (schema: Json): readonly unknown[] =>
  schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type]

/** What clients send: nothing that was accepted may be refused now. */
function inRequest(where: string, old: Json, now: Json): string[] {
  const found: string[] = []
  const refused = types(old).filter((type) => types(now).length > 0 && !types(now).includes(type))
  if (refused.length > 0) found.push(`${where} may no longer be ${refused.join(', ')}`)
  for (const choice of list(old.enum)) {
    if (now.enum !== undefined && !list(now.enum).includes(choice))
      found.push(`${where} may no longer be ${choice}`)
  }
  for (const bound of ['maxLength', 'maximum', 'maxItems']) {
    if (Number(now[bound] ?? Infinity) < Number(old[bound] ?? Infinity))
      found.push(`${where} has a lower ${bound}`)
  }
  for (const bound of ['minLength', 'minimum', 'minItems']) {
    if (Number(now[bound] ?? -Infinity) > Number(old[bound] ?? -Infinity))
      found.push(`${where} has a higher ${bound}`)
  }
  for (const field of list(now.required)) {
    if (!list(old.required).includes(field)) found.push(`${where}.${field} became required`)
  }
  const fields = object(now.properties)
  for (const [field, schema] of Object.entries(object(old.properties))) {
    if (!Object.hasOwn(fields, field)) found.push(`${where}.${field} is gone`)
    else found.push(...inRequest(`${where}.${field}`, object(schema), object(fields[field])))
  }
  if (old.items !== undefined) found.push(...inRequest(`${where}[]`, object(old.items), object(now.items)))
  return found
}

/** What clients read: everything that was there must be, and nothing of a kind they never saw. */
function inAnswer(where: string, old: Json, now: Json): string[] {
  const found: string[] = []
  const unseen = types(now).filter((type) => types(old).length > 0 && !types(old).includes(type))
  if (unseen.length > 0) found.push(`${where} may now be ${unseen.join(', ')}`)
  for (const choice of list(now.enum)) {
    if (old.enum !== undefined && !list(old.enum).includes(choice))
      found.push(`${where} may now be ${choice}`)
  }
  const fields = object(now.properties)
  for (const [field, schema] of Object.entries(object(old.properties))) {
    if (!Object.hasOwn(fields, field)) found.push(`${where}.${field} is gone`)
    else if (list(old.required).includes(field) && !list(now.required).includes(field)) {
      found.push(`${where}.${field} may now be missing`)
    } else found.push(...inAnswer(`${where}.${field}`, object(schema), object(fields[field])))
  }
  if (old.items !== undefined) found.push(...inAnswer(`${where}[]`, object(old.items), object(now.items)))
  return found
}
