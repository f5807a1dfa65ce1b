/**
 * The resources of the OpenAPI document. In the rows of the API a schema is an object; in the document one that has a title
 * stands once, among the components, and the answers refer to it: so do the types that clients make of it.
 */
import { deepStrictEqual } from 'node:assert'

type Json = { readonly [name: string]: unknown }

const PREFIX = '#/components/schemas/'

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const mapObject = (value: Json, map: (member: unknown) => unknown): Json =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, map(member)]))

/**
 * @param resources - Where the schemas with a title go, by title.
 * @returns The value with a reference in place of each.
 * @throws {AssertionError} when two different schemas have one title.
 */
export function referTo(resources: Record<string, Json>, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((member) => referTo(resources, member))
  if (!isObject(value)) return value
  const members = mapObject(value, (member) => referTo(resources, member))
  const { title, description, type, ...shape } = members
  if (typeof title !== 'string' || !shape.properties) return members
  const resource = { type: 'object', ...shape }
  resources[title] ??= resource
  deepStrictEqual(resource, resources[title], `two schemas are called ${title}`)
  const reference = { $ref: PREFIX + title, ...(description === undefined ? {} : { description }) }
  return Array.isArray(type) && type.includes('null') ? { anyOf: [reference, { type: 'null' }] } : reference
}

/** The document with each resource where it is referred to: what {@link referTo} took apart, together again. */
export function withResources<Document extends { readonly components?: { readonly schemas?: unknown } }>(
  document: Document,
): Document {
  const schemas = document.components?.schemas ?? {}
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (!isObject(value)) return value
    const { $ref, anyOf, ...beside } = value
    if (typeof $ref === 'string' && $ref.startsWith(PREFIX))
      return { ...(resolve((schemas as Json)[$ref.slice(PREFIX.length)]) as Json), ...beside }
    if (Array.isArray(anyOf) && anyOf.length === 2 && isObject(anyOf[0]) && anyOf[0].$ref)
      return { ...(resolve(anyOf[0]) as Json), type: ['object', 'null'] }
    return mapObject(value, resolve)
  }
  return resolve(document) as Document
}
