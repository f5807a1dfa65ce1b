/** Folders of the signer. A new one is on disk only when the folder that names it is. */
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncPath } from '../core/files.ts'

/** Makes a folder that its owner alone can read, with those above it; all of it is on disk when this returns. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let at = path; at !== dirname(first); at = dirname(at)) await syncPath(dirname(at))
}
