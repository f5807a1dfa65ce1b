/**
 * The child's end of what ties it to its parent (watched-child.ts), loaded with --import: a socket as file 3.
 *
 * It closes however the parent dies; then the child is ended in order, or without after a while. Without that a killed
 * Beck would leave a signer behind. And the child tells by it that it has nothing left to do but to exit, where Node may
 * hang. A child that is done ends all the same: the socket does not keep it.
 */
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { importQuickly } from './quick-imports.ts'

const TIE_FD = 3
const ORPHAN_LIMIT_MS = 15_000

// Before the program that it is to run is read.
importQuickly()
/** Threads of the child load this file too: the process is tied by its main thread alone, and ends with that one. */
if (isMainThread) tie()

function tie(): void {
  new Socket({ fd: TIE_FD })
    .on('error', () => {})
    .once('close', () => {
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), ORPHAN_LIMIT_MS).unref()
      process.kill(process.pid, 'SIGTERM')
    })
    .resume()
    .unref()

  process.once('exit', (code) => {
    try {
      writeSync(TIE_FD, `${code}\n`)
    } catch {
      // The parent is gone.
    }
  })
}
