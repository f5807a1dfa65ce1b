/** JSON whose numbers keep the digits they were written with: `12345678901234567890` and `1.0` come back as given. */

declare global {
  interface JSON {
    /** ECMAScript 2026; not in TypeScript's library yet. */
    rawJSON(text: string): object
    isRawJSON(value: unknown): boolean
  }
}

/** Parses JSON so that `JSON.stringify` writes every number as it stood. Numbers become raw JSON objects, not numbers. */
export const parseVerbatim = (text: string): unknown =>
  JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && context?.source !== undefined ? JSON.rawJSON(context.source) : value,
  )
