/** Encrypting to a recipient's key and back, by programs that are made for it: age, or GnuPG. Beck holds no such key. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { OutsideFailure } from '../core/errors.ts'

const isOfAge = (recipient: string): boolean => /^(age1|ssh-)/.test(recipient)

export interface Cipher {
  readonly input: Writable
  readonly output: Readable
  /** Resolves when all went well, or it was ended. @throws {OutsideFailure} with what the program said. */
  readonly done: Promise<void>
  /** Ends it, when what it is fed with failed. */
  abort(): void
}

/** @param recipients - `age1…` and `ssh-…` for age; anything else names a key of GnuPG's. Not a mixture of both. */
export const openEncryption = (recipients: readonly string[]): Cipher =>
  recipients.every(isOfAge)
    ? runCipher('age', ['--encrypt', ...recipients.flatMap((recipient) => ['--recipient', recipient])])
    : runCipher('gpg', [
        '--batch',
        '--trust-model=always',
        '--encrypt',
        ...recipients.flatMap((recipient) => ['--recipient', recipient]),
      ])

/** @param start - How the encrypted stream begins. */
export const openDecryption = (start: Buffer, identity: string | undefined): Cipher =>
  /^(age-encryption\.org|-----BEGIN AGE)/.test(start.toString('latin1'))
    ? runCipher('age', ['--decrypt', ...(identity ? ['--identity', identity] : [])])
    : runCipher('gpg', ['--batch', '--quiet', '--decrypt'])

function runCipher(program: string, args: readonly string[]): Cipher {
  const child: ChildProcess = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new TypeError('a cipher speaks by pipes')
  let complaint = ''
  stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-1_000)
  })
  // Why it closed its input is said by how it ends.
  stdin.on('error', () => {})
  let isAborted = false
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(
        new OutsideFailure(
          `${program} cannot be run (${cause.message}); install it: apt-get install ${program}`,
          {
            cause,
            retryable: false,
          },
        ),
      ),
    )
    child.once('close', (code) =>
      code === 0 || (code === null && isAborted)
        ? resolve()
        : reject(
            new OutsideFailure(`${program} ended with ${code}: ${complaint.trim()}`, { retryable: false }),
          ),
    )
  })
  ended.catch(() => {})
  return {
    input: stdin,
    output: stdout,
    done: ended,
    abort() {
      isAborted = true
      child.kill('SIGKILL')
    },
  }
}

/** Waits until everything that was written has been taken. */
export async function endInput(input: Writable): Promise<void> {
  input.end()
  if (!input.writableFinished && !input.destroyed)
    await Promise.race([once(input, 'finish'), once(input, 'close')])
}
