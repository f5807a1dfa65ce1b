/** Reading environment variables: each by its name, all that is wrong told at once, and no secret in what is told. */
import { isIP } from 'node:net'
import { invalid } from '../core/errors.ts'

export type Environment = Readonly<Record<string, string | undefined>>

type Show = (text: string) => string

const plain: Show = (text) => `"${text.slice(0, 100)}"`
/** For what holds passwords, keys or tokens, be it in a URL's path. */
export const hidden: Show = (text) => `a text of ${text.length} characters that is not shown`

/** @param expected - What the variable should be, as a message says it. */
export type Read = <Value, Fallback>(
  name: string,
  fallback: Fallback,
  parse: (text: string) => Value | null | undefined,
  expected: string,
  show?: Show,
) => Value | Fallback

export interface Variables {
  readonly read: Read
  /** Something is wrong that no single variable shows. */
  report(problem: string): void
  /** Variables that begin with BECK_ and that nobody read. */
  unknown(): string[]
  /** @throws {Refusal} `invalid`, reason `invalid_settings`, listing all that is wrong. */
  refuseIfAny(): void
}

/** @param elsewhere - Names that are read by somebody else. */
export function openVariables(env: Environment, elsewhere: readonly string[] = []): Variables {
  const problems: string[] = []
  const known = new Set(elsewhere)
  return {
    read(name, fallback, parse, expected, show = plain) {
      known.add(name)
      const text = env[name]?.trim() ?? ''
      if (text === '') return fallback
      const value = parse(text)
      if (value !== null && value !== undefined) return value
      problems.push(`${name} is ${show(text)}, expected ${expected}`)
      return fallback
    },
    report: (problem) => problems.push(problem),
    unknown: () =>
      Object.keys(env).filter(
        (name) => /^BECK_(?!TEST_|CRASH_AT$)/.test(name) && env[name] !== '' && !known.has(name),
      ),
    refuseIfAny() {
      if (problems.length === 0) return
      throw invalid(
        'invalid_settings',
        `settings that cannot be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
      )
    },
  }
}

export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number | null => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? value : null
  }

export const oneOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word | undefined =>
    words.find((word) => word === text)

export const urlOf =
  (protocols: readonly string[]) =>
  (text: string): string | null =>
    protocols.includes(URL.parse(text)?.protocol ?? '') ? text : null

/** For what throws at a text that it cannot read. */
export const orNull =
  <Value>(parse: (text: string) => Value) =>
  (text: string): Value | null => {
    try {
      return parse(text)
    } catch {
      return null
    }
  }

export const addressOf = (text: string): string | null => (isIP(text) > 0 ? text : null)

export function yesOrNo(text: string): boolean | null {
  return /^(1|true|yes)$/i.test(text) ? true : /^(0|false|no)$/i.test(text) ? false : null
}
