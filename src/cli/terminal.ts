/** What a command says: lines for people, or with `--json` one object on standard output and nothing else. */
import { inspect } from 'node:util'
import { messageOf, OutsideFailure, Refusal } from '../core/errors.ts'
import { withoutSecrets } from '../core/without-secrets.ts'

export interface Terminal {
  readonly isJson: boolean
  /** The command's answer; called once. */
  answer(object: object, lines: readonly string[]): void
  /** One line of a command that goes on talking; with `--json` one object a line. */
  say(object: object, line: string): void
}

export const openTerminal = (isJson: boolean): Terminal => ({
  isJson,
  answer: (object, lines) =>
    void process.stdout.write(isJson ? `${JSON.stringify(object)}\n` : `${lines.join('\n')}\n`),
  say: (object, line) => void process.stdout.write(`${isJson ? JSON.stringify(object) : line}\n`),
})

/** Says why a command failed, and makes the process end with 1. */
export function tellFailure(terminal: Terminal, error: unknown): void {
  const reason = error instanceof Refusal ? error.reason : 'failed'
  const isExpected = error instanceof Refusal || error instanceof OutsideFailure || !(error instanceof Error)
  const message = withoutSecrets(isExpected ? messageOf(error) : inspect(error))
  process.stderr.write(`${message}\n`)
  if (terminal.isJson) terminal.answer({ error: { reason, message: withoutSecrets(messageOf(error)) } }, [])
  process.exitCode = 1
}

/** Columns of text, each as wide as its widest cell. @param none - Said where there is no row. */
export function table(rows: readonly (readonly string[])[], ...none: readonly string[]): readonly string[] {
  if (rows.length === 0) return none
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
