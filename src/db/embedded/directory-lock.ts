/**
 * One owner per directory. SQLite's exclusive transaction takes a file lock of the operating system: two processes can
 * never both have it, and it ends with its process however that dies, so there is no stale lock to reason about. (Node
 * has no file lock of its own, and a file with a process id in it is a race and, in containers, often a lie.)
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Refusal } from '../../core/errors.ts'

/** A server stays; a tool (a CLI command that needs the database for a moment) is worth waiting for. */
export type HolderKind = 'server' | 'tool'

export interface Holder {
  readonly kind: HolderKind
  readonly pid: number
  readonly host: string
  readonly since: string
}

export interface DirectoryLock {
  release(): void
}

export class DirectoryInUse extends Refusal {
  readonly holder: Holder | null
  constructor(directory: string, holder: Holder | null) {
    const who = holder
      ? `process ${holder.pid} on ${holder.host}, since ${holder.since}`
      : 'a process that left no name'
    super(
      'conflict',
      'data_directory_in_use',
      `another Beck already runs on the data directory ${directory} (${who}); one directory never has two servers. ` +
        'Stop the other one, or give this one a directory of its own with BECK_DATA_DIR',
    )
    this.holder = holder
  }
}

/** @throws {DirectoryInUse} at once when another process has the directory. */
export function lockDirectory(directory: string, kind: HolderKind): DirectoryLock {
  const holderFile = join(directory, 'holder.json')
  const database = new DatabaseSync(join(directory, 'lock'))
  try {
    database.exec('pragma busy_timeout = 0; begin exclusive')
  } catch (error) {
    database.close()
    if (!(error instanceof Error && /locked|busy/.test(error.message))) throw error
    throw new DirectoryInUse(directory, readHolder(holderFile))
  }
  const holder: Holder = { kind, pid: process.pid, host: hostname(), since: new Date().toISOString() }
  try {
    writeFileSync(holderFile, JSON.stringify(holder))
  } catch (error) {
    database.close()
    throw error
  }
  return { release: () => database.close() }
}

/** Only for the message and to tell a server from a tool: the lock itself is what counts. */
function readHolder(file: string): Holder | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Holder
  } catch {
    return null
  }
}
