/**
 * Places where tests end the process as the kernel would: `BECK_CRASH_AT=signer:journaled` kills it there, with
 * `signer:journaled#3` the third time it passes. Without the variable nothing happens.
 */
const [wanted, count] = (process.env.BECK_CRASH_AT ?? '').split('#')
let passes = 0

export function crashPoint(name: string): void {
  if (name !== wanted) return
  passes += 1
  if (passes === Number(count ?? 1)) process.kill(process.pid, 'SIGKILL')
}
