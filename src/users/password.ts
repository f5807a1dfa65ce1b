/**
 * Passwords: long, not common, and never looked at again. Argon2id is loaded when the first one is checked. No rules of
 * composition (NIST SP 800-63B, 5.1.1.2; ASVS 5, 6.2).
 */
import { invalidField, Refusal } from '../core/errors.ts'
import { isCommonPassword } from './common-passwords.ts'

const LENGTH_MIN = 12
const LENGTH_MAX = 128
/** RFC 9106, second recommended option, as the keystore has it. */
const COST = { memoryCost: 65_536, timeCost: 3, parallelism: 4 } as const
/** Of a password nobody has: an unknown person costs the time that a known one does. */
const NOBODY =
  '$argon2id$v=19$m=65536,t=3,p=4$ZG9lcyBub3QgZXhpc3Q$0000000000000000000000000000000000000000000'

/** @throws {Refusal} `invalid`, `weak_password`, saying which rule it breaks. */
export function requireStrongPassword(password: string, words: readonly string[]): void {
  const length = [...password].length
  if (length < LENGTH_MIN) {
    throw weak(
      `a password has at least ${LENGTH_MIN} characters, this one has ${length}; a few words are fine`,
    )
  }
  if (length > LENGTH_MAX)
    throw weak(`a password has at most ${LENGTH_MAX} characters, this one has ${length}`)
  if (isCommonPassword(password, words)) {
    throw weak('this password is one of those that are tried first; take one nobody else would')
  }
}

const weak = (message: string) => invalidField('password', 'weak_password', message)

/** Each takes 64 MiB and one of the four threads that files and names wait for too: strangers get two of them. */
const AT_ONCE = 2
/** Some seconds of work; whoever comes after these is told to come again. */
const WAITING_MAX = 50
const waiting: (() => void)[] = []
let running = 0

async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  if (waiting.length >= WAITING_MAX)
    throw new Refusal(
      'unavailable',
      'too_busy',
      'too many passwords are being checked now; try again in a moment',
    )
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }
}

/** In PHC notation, with its salt and cost. */
export async function hashPassword(password: string): Promise<string> {
  const { hash } = await import('@node-rs/argon2')
  return inTurn(() => hash(password.normalize('NFC'), COST))
}

/** @param hash - Null for a person who is unknown or has no password: false, in the same time. */
export async function isPassword(hash: string | null, password: string): Promise<boolean> {
  const { verify } = await import('@node-rs/argon2')
  const isRight = await inTurn(() =>
    verify(hash ?? NOBODY, password.slice(0, 1_000).normalize('NFC')).catch(() => false),
  )
  return hash !== null && isRight
}
