/** What asks a program to end. */

/** npm passes on to its program what a terminal's Ctrl-C, or a service manager, has sent to both: one signal, heard twice. */
const HEARD_TWICE_MS = 1_000

/**
 * @param first - To end in order.
 * @param another - Somebody asks again, a second later or more.
 * @returns Hears no more: the next signal ends the process.
 */
export function onEndSignals(first: (signal: NodeJS.Signals) => void, another: () => void): () => void {
  let since: number | null = null
  const hear = (signal: NodeJS.Signals) => {
    if (since === null) {
      since = performance.now()
      first(signal)
    } else if (performance.now() - since >= HEARD_TWICE_MS) another()
  }
  process.on('SIGTERM', hear).on('SIGINT', hear)
  return () => {
    process.off('SIGTERM', hear).off('SIGINT', hear)
  }
}
