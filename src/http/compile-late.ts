/**
 * What checks requests and writes answers is compiled from the schemas of a route when the route is first asked. For all
 * routes it would take a third of what an API does before it listens, with the reading of the compilers; for one some
 * milliseconds of its first request.
 */
import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'
import { onFirstUse } from '../core/on-first-use.ts'

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>
type Compilers = Required<NonNullable<SchemaController['compilersFactory']>>
/** What Ajv makes of a schema. */
type Validate = ((value: unknown) => boolean) & { readonly errors?: readonly Error[] | null }
type ValidatorFactory = (schemas: unknown, options: unknown) => (part: unknown) => Validate

const require = createRequire(import.meta.url)
const readValidators = onFirstUse((): ValidatorFactory => require('@fastify/ajv-compiler')())
const readSerializers = onFirstUse((): Compilers['buildSerializer'] =>
  require('@fastify/fast-json-stringify-compiler')(),
)

const buildValidator: ValidatorFactory = (schemas, options) => {
  const compile = onFirstUse(() => readValidators()(schemas, options))
  return (part) => {
    const validator = onFirstUse(() => compile()(part))
    const validate: Validate & { errors?: readonly Error[] | null } = (value) => {
      const compiled = validator()
      const isValid = compiled(value)
      validate.errors = compiled.errors ?? null
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

/** Reads the compilers themselves, which takes longer than to compile a route. */
export function readCompilers(): void {
  readValidators()
  readSerializers()
}

export const COMPILED_LATE: Compilers = {
  // Fastify's type asks for all that Ajv's functions are; it calls them, and reads their errors.
  buildValidator: buildValidator as unknown as Compilers['buildValidator'],
  buildSerializer,
}
