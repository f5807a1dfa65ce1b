/**
 * What checks requests and writes answers is compiled from the schemas of a route when the route is first asked. For all
 * routes it would take a third of what an API does before it listens; for one some milliseconds of its first request.
 *
 * Two things that Fastify does with compilers of its own it does not do with these, and no route of Beck's needs them: a value is not
 * changed by its check (coercion, defaults), and a schema of headers is not brought to lower case.
 */
import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'
import { onFirstUse } from '../core/on-first-use.ts'

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>
type Compilers = Required<NonNullable<SchemaController['compilersFactory']>>
type Validate = ((value: unknown) => boolean) & { errors?: readonly object[] | null }
type ValidatorFactory = (schemas: unknown, options: unknown) => (part: unknown) => Validate

/** The compilers that Fastify brings, as if it had asked for them. */
const require = createRequire(createRequire(import.meta.url).resolve('fastify'))
const readValidators = onFirstUse((): ValidatorFactory => require('@fastify/ajv-compiler')())
const readSerializers = onFirstUse((): Compilers['buildSerializer'] =>
  require('@fastify/fast-json-stringify-compiler')(),
)

const buildValidator: ValidatorFactory = (schemas, options) => {
  const compile = onFirstUse(() => readValidators()(schemas, options))
  return (part) => {
    const compiled = onFirstUse(() => compile()(part))
    // What is wrong stands on the function itself until its next call, as with Ajv's.
    const validate: Validate = (value) => {
      const check = compiled()
      const isValid = check(value)
      validate.errors = check.errors ?? null
      return isValid
    }
    return validate
  }
}

const buildSerializer: Compilers['buildSerializer'] = (schemas, options) => {
  const compile = onFirstUse(() => readSerializers()(schemas, options))
  return (answer) => {
    const serialize = onFirstUse(() => compile()(answer))
    return (value) => serialize()(value)
  }
}

/**
 * Reads the compilers themselves, which takes ten times as long as to compile a route: before an API listens, for the first request
 * would wait for them.
 *
 * @throws when the installation lacks them.
 */
export function readCompilers(): void {
  readValidators()
  readSerializers()
}

export const COMPILED_LATE: Compilers = {
  // Fastify's type asks for all that Ajv's functions are; it calls them, and reads their errors.
  buildValidator: buildValidator as unknown as Compilers['buildValidator'],
  buildSerializer,
}
