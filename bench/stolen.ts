/** What was taken from a virtual machine while something was measured: it may lose half of its processors for a second. */
import { readFile } from 'node:fs/promises'

/** Of the time in which the processors were wanted: of a second in which more was taken, nothing is known. */
const STOLEN_SHARE_MAX = 0.08
/** Long enough for the ticks that the kernel counts, short enough that little is thrown away. */
const WINDOW_MS = 1_000
/** So many times as long as was asked for, until enough of it is known. */
const PATIENCE = 8

export interface Given {
  /** Milliseconds in which the machine had its processors. */
  readonly givenMs: number
  readonly allMs: number
  /** Whether it had them from one instant to another (`performance.now()`). */
  wasGiven(fromMs: number, toMs: number): boolean
}

/**
 * Lets something run until the machine had its processors for so long.
 *
 * @throws {Error} on a machine that others use all the time.
 */
export async function untilGiven(forMs: number): Promise<Given> {
  const taken: { readonly from: number; readonly to: number }[] = []
  const begun = performance.now()
  let [givenMs, last, ticks] = [0, begun, await readTicks()]
  while (givenMs < forMs) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(WINDOW_MS, forMs - givenMs)))
    const [now, nowTicks] = [performance.now(), await readTicks()]
    const wanted = nowTicks.wanted - ticks.wanted
    if (nowTicks.stolen - ticks.stolen <= wanted * STOLEN_SHARE_MAX) givenMs += now - last
    else taken.push({ from: last, to: now })
    if (now - begun > forMs * PATIENCE)
      throw new Error('nothing can be measured on a machine that others use')
    ;[last, ticks] = [now, nowTicks]
  }
  return {
    givenMs,
    allMs: last - begun,
    wasGiven: (fromMs, toMs) => taken.every(({ from, to }) => toMs < from || fromMs > to),
  }
}

/** Since the machine started, of all processors (`steal` of proc(5)); none is stolen where no kernel counts it. */
async function readTicks(): Promise<{ stolen: number; wanted: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '')
  const ticks = /^cpu +(.*)$/m.exec(text)?.[1]?.split(' ').map(Number) ?? []
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen = 0] = ticks
  return { stolen, wanted: user + nice + system + irq + softIrq + stolen }
}
