/**
 * Stands on one processor and sleeps in short steps: when it wakes late, the processor was not there. Says from when to when, by the
 * clock that all processes of the machine share. A machine's `steal` says only how much was taken in all, in hundredths of a
 * second.
 */
const STEP_MS = 2
const LATE_MS = Number(process.argv[2])

const cell = new Int32Array(new SharedArrayBuffer(4))
const nowMs = () => Number(process.hrtime.bigint()) / 1e6

function watch() {
  const until = nowMs() + 100
  for (let before = nowMs(); before < until; ) {
    Atomics.wait(cell, 0, 0, STEP_MS)
    const now = nowMs()
    if (now - before > STEP_MS + LATE_MS) process.send?.({ from: before, to: now })
    before = now
  }
  // What is sent goes out, and the end is heard of.
  setImmediate(watch)
}
process.on('disconnect', () => process.exit(0))
watch()
