/** What every answer says to a browser that should not have been there: run nothing, frame nothing, guess no types. */

export type AnswerHeaders = Readonly<Record<string, string>>

/** Two years, as browsers' preload lists ask for at least one. */
const HSTS = 'max-age=63072000'

/** @param publicUrl - Only one with https is ever to be asked for by https alone. */
export const answerHeaders = (publicUrl: string): AnswerHeaders => ({
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  ...(publicUrl.startsWith('https:') ? { 'Strict-Transport-Security': HSTS } : {}),
})
