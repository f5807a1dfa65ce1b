/** Reading JSON of others, and JSON whose numbers keep the digits they were written with. */

declare global {
  interface JSON {
    /** ECMAScript 2026; not in TypeScript's library yet. */
    rawJSON(text: string): object
    isRawJSON(value: unknown): boolean
  }
}

/** Parses JSON so that `JSON.stringify` writes every number as it stood, `12345678901234567890` and `1.0` too. Numbers become raw JSON objects, not numbers. */
export const parseVerbatim = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? JSON.rawJSON(context.source) : value,
  )

/** What a text says; undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A member of what may be an object; undefined for everything else. */
export const member = (value: unknown, key: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined
