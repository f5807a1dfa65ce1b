/** Forms that work without a script: what was typed, and whether it was typed on our page. */
import type { FastifyRequest } from 'fastify'
import { forbidden } from '../../core/errors.ts'
import { readUrlEncoded } from '../form-fields.ts'

export type Form = ReadonlyMap<string, string>

export const EMPTY_FORM: Form = new Map()

/** Far above what any field of ours takes. */
const FIELDS_MAX = 20

/** Reads `application/x-www-form-urlencoded`. Control characters would not be kept by the database. */
export const readForm = (bytes: Buffer): Form =>
  new Map(readUrlEncoded(bytes, FIELDS_MAX).map(([name, value]) => [name, clean(value)]))

/** A value on one line, without what PostgreSQL refuses in a text. */
export const clean = (text: string): string =>
  text
    .replace(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .trim()

/** One value of the query; what is given twice or is missing is empty. */
export function queryValue(request: FastifyRequest, name: string): string {
  const { query } = request
  const value =
    typeof query === 'object' && query !== null && Object.hasOwn(query, name) ? Reflect.get(query, name) : ''
  return typeof value === 'string' ? clean(value) : ''
}

/**
 * A form must come from a page of ours. Nothing but the session's id lets a buyer in, so this guards against little;
 * but no other page shall start payments with its visitors' hands.
 *
 * @throws {Refusal} `forbidden`.
 */
export function requireOwnPage(request: FastifyRequest, publicUrl: string): void {
  const { origin, host, 'sec-fetch-site': site } = request.headers
  const isOwn = site
    ? site === 'same-origin' || site === 'none'
    : origin === undefined || origin === new URL(publicUrl).origin || URL.parse(origin)?.host === host
  if (!isOwn)
    throw forbidden('foreign_form', 'this form was sent from another site; open the checkout itself')
}
