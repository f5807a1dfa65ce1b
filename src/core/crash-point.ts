/**
 * Places where tests end the process as the kernel would: `BECK_CRASH_AT=signer:journaled` kills it there, with
 * `signer:journaled#3` the third time it passes. `BECK_CRASH_SIGNAL=SIGSTOP` freezes it instead. Without the first
 * variable nothing happens.
 */
const signal = process.env.BECK_CRASH_SIGNAL === 'SIGSTOP' ? 'SIGSTOP' : 'SIGKILL'
const [wanted, count] = (process.env.BECK_CRASH_AT ?? '').split('#')
let passes = 0

export function crashPoint(name: string): void {
  if (name !== wanted) return
  passes += 1
  if (passes === Number(count ?? 1)) process.kill(process.pid, signal)
}
