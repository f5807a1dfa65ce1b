/** What was taken from a virtual machine while something was measured: it may lose half of its processors for a minute. */
import { readFile } from 'node:fs/promises'

/**
 * @returns The share of the time in which the processors were wanted that they were not given (`steal` of proc(5)); 0 where no
 *   kernel counts it.
 */
export async function withStolen<Result>(stretch: () => Promise<Result>): Promise<[Result, number]> {
  const before = await readTicks()
  const result = await stretch()
  const after = await readTicks()
  const wanted = after.wanted - before.wanted
  return [result, wanted > 0 ? (after.stolen - before.stolen) / wanted : 0]
}

/** Since the machine started, of all processors. */
async function readTicks(): Promise<{ stolen: number; wanted: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '')
  const ticks = /^cpu +(.*)$/m.exec(text)?.[1]?.split(' ').map(Number) ?? []
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, stolen = 0] = ticks
  return { stolen, wanted: user + nice + system + irq + softIrq + stolen }
}
