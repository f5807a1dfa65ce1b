/**
 * Schemas of requests and answers: JSON Schema as plain objects, with TypeBox's types (`Static<typeof schema>`). TypeBox itself is
 * for the compiler and the tests: a start that read its 370 modules, for objects like these, spent a fifth of its time on them.
 */
import type { Type as TypeBox } from 'typebox'

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Unknown'
  | 'Unsafe'
>
type Options = Readonly<Record<string, unknown>>

/** Beside a schema, not in it: what a field is to its object is no part of what it holds. */
const OPTIONAL = Symbol('optional')
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

// TypeBox's types promise marks by which its own functions know a schema again; nothing here calls those.
export const Type = builders as unknown as Builders
