/** The signer's journal, allowlist, approvers and log of approvals in a backup. The signer's directory and the backup call them by the same names. */
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { conflict } from '../core/errors.ts'
import { ifThere, syncPath } from '../core/files.ts'
import { lockDirectory } from '../db/embedded/directory-lock.ts'

const JOURNAL = 'journal'
/** Grow at their ends alone: of two the longer one knows more. */
const GROWING = [JOURNAL, 'approvals'] as const
/** Whoever is there was put there last. */
const LISTS = ['allowlist.json', 'approvers.json'] as const
/** Tells the signer that this journal was copied while its signer ran on; see `openJournal`. */
const COPIED = `${JOURNAL}.copied`

export const SIGNER_FILES = [...GROWING, ...LISTS] as const
export const signerFile = (dataDir: string, file: (typeof SIGNER_FILES)[number]): string =>
  join(dataDir, 'signer', file)

/** @returns The files that were there. */
export async function saveSignerFiles(dataDir: string, folder: string): Promise<string[]> {
  const saved: string[] = []
  for (const file of SIGNER_FILES)
    if (await copyIfThere(signerFile(dataDir, file), join(folder, file))) saved.push(file)
  return saved
}

/**
 * Puts the signer's files of a backup into its directory. A journal or log that survived and knows more is kept, and so are an
 * allowlist and approvers. Each is there whole or not at all; doing it again changes nothing.
 *
 * @throws {Refusal} `other_journal` when the directory has the journal of another signer; `data_directory_in_use`.
 */
export async function putBackSignerFiles(folder: string, dataDir: string): Promise<void> {
  const home = join(dataDir, 'signer')
  await mkdir(home, { recursive: true, mode: 0o700 })
  const lock = lockDirectory(home, 'tool')
  try {
    const longer: string[] = []
    for (const file of GROWING) if (await isLonger(join(folder, file), join(home, file))) longer.push(file)
    for (const file of longer) {
      if (file === JOURNAL) {
        await writeFile(join(home, COPIED), '', { mode: 0o600 })
        await syncPath(home)
      }
      await putFile(join(folder, file), join(home, file))
    }
    for (const file of LISTS)
      if ((await readIfThere(join(home, file))) === null) await putFile(join(folder, file), join(home, file))
    await syncPath(home)
  } finally {
    lock.release()
  }
}

/** Whether the backup's journal, or log of approvals, goes on where the present one ends. Half a line at the end, cut off by a copy, is none. */
async function isLonger(saved: string, present: string): Promise<boolean> {
  const [backup, own] = [wholeLines(await readIfThere(saved)), wholeLines(await readIfThere(present))]
  const shorter = Math.min(backup.length, own.length)
  if (!backup.subarray(0, shorter).equals(own.subarray(0, shorter)))
    throw conflict(
      'other_journal',
      `${present} is not the one that this backup was made beside; move it away if it belongs to another Beck`,
    )
  return backup.length > own.length
}

const wholeLines = (file: Buffer | null): Buffer =>
  file?.subarray(0, file.lastIndexOf(0x0a) + 1) ?? Buffer.alloc(0)

async function putFile(from: string, to: string): Promise<void> {
  if (!(await copyIfThere(from, `${to}.new`))) return
  await syncPath(`${to}.new`)
  await rename(`${to}.new`, to)
}

const readIfThere = (path: string): Promise<Buffer | null> => ifThere(readFile(path))

const copyIfThere = async (from: string, to: string): Promise<boolean> =>
  (await ifThere(copyFile(from, to).then(() => true))) ?? false
