/** The secret key of a Beck that was given none: made once, kept in the data directory for its owner's eyes only. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid, type Refusal } from '../core/errors.ts'
import { ifThere } from '../core/files.ts'
import { readSecretKey } from '../core/secrets.ts'

export const secretKeyFile = (dataDir: string): string => join(dataDir, 'secret.key')

/** The key of a data directory; null where none was made or put. */
export const readSecretKeyFile = (dataDir: string): Promise<Buffer | null> => read(secretKeyFile(dataDir))

/** The key that a data directory had before, as long as it is kept beside the new one; null for none. */
export const readOldSecretKey = (dataDir: string): Promise<Buffer | null> =>
  read(`${secretKeyFile(dataDir)}.old`)

/**
 * Reads the key of a data directory, and makes it when there is none. It is whole on the disk before it is there under
 * its name, and of two processes that make one at once both get the same.
 */
export async function keepSecretKey(dataDir: string): Promise<Buffer> {
  const file = secretKeyFile(dataDir)
  const known = await read(file)
  if (known) return known
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile(`${randomBytes(32).toString('hex')}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(draft)
  const made = await read(file)
  if (!made) throw unreadable(file)
  return made
}

async function read(file: string): Promise<Buffer | null> {
  const text = await ifThere(readFile(file, 'utf8'))
  if (text === null) return null
  try {
    return readSecretKey(text.trim())
  } catch {
    throw unreadable(file)
  }
}

const unreadable = (file: string): Refusal =>
  invalid(
    'invalid_settings',
    `${file} does not hold a secret key of 32 bytes; restore it from a backup: without the key that made them, sealed secrets and issued addresses are lost`,
  )
