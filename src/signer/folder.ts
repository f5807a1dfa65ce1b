/** Folders of the signer. A new one is on disk only when the folder that names it is. */
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPath } from '../core/files.ts'

/** Makes a folder that its owner alone can read, with those above it; all of it is on disk when this returns. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let at = path; at !== dirname(first); at = dirname(at)) await syncPath(dirname(at))
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
