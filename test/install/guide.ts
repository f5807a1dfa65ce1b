/** The commands of docs/single-machine.md and docs/upgrade.md, in the order in which their reader types them. */
import { readFile } from 'node:fs/promises'

export interface Step {
  /** Its heading, without the number. */
  readonly name: string
  readonly blocks: readonly string[]
}

/** The steps of the part "With systemd", each with its blocks of shell. */
export async function readGuide(): Promise<readonly Step[]> {
  const text = await readFile('docs/single-machine.md', 'utf8')
  const part = text.slice(text.indexOf('\n## With systemd'), text.indexOf('\n## With containers'))
  return part
    .split(/^### \d+\. /m)
    .slice(1)
    .map((section) => ({
      name: section.slice(0, section.indexOf('\n')),
      blocks: blocksOf(section),
    }))
}

/** Of the part "Upgrade", those of its steps with systemd. */
export async function readUpgrade(): Promise<readonly string[]> {
  const text = await readFile('docs/upgrade.md', 'utf8')
  return blocksOf(text.slice(text.indexOf('\n### With systemd'), text.indexOf('\n### With containers')))
}

/** What stands in a list is indented. */
export const blocksOf = (text: string): string[] =>
  [...text.matchAll(/^( *)```sh\n(.*?)^ *```/gms)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
