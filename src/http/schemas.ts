/** Pieces that the schemas of the resources are made of. */
import type { Static, TProperties, TSchema } from 'typebox'
import { ASSETS, FIAT_CURRENCIES, NETWORKS } from '../core/assets.ts'
import type { IdPrefix } from '../core/ids.ts'
import { Type } from './type.ts'

/**
 * An object that holds these fields and no others.
 *
 * @param options.title - What the OpenAPI document and the clients call a resource that several answers show.
 */
export const Fields = <P extends TProperties>(
  properties: P,
  options: { title?: string; description?: string } = {},
) => Type.Object(properties, { additionalProperties: false, ...options })

/** Null, or what the schema says. One `type` list instead of `anyOf`, which the serialiser takes faster. */
export const Nullable = <S extends TSchema & { type: string }>(schema: S) =>
  Type.Unsafe<Static<S> | null>({
    ...schema,
    type: [schema.type, 'null'],
    ...('enum' in schema && Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}),
  })

export const OneOf = <const V extends readonly string[]>(
  values: V,
  options: { description?: string; default?: V[number] } = {},
) =>
  Type.Unsafe<V[number]>({ type: 'string', enum: [...values], ...options }) as ReturnType<
    typeof Type.Unsafe<V[number]>
  > & { type: string }

export const AssetName = OneOf(ASSETS)
export const NetworkName = OneOf(NETWORKS)
export const FiatName = OneOf(FIAT_CURRENCIES)

export const Id = (prefix: IdPrefix) =>
  Type.String({
    description: `\`${prefix}_\` and 26 characters`,
    pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`,
  })

/** The path of one resource. No pattern: an id that cannot exist is simply not found. */
export const PathId = (prefix: IdPrefix) =>
  Fields({ id: Type.String({ description: `prefix \`${prefix}_\`` }) })

export const Timestamp = (description?: string) =>
  Type.String({ format: 'date-time', ...(description ? { description } : {}) })

/** Fiat as the contract shows it: a number with at most two decimals. */
export const FiatAmount = (description: string) => Type.Number({ description })

export const Email = Type.String({
  description: 'an email address',
  maxLength: 254,
  pattern: '^[^\\s@]+@[^\\s@]+$',
})

export const Reference = Type.String({ description: 'your own reference, echoed back', maxLength: 255 })

/** Longer ones find nothing, unless told otherwise: no id and no list of statuses has so many characters. */
const FILTER_LENGTH_MAX = 255
/** Every text of a query has a length: a pattern costs the database by its characters, for every row. */
const Filter = (description: string, maxLength = FILTER_LENGTH_MAX) =>
  Type.Optional(Type.String({ description, maxLength }))

export const FilterId = Filter('exact id')
export const FilterText = Filter
export const FilterList = (values: string) => Filter(`comma-separated ${values}`)

const DATE = 'a date (`YYYY-MM-DD`, midnight UTC) or a full ISO timestamp'

/** Paging and order, which every paged list has; its own filters stand beside these. */
export const paging = <const S extends readonly string[]>(sorts: S) => ({
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1, description: '1-based' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 25 })),
  sort: Type.Optional(Type.Unsafe<S[number]>({ type: 'string', enum: [...sorts], default: 'created_at' })),
  order: Type.Optional(
    Type.Unsafe<'asc' | 'desc'>({ type: 'string', enum: ['asc', 'desc'], default: 'desc' }),
  ),
  start_date: Filter(`created on or after: ${DATE}`),
  end_date: Filter(`created before: ${DATE}`),
})

/** A page of a list, as the contract has it. */
export const PageOf = <S extends TSchema>(item: S) =>
  Fields({
    items: Type.Array(item),
    total: Type.Integer({ description: 'count of all matches, exact' }),
    page: Type.Integer(),
    limit: Type.Integer(),
    total_pages: Type.Integer(),
  })

/** The envelope of a success around a resource's schema. */
export const Envelope = <D extends TSchema>(data: D) => Fields({ data, error: Type.Null() })
