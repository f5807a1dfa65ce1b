/**
 * Passwords: long, not common, and never looked at again. Argon2id, whose thread begins with the first one. No rules of
 * composition (NIST SP 800-63B, 5.1.1.2; ASVS 5, 6.2).
 */
import { invalidField, unavailable } from '../core/errors.ts'
import { openThread } from '../core/threads.ts'
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

/** A password to hash at that cost, or to hold against a hash. */
export interface PasswordWork {
  readonly password: string
  readonly cost: typeof COST
  readonly hash: string | null
}

/**
 * Each takes 64 MiB and a tenth of a second or more of a processor: one at a time, on a thread that lets everybody else go
 * first.
 */
// Its four lanes one after the other: four at once would take the processors that everybody else needs. Real, so that the library sees it.
process.env.RAYON_NUM_THREADS ??= '1'
const thread = openThread<PasswordWork, string | boolean>(new URL('password.thread.ts', import.meta.url))
/** Some seconds of work; whoever comes after these is told to come again. */
export const WAITING_MAX = 50
let waiting = 0

/** @throws {Refusal} `too_busy`. */
async function inTurn(work: PasswordWork): Promise<string | boolean> {
  if (waiting >= WAITING_MAX)
    throw unavailable('too_busy', 'too many passwords are being checked now; try again in a moment')
  waiting += 1
  try {
    return await thread.run(work)
  } finally {
    waiting -= 1
  }
}

/** In PHC notation, with its salt and cost. */
export async function hashPassword(password: string): Promise<string> {
  return String(await inTurn({ password: password.normalize('NFC'), cost: COST, hash: null }))
}

/** @param hash - Null for a person who is unknown or has no password: false, in the same time. */
export async function isPassword(hash: string | null, password: string): Promise<boolean> {
  const given = password.slice(0, 1_000).normalize('NFC')
  const isRight = await inTurn({ password: given, cost: COST, hash: hash ?? NOBODY })
  return hash !== null && isRight === true
}
