/**
 * Node 24 can hang in its own exit: it waits there for compilers in the background, which may wait for the main thread to
 * collect garbage (nodejs/node#54918). Nothing of Beck's is open by then, but whoever waits for the process would wait
 * for ever.
 */
import { setFlagsFromString } from 'node:v8'

/** From now on code is compiled on the main thread, or left as it is: for a process that is soon to end. */
export function compileInForeground(): void {
  setFlagsFromString('--no-maglev')
  setFlagsFromString('--no-concurrent-sparkplug')
}
