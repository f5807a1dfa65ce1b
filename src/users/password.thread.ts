/** The thread that hashes passwords. Strangers may ask for it, so that it goes behind everything else, and still goes on. */
import { hashSync, verifySync } from '@node-rs/argon2'
import { lowerPriority, serveThread } from '../core/threads.ts'
import type { PasswordWork } from './password.ts'

lowerPriority()
serveThread(({ password, cost, hash }: PasswordWork) => {
  if (hash === null) return hashSync(password, cost)
  try {
    return verifySync(hash, password)
  } catch {
    // A hash that cannot be read is nobody's.
    return false
  }
})
