/** Folders of the signer. A new one is on disk only when the folder that names it is. */
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { conflict } from '../core/errors.ts'
import { syncPath } from '../core/files.ts'
import { pause } from '../core/pause.ts'

/** Makes a folder that its owner alone can read, with those above it; all of it is on disk when this returns. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let at = path; at !== dirname(first); at = dirname(at)) await syncPath(dirname(at))
}

const WAIT_MS_MAX = 10_000
const LOOK_EVERY_MS = 20

/**
 * Reads, changes and writes a file of the folder as nobody else does meanwhile: of two commands at once both count. The lock is
 * the operating system's, as that of a data directory (src/db/embedded/directory-lock.ts): it ends with its process.
 *
 * @throws {Refusal} `folder_in_use`.
 */
export async function changeAlone<Done>(
  folder: string,
  name: string,
  change: () => Promise<Done>,
): Promise<Done> {
  await makeFolder(folder)
  const lock = new DatabaseSync(join(folder, `${name}.lock`))
  try {
    // Waiting inside SQLite would hold up the change that is waited for, where it is this process's own.
    lock.exec('pragma busy_timeout = 0')
    for (let left = WAIT_MS_MAX; !isTaken(lock); left -= LOOK_EVERY_MS) {
      if (left <= 0)
        throw conflict(
          'folder_in_use',
          `another command has been changing ${name} of ${folder} for ${WAIT_MS_MAX / 1_000} seconds; nothing was written. Look whether it still asks something, and try again`,
        )
      await pause(LOOK_EVERY_MS)
    }
    return await change()
  } finally {
    lock.close()
  }
}

function isTaken(lock: DatabaseSync): boolean {
  try {
    lock.exec('begin exclusive')
    return true
  } catch (error) {
    if (error instanceof Error && /locked|busy/.test(error.message)) return false
    throw error
  }
}

/** Writes a file of the folder: the old one is there until the new one is, whole and on disk. */
export async function writeWhole(folder: string, name: string, text: string): Promise<void> {
  await makeFolder(folder)
  const path = join(folder, `${name}.new`)
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(path, join(folder, name))
  await syncPath(folder)
}
