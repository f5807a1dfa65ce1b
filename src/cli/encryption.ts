/** Encrypting to a recipient's key and back, by age, which is made for it. Beck holds no such key. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { invalid, OutsideFailure } from '../core/errors.ts'

export interface Cipher {
  readonly input: Writable
  readonly output: Readable
  /** Resolves when all went well, or it was ended. @throws {OutsideFailure} with what the program said. */
  readonly done: Promise<void>
  /** Ends it, when what it is fed with failed. */
  abort(): void
}

/** @throws {Refusal} `invalid_recipient`. */
export function openEncryption(recipients: readonly string[]): Cipher {
  const other = recipients.find((recipient) => !/^(age1|ssh-)/.test(recipient))
  if (other !== undefined)
    throw invalid(
      'invalid_recipient',
      `"${other.slice(0, 100)}" is no key of age's: one is age1… (age-keygen prints it) or ssh-…; for other programs pipe: npx beck backup - | …`,
    )
  return runCipher(['--encrypt', ...recipients.flatMap((recipient) => ['--recipient', recipient])])
}

/** Whether a stream that begins so is age's. */
export const isEncrypted = (start: Buffer): boolean =>
  /^(age-encryption\.org|-----BEGIN AGE)/.test(start.toString('latin1'))

/** @param identity - The file of the key that opens it. */
export const openDecryption = (identity: string | undefined): Cipher =>
  runCipher(['--decrypt', ...(identity ? ['--identity', identity] : [])])

function runCipher(args: readonly string[]): Cipher {
  const child: ChildProcess = spawn('age', args, { stdio: ['pipe', 'pipe', 'pipe'] })
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
        new OutsideFailure(`age cannot be run (${cause.message}); install it: apt-get install age`, {
          cause,
          retryable: false,
        }),
      ),
    )
    child.once('close', (code) =>
      code === 0 || (code === null && isAborted)
        ? resolve()
        : reject(new OutsideFailure(`age ended with ${code}: ${complaint.trim()}`, { retryable: false })),
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
