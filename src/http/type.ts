/**
 * Schemas of requests and answers: JSON Schema as plain objects, with TypeBox's types (`Static<typeof schema>`). TypeBox itself is
 * for the compiler and the tests: to read its 370 modules, for objects like these, took a tenth of a start.
 */
import type { Type as TypeBox } from 'typebox'

type Options = Readonly<Record<string, unknown>>

/** TypeBox's own mark, so that its objects and these hold each other's fields. Not in the schema's JSON, and not copied with it. */
const OPTIONAL = '~optional'
const isOptional = (schema: object) => OPTIONAL in schema

const ofType = (type: string) => (options?: Options) => ({ type, ...options })

const builders = {
  Array: (items: object, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Integer: ofType('integer'),
  Literal: (value: unknown, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object: (properties: Readonly<Record<string, object>>, options?: Options) => {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name] ?? {}))
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
  },
  Optional: (schema: object) => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  String: ofType('string'),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
}

// TypeBox's types promise a mark of each schema's kind too, by which its own functions know it again; nothing here calls those.
export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>
