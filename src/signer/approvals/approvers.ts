/**
 * Whose passkeys count: a file of the signer's folder, written at the signer's machine alone, by somebody to whom the person read
 * his fingerprint.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APPROVER_DELAY_HOURS } from '../../approvals/approval-policy.ts'
import type { Approver } from '../../approvals/approver.ts'
import { ifThere } from '../../core/files.ts'
import { HOUR_MS } from '../../core/time.ts'
import { changeAlone, writeWhole } from '../folder.ts'

export interface Pin extends Approver {
  /** ISO 8601, by this machine's clock. */
  readonly added_at: string
}

const FILE = 'approvers.json'

/** The approvers of this directory; empty when there are none. */
export async function readApprovers(folder: string): Promise<readonly Pin[]> {
  const text = await ifThere(readFile(join(folder, FILE), 'utf8'))
  return text === null ? [] : JSON.parse(text)
}

/** @returns False when this passkey is pinned for the account already. */
export const addApprover = (folder: string, approver: Approver): Promise<boolean> =>
  changeAlone(folder, FILE, async () => {
    const known = await readApprovers(folder)
    if (known.some((pin) => isSame(pin, approver))) return false
    await writePins(folder, [...known, { ...approver, added_at: new Date().toISOString() }])
    return true
  })

export const removeApprover = (folder: string, gone: Pin): Promise<void> =>
  changeAlone(folder, FILE, async () => {
    const known = await readApprovers(folder)
    await writePins(
      folder,
      known.filter((pin) => !isSame(pin, gone)),
    )
  })

const isSame = (one: Approver, other: Approver): boolean =>
  one.account === other.account && one.credentialId === other.credentialId

const writePins = (folder: string, pins: readonly Pin[]): Promise<void> =>
  writeWhole(folder, FILE, JSON.stringify(pins, null, 2))

/**
 * From when on a pin counts: at once where no policy was in force when it was made, else so late that the owners have heard of it.
 *
 * @param policySinceMs - When the account's first policy took effect; null while it has none.
 * @returns Never, for a time that can not be read.
 */
export function countsFromMs({ added_at }: Pick<Pin, 'added_at'>, policySinceMs: number | null): number {
  const addedMs = Date.parse(added_at)
  if (Number.isNaN(addedMs)) return Number.POSITIVE_INFINITY
  return policySinceMs === null || addedMs <= policySinceMs
    ? addedMs
    : addedMs + APPROVER_DELAY_HOURS * HOUR_MS
}
