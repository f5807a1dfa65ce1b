/**
 * What a start leaves behind: a quarter of the heap is garbage then, and the space for young objects has grown to its full
 * size (48 MB) while modules were read. V8 would keep both until there is work enough to look; a process that waits for work
 * would hold them for days.
 *
 * @see https://nodejs.org/api/v8.html#v8setflagsfromstringflags
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** A start is over by then, and what it left is old enough. */
const AFTER_MS = 2_000

/**
 * Soon, once: it takes a tenth of a second, in which nothing else is done.
 *
 * @param options.youngSpaceGrows - False for {@link keepYoungSpaceSmall}.
 */
export function giveBackMemory({ youngSpaceGrows }: { readonly youngSpaceGrows: boolean }): void {
  if (!youngSpaceGrows) keepYoungSpaceSmall()
  setTimeout(() => {
    setFlagsFromString('--expose-gc')
    const collect: NodeJS.GCFunction | undefined = runInNewContext('globalThis.gc')
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, AFTER_MS).unref()
}

/**
 * From now on the space for young objects stays as large as it is. With thousands of deliveries in flight it would grow to its
 * full size, and hold as garbage what a smaller one had collected long before: a third of such a process. It is for what
 * nobody waits for, since each collection of young objects halts all else, if only for a moment.
 */
export function keepYoungSpaceSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
