/**
 * Writes a few bytes to the disk again and again and waits until they are there: when that takes long although the disk finished
 * next to nothing meanwhile, it was not there. (A disk that is busy with what is measured finishes megabytes.) Says from when to
 * when, by the clock that all processes of the machine share. Reads /proc/diskstats, as Linux has it.
 */
import { fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const STEP_MS = 20
const LATE_MS = Number(process.argv[2])
const IDLE_BYTES_MAX = 2_000_000
const SECTOR_BYTES = 512
/** Of a line: sectors read and written, after the device's numbers and name. */
const READ = 5
const WRITTEN = 9

const nowMs = () => Number(process.hrtime.bigint()) / 1e6
/** By all disks and their partitions since the machine started, so that some count twice: rather too much than too little. */
const movedBytes = () =>
  readFileSync('/proc/diskstats', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .reduce((sum, of) => sum + (Number(of[READ] ?? 0) + Number(of[WRITTEN] ?? 0)) * SECTOR_BYTES, 0)

const folder = mkdtempSync(join(tmpdir(), 'beck-disk-'))
const file = openSync(join(folder, 'canary'), 'w')
// It stays for as long as it is open, and leaves nothing behind however this process ends.
rmSync(folder, { recursive: true })
function write() {
  const before = movedBytes()
  const from = nowMs()
  writeSync(file, Buffer.alloc(SECTOR_BYTES), 0, SECTOR_BYTES, 0)
  fdatasyncSync(file)
  const to = nowMs()
  if (to - from > LATE_MS && movedBytes() - before < IDLE_BYTES_MAX) process.send?.({ from, to })
}
setInterval(write, STEP_MS)
process.on('disconnect', () => process.exit(0))
