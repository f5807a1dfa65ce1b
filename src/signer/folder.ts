/** Folders of the signer. A new file or folder is on disk only when the folder that names it is. */
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Makes a folder that its owner alone can read, with those above it; all of it is on disk when this returns. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let at = path; at !== dirname(first); at = dirname(at)) await syncFolder(dirname(at))
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
