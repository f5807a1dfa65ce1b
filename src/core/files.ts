/** Files and folders that are there or not, and are on the disk or not yet. */
import { open } from 'node:fs/promises'

/** What was read, or null where nothing is. Any other failure is the caller's. */
export const ifThere = <Found>(found: Promise<Found>): Promise<Found | null> =>
  found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

/** A file's bytes, or a folder's names, are on the disk when it resolves. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
