/** A person whose passkey counts: pinned in the signer's folder, at the signer's machine, by a fingerprint compared by eye. */
import { createHash } from 'node:crypto'

export interface Approver {
  /** `acct_…` */
  readonly account: string
  /** `usr_…`: two passkeys of one person are one approval. */
  readonly user: string
  /** The person's name and email as they were when he was pinned. */
  readonly name: string
  /** Base64url. */
  readonly credentialId: string
  /** COSE_Key, base64url. */
  readonly publicKey: string
  readonly rpId: string
  readonly origin: string
}

/** So many bits that nobody finds another passkey with the same, in groups that two people read to each other. */
const FINGERPRINT_GROUPS = 8
const GROUP_DIGITS = 5

/** Of all that the pin binds: person, account, passkey and pages; 40 hexadecimal digits (160 bits) in groups of five. */
export function fingerprintOf(approver: Approver): string {
  const { account, user, credentialId, publicKey, rpId, origin } = approver
  const hex = createHash('sha256')
    .update(['Beck approver, version 1', account, user, credentialId, publicKey, rpId, origin].join('\n'))
    .digest('hex')
  return Array.from({ length: FINGERPRINT_GROUPS }, (_, group) =>
    hex.slice(group * GROUP_DIGITS, (group + 1) * GROUP_DIGITS),
  ).join(' ')
}
