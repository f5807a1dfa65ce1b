/** Codes of an authenticator app (RFC 6238: SHA-1, six digits, 30 seconds). */
import { Secret, TOTP } from 'otpauth'

const SECRET_BYTES = 20
const PERIOD_SECONDS = 30
const CODE = /^\d{6}$/

const totpOf = (secret: Uint8Array, email: string): TOTP =>
  new TOTP({
    issuer: 'Beck',
    label: email,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
    period: PERIOD_SECONDS,
  })

export const newTotpSecret = (): Uint8Array => new Secret({ size: SECRET_BYTES }).bytes

export interface TotpSetup {
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string
  /** The secret in base32, to type in by hand. */
  readonly text: string
}

export const describeTotp = (secret: Uint8Array, email: string): TotpSetup => {
  const totp = totpOf(secret, email)
  return { uri: totp.toString(), text: totp.secret.base32 }
}

/**
 * The counter of the code, within one step of the clock on either side; null for a wrong code.
 * The caller refuses a counter that is not above the last one it took.
 */
export function readTotp(secret: Uint8Array, code: string, nowMs: number): number | null {
  const token = code.replace(/\s/g, '')
  if (!CODE.test(token)) return null
  const delta = totpOf(secret, '').validate({ token, timestamp: nowMs, window: 1 })
  return delta === null ? null : Math.floor(nowMs / 1_000 / PERIOD_SECONDS) + delta
}
